"""A secure sum under attack: real silos' sides, and an aggregator that sends them what it likes and hears all."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from siloseal.experiments.attacks.readings import packed_words, stands_in
from siloseal.federation.errors import DomainError, ProtocolError
from siloseal.federation.randomness import SecureRandomness
from siloseal.federation.records.identity import Identity
from siloseal.federation.sums.fixed_point import FixedPointSum
from siloseal.federation.sums.new_session import new_session
from siloseal.federation.sums.secure_sum import AggregatorSide, SecureSum, SiloSide, Sum
from siloseal.federation.sums.session import Domain, IntegerDomain, RealDomain, Session, Vector
from siloseal.federation.transport.wire import sums_pb2 as pb
from siloseal.federation.transport.wire.codec import decode

ROSTER = ("east", "north", "south", "west")
VICTIM, OTHERS = ROSTER[0], ROSTER[1:]
QUORUM = 3
INTEGERS, REALS = IntegerDomain(50, 2**20), RealDomain(50, 8.0)

Messages = Mapping[str, bytes]
Refusals = Mapping[str, ProtocolError]
Carry = Callable[[int, dict[str, bytes]], dict[str, bytes]]
"""Function that changes a round's replies on their way to the aggregator's side."""
Round = tuple[Messages, Messages]
"""Requests of a round, and the replies to them."""


class Refused(Exception):
    """Every silo that was asked refused."""


class DoesNotApply(Exception):
    """There is nothing to try in this scheme: the aggregator has nothing to send, or nothing to compute from."""


class NotTaught(Exception):
    """A cheat does not know a scheme. Nothing was tried, which must not pass for an attack that was withstood."""

    def __init__(self, scheme: SecureSum, where: str) -> None:
        super().__init__(
            f"{where} does not know {scheme.name}; add a case that plays the cheat against its messages, or one that "
            "raises DoesNotApply and says why there is nothing to try"
        )


class AttackedSum:
    """One session, its silos with vectors that nobody else knows, and all that the aggregator has heard of them."""

    def __init__(self, scheme: SecureSum, domain: Domain | None = None) -> None:
        self.scheme = scheme
        self.domain: Domain = domain or _domain(scheme)
        self.identities = {name: Identity.create(name) for name in ROSTER}
        self.heard = list[bytes]()
        self.asked = 0
        """Messages that silos were sent."""
        self.refusals = list[Refusals]()
        """Reason of every refusal, by silo."""
        self.accomplices = frozenset[str]()
        """Silos that play with the aggregator. What they refuse protects nobody, and does not count."""
        self.vectors = {name: self._draw() for name in ROSTER}
        self.earlier: Vector | None = None
        """The victim's vector before the last change of vectors."""
        self.meet()

    def meet(self, *, roster: Sequence[str] = ROSTER, fresh_vectors: bool = False) -> None:
        """Begin a session, with fresh sides of all silos. With fresh vectors, what was heard before is forgotten."""
        if fresh_vectors:
            self.earlier, self.vectors = self.secret, {name: self._draw() for name in ROSTER}
            self.heard.clear()
        there = {name: self.identities[name] for name in roster}
        self.session = new_session(self.scheme, there, self.domain, quorum=QUORUM)
        self.silos = {name: self.silo(self.session, me, self.vectors[name]) for name, me in there.items()}

    @property
    def integers(self) -> SecureSum:
        """The scheme that carries the integers, without what makes integers of reals."""
        return self.scheme.integers if isinstance(self.scheme, FixedPointSum) else self.scheme

    @property
    def secret(self) -> Vector:
        """The vector that the aggregator wants: the victim's."""
        return self.vectors[VICTIM]

    @property
    def change(self) -> Vector | None:
        """The change of the victim's vector, which is nobody's business either."""
        return None if self.earlier is None else self.difference(self.secret, self.earlier)

    @property
    def tolerance(self) -> float:
        """Distance within which a vector counts as the victim's; unrelated ones are a million times further apart."""
        return 0.0 if isinstance(self.domain, IntegerDomain) else 1e-4

    def difference(self, one: Vector, other: Vector) -> Vector:
        """Return the difference of two totals."""
        difference = one - other
        return difference % self.domain.modulus if isinstance(self.domain, IntegerDomain) else difference

    def silo(self, session: Session, me: Identity, vector: Vector) -> SiloSide:
        """Return a real side of this silo."""
        return self.scheme.silo(session, me, vector, SecureRandomness())

    def ask(self, messages: Messages) -> dict[str, bytes]:
        """Return what the silos answer. Those that refuse are left out; `Refused` if all honest ones do."""
        replies, refusals = dict[str, bytes](), dict[str, ProtocolError]()
        self.asked += len(messages)
        for name, message in messages.items():
            try:
                replies[name] = self.silos[name].answer(message)
            except ProtocolError as error:
                refusals[name] = error
        self.heard += replies.values()
        honest = {name: error for name, error in refusals.items() if name not in self.accomplices}
        if honest:
            self.refusals.append(honest)
        if honest and not replies.keys() - self.accomplices:
            raise Refused
        return replies

    def drive(self, side: AggregatorSide, step: Messages | Sum | None = None, carry: Carry | None = None) -> Sum:
        """Drive the session from these messages, or from the first, to the sum. A cheat need not check replies."""
        step = side.open() if step is None else step
        while not isinstance(step, Sum):
            number, replies = _round_of(step), self.ask(step)
            step = side.advance(carry(number, replies) if carry else replies)
        return step

    def record(self) -> tuple[list[Round], Sum]:
        """Run a session without a lie, and return all that is said in it, and its sum."""
        side, rounds = self.scheme.aggregator(self.session), list[Round]()
        step: Messages | Sum = side.open()
        while not isinstance(step, Sum):
            rounds.append((step, self.ask(step)))
            step = side.advance(rounds[-1][1])
        return rounds, step

    def forged(self, **changes: object) -> Session:
        """Return the session with something changed; its messages look like the real one's."""
        forged = replace(self.session, **changes)  # type: ignore[arg-type]  # whatever the cheat changes
        forged.__dict__["digest"] = self.session.digest  # where `cached_property` keeps it
        return forged

    def stands_in(self, message: bytes) -> bool:
        """Whether the victim's vector can be read off a message."""
        return stands_in(message, self.domain, len(ROSTER), self.secret, tolerance=self.tolerance)

    def packed_words(self, message: bytes) -> Vector | None:
        """Return a vector of the masked sums as it travels."""
        return packed_words(message, self.domain, len(ROSTER))

    def _draw(self) -> Vector:
        uniforms = SecureRandomness().uniforms(self.domain.length)
        if isinstance(self.domain, IntegerDomain):
            return (uniforms * self.domain.modulus).astype(np.int64)
        return (2 * uniforms - 1) * self.domain.bound


Way = Callable[[], list[Vector]]
"""One way to play a cheat: what the aggregator makes out to be the victim's, if nobody stops it."""


def said(refusals: Refusals) -> str:
    """Return who refused, and the reasons, one of each kind."""
    first = {type(error).__name__: str(error) for error in reversed(list(refusals.values()))}
    reasons = "; ".join(f"{kind}: {words}" for kind, words in sorted(first.items()))
    return f"{', '.join(refusals)} refused. {reasons}"


def _round_of(asked: Messages) -> int:
    """Return the number of the round that these messages belong to."""
    return decode(pb.SumMessage, next(iter(asked.values()))).round // 2


def _domain(scheme: SecureSum) -> Domain:
    """Return a domain of integers, which are exact, where the scheme carries them; else one of reals."""
    try:
        scheme.admit(INTEGERS, len(ROSTER))
    except DomainError:
        return REALS
    return INTEGERS
