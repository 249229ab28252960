"""Parts that the sides of all protocols with several rounds share: the order, the session, and the end.

A request of round r has number 2 r on the wire, its reply 2 r + 1. Whatever goes wrong inside a step ends the session
for the silo: half a step must not be taken again. Only bytes that are no message of this session and round are refused
without ending it.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping

from siloseal.federation.errors import (
    CommitmentBroken,
    DomainError,
    MessageError,
    QuorumLost,
    WrongContributors,
    WrongRound,
)
from siloseal.federation.records.identity import Identity
from siloseal.federation.sums.envelope import unwrap, wrap
from siloseal.federation.sums.secure_sum import Sum
from siloseal.federation.sums.session import Session
from siloseal.federation.transport.wire import sums_pb2 as pb
from siloseal.federation.transport.wire.codec import decode, require_at_most

Bodies = Mapping[str, bytes]
Step = Callable[[bytes], bytes]


class SiloRounds(ABC):
    """One silo's side. It answers its rounds in order, each once."""

    def __init__(self, session: Session, me: Identity) -> None:
        if me.name not in session.roster or session.identity(me.name) != me.public:
            raise DomainError(f"{me.name} is not on the roster {session.roster}, or with another identity key")
        if len(set(session.identities)) != len(session.identities):
            raise DomainError("two silos of the roster share an identity key, and are one; each needs a key of its own")
        if session.quorum < 2:
            raise DomainError("a sum of fewer than 2 silos hides nothing; raise the quorum")
        self._session, self._me = session, me
        self._answered = 0

    @property
    @abstractmethod
    def _steps(self) -> Mapping[int, Step]:
        """Functions that answer the body of each round that asks this silo, in order."""

    @abstractmethod
    def _drop(self) -> None:
        """Drop every secret."""

    def answer(self, message: bytes) -> bytes:
        steps = list(self._steps.items())
        if self._answered >= len(steps):
            raise WrongRound("this session has ended for this silo; it answers nothing more in it")
        number, step = steps[self._answered]
        body = unwrap(self._session, round=2 * number, data=message)
        try:
            reply = step(body)
        except BaseException:  # whatever went wrong, half a step must not be taken again
            self.forget()
            raise
        self._answered += 1
        return wrap(self._session, round=2 * number + 1, body=reply)

    def forget(self) -> None:
        self._answered = len(self._steps)
        self._drop()


class AggregatorRounds(ABC):
    """The aggregator's side. It asks, checks each reply as it comes, and goes on with those that it has."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._round: int | None = None
        self._asked: tuple[str, ...] = ()

    @abstractmethod
    def _needed(self, number: int) -> int:
        """Number of silos that must answer a round."""

    @abstractmethod
    def _largest(self, number: int) -> int:
        """Number of bytes of the largest reply that can be right: all of them would be kept and carried on."""

    @abstractmethod
    def _check(self, number: int, silo: str, body: bytes) -> None:
        """Check all that can be seen from one silo's reply alone."""

    @abstractmethod
    def _advance(self, number: int, replies: Bodies) -> Mapping[str, bytes] | Sum:
        """Go on from a round's replies, which are as they came: see `_body`."""

    def open(self) -> Mapping[str, bytes]:
        return self._ask(0, dict.fromkeys(self._session.roster, b""))

    @property
    def fewest(self) -> int:
        return self._needed(self._under_way())

    @property
    def largest(self) -> int:
        return self._largest(self._under_way())

    def check(self, silo: str, reply: bytes) -> None:
        number = self._under_way()
        if silo not in self._asked:
            raise DomainError(f"{silo} answered, but was not asked; {', '.join(self._asked)} were")
        require_at_most(self.largest, silo, reply)
        self._check(number, silo, self._body(number, reply))

    def advance(self, replies: Mapping[str, bytes]) -> Mapping[str, bytes] | Sum:
        number, self._round = self._under_way(), None
        if strangers := set(replies) - set(self._asked):
            raise DomainError(f"{sorted(strangers)} answered, but were not asked; {self._asked} were")
        if len(replies) < self._needed(number):
            raise QuorumLost(
                f"{len(replies)} of {len(self._asked)} silos answered in round {number + 1}, {self._needed(number)} "
                "are needed; there is no sum, and no part of one: begin another when enough silos are there"
            )
        return self._advance(number, replies)

    def _under_way(self) -> int:
        if self._round is None:
            raise WrongRound("the sum is not open; it begins with open() and ends with its sum")
        return self._round

    def _ask(self, number: int, bodies: Bodies) -> Mapping[str, bytes]:
        """Return the requests of a round. Silos that hear the same share the bytes: they can be large."""
        self._round, self._asked = number, tuple(sorted(bodies))
        wrapped = {body: wrap(self._session, round=2 * number, body=body) for body in set(bodies.values())}
        return {silo: wrapped[body] for silo, body in bodies.items()}

    def _relay(self, number: int, said: Bodies) -> Mapping[str, bytes]:
        """Tell everyone what everyone said. The silos check it and do not rely on us."""
        return self._ask(number, dict.fromkeys(said, pieces(said)))

    def _bodies(self, number: int, replies: Bodies) -> dict[str, bytes]:
        return {silo: self._body(number, reply) for silo, reply in replies.items()}

    def _body(self, number: int, reply: bytes) -> bytes:
        return unwrap(self._session, round=2 * number + 1, data=reply)


def require_empty(body: bytes) -> None:
    """Require an empty body: the first request asks, and says nothing."""
    if body:
        raise MessageError(f"the first request carries nothing, but {len(body)} bytes came with it")


def pieces(said: Mapping[str, bytes]) -> bytes:
    """Return what several silos said as one message, to be carried to others."""
    return pb.Pieces(pieces=[pb.Piece(silo=silo, data=said[silo]) for silo in sorted(said)]).SerializeToString()


def read_pieces(body: bytes, *, known: Iterable[str], fewest: int) -> dict[str, bytes]:
    """Return the pieces by silo: of `known` silos only, each at most once, and at least `fewest`."""
    return named(decode(pb.Pieces, body).pieces, known=known, fewest=fewest)


def named(listed: Iterable[pb.Piece], *, known: Iterable[str], fewest: int) -> dict[str, bytes]:
    """Return the pieces by silo."""
    said = [(piece.silo, piece.data) for piece in listed]
    names, allowed = [silo for silo, _ in said], set(known)
    if len(set(names)) != len(names):
        raise WrongContributors(f"a silo is named twice: {', '.join(names)}; each counts once")
    if strangers := set(names) - allowed:
        raise WrongContributors(
            f"{', '.join(sorted(strangers))} cannot take part here: only {', '.join(sorted(allowed))}"
        )
    if len(names) < fewest:
        raise QuorumLost(f"{len(names)} silos remain, {fewest} are needed; begin another sum when enough are there")
    return dict(said)


def require_mine(said: Mapping[str, bytes], me: str, mine: bytes) -> None:
    """Require that what is passed on as ours is what we said: a sum without us, or with something else, is not ours."""
    if me not in said:
        raise WrongContributors(f"{me} is left out, although it took part up to here; it opens no sum without itself")
    if said[me] != mine:
        raise CommitmentBroken(f"something else came back as {me}'s than {me} had sent")
