"""All parties of one secure sum at one table: real silos' sides, and every message in the aggregator's hand."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from federation.errors import DomainError, ProtocolError
from federation.identity import Identity
from federation.masked.words import ring_for
from federation.randomness import SecureRandomness
from federation.secure_sum import AggregatorSide, SecureSum, SiloSide, Sum
from federation.session import Domain, IntegerDomain, RealDomain, Session, Vector
from federation.wire import messages_pb2 as pb
from federation.wire.codec import decode

ROSTER = ("east", "north", "south", "west")
VICTIM, *OTHERS = ROSTER
QUORUM = 3
INTEGERS, REALS = IntegerDomain(50, 2**20), RealDomain(50, 8.0)

Messages = Mapping[str, bytes]


class Refused(Exception):
    """Every silo that was asked refused."""

    def __init__(self, refusals: Mapping[str, ProtocolError]) -> None:
        first = {type(error).__name__: str(error) for error in reversed(list(refusals.values()))}
        reasons = "; ".join(f"{kind}: {words}" for kind, words in sorted(first.items()))
        super().__init__(f"{', '.join(refusals)} refused. {reasons}")


class DoesNotApply(Exception):
    """There is nothing to try in this scheme."""


class Table:
    """One session, its silos with vectors that nobody else knows, and all that the aggregator has heard of them."""

    def __init__(self, scheme: SecureSum) -> None:
        self.scheme = scheme
        self.domain: Domain = _domain(scheme)
        self.identities = {name: Identity.create(name) for name in ROSTER}
        self.heard = list[bytes]()
        self.meet(fresh_vectors=True)

    def meet(self, *, fresh_vectors: bool = False) -> None:
        """Begin a session, with fresh sides of all silos. With fresh vectors, what was heard before is forgotten."""
        if fresh_vectors:
            self.vectors = {name: self._draw() for name in ROSTER}
            self.heard.clear()
        keys = tuple(self.identities[name].public for name in ROSTER)
        self.session = Session(SecureRandomness().bits(32), ROSTER, self.domain, self.scheme.name, QUORUM, keys)
        self.silos = {name: self.silo(self.session, self.identities[name], self.vectors[name]) for name in ROSTER}

    @property
    def secret(self) -> Vector:
        """What the aggregator wants."""
        return self.vectors[VICTIM]

    @property
    def tolerance(self) -> float:
        """Within which a vector counts as the victim's; two unrelated ones are a million times further apart."""
        return 0.0 if isinstance(self.domain, IntegerDomain) else 1e-4

    def difference(self, one: Vector, other: Vector) -> Vector:
        """Of two totals."""
        difference = one - other
        return difference % self.domain.modulus if isinstance(self.domain, IntegerDomain) else difference

    def silo(self, session: Session, me: Identity, vector: Vector) -> SiloSide:
        """A real side."""
        return self.scheme.silo(session, me, vector, SecureRandomness())

    def ask(self, messages: Messages) -> dict[str, bytes]:
        """What the silos answer; those that refuse are left out, and `Refused` if all of them do."""
        replies, refusals = dict[str, bytes](), dict[str, ProtocolError]()
        for name, message in messages.items():
            try:
                replies[name] = self.silos[name].answer(message)
            except ProtocolError as error:
                refusals[name] = error
        self.heard += replies.values()
        if refusals and not replies:
            raise Refused(refusals)
        return replies

    def drive(self, side: AggregatorSide, step: Messages | Sum | None = None) -> Sum:
        """From these messages, or from the first, to the sum. No reply is checked: whoever cheats need not."""
        step = side.open() if step is None else step
        while not isinstance(step, Sum):
            step = side.advance(self.ask(step))
        return step

    def forged(self, **changes: object) -> Session:
        """The session with something changed, as the aggregator keeps it; its messages look like the real one's."""
        forged = replace(self.session, **changes)  # type: ignore[arg-type]  # whatever the cheat changes
        forged.__dict__["digest"] = self.session.digest  # where `cached_property` keeps it
        return forged

    def stands_in(self, message: bytes) -> bool:
        """Whether the victim's vector can be read off a message: as numbers, or as packed words without a mask."""
        body = decode(pb.SumMessage, message).body
        return any(_holds(numbers, self.secret, self.tolerance) for numbers in self._readings(body))

    def _readings(self, body: bytes) -> Iterator[Vector]:
        for dtype in ("<f4", "<f8", "<i8"):
            size = np.dtype(dtype).itemsize
            for start in range(size):
                part = body[start:]
                yield np.frombuffer(part[: len(part) // size * size], dtype=dtype)
        if isinstance(self.domain, IntegerDomain):
            ring = ring_for(self.domain, len(ROSTER))
            if len(body) == ring.packed_bytes:
                yield ring.values(ring.unpack(body))

    def _draw(self) -> Vector:
        uniforms = SecureRandomness().uniforms(self.domain.length)
        if isinstance(self.domain, IntegerDomain):
            return (uniforms * self.domain.modulus).astype(np.int64)
        return (2 * uniforms - 1) * self.domain.bound


def _domain(scheme: SecureSum) -> Domain:
    """Integers where the scheme carries them, which are exact; else reals."""
    try:
        scheme.admit(INTEGERS, len(ROSTER))
    except DomainError:
        return REALS
    return INTEGERS


def _holds(numbers: Vector, vector: Vector, tolerance: float) -> bool:
    """Whether the vector stands anywhere in the numbers."""
    with np.errstate(invalid="ignore", over="ignore"):
        starts = np.flatnonzero(np.abs(numbers - vector[0]) <= tolerance)
        parts = (numbers[start : start + len(vector)] for start in starts)
        return any(len(part) == len(vector) and np.abs(part - vector).max() <= tolerance for part in parts)
