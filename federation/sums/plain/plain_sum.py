"""The plain sum: every silo sends its vector in clear. The baseline that every other scheme must equal.

One round: the aggregator asks, the silo answers with its vector, reals in single precision and on a grid. The grid
hides nothing. It is there so that no scheme carries reals whose last bits tell how they were computed; and it is so
fine that of entries above 2^-24 of the bound it changes none.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from siloseal.federation.errors import DomainError, QuorumLost, WrongRound
from siloseal.federation.randomness import Randomness
from siloseal.federation.records.identity import Identity
from siloseal.federation.sums.envelope import unwrap, wrap
from siloseal.federation.sums.exposure import Exposure, nobody_may_collude
from siloseal.federation.sums.secure_sum import AggregatorSide, SiloSide, Sum
from siloseal.federation.sums.session import Domain, IntegerDomain, RealDomain, Session, Vector
from siloseal.federation.transport.wire import sums_pb2 as pb
from siloseal.federation.transport.wire.codec import FRAMING_BYTES, decode, from_array, require_at_most, to_array

_LARGEST_BOUND = float(np.finfo(np.float32).max) * (1 - 2.0**-22)
"""Largest bound under which every entry that a domain lets pass is finite in single precision."""

_GRID_BITS = 48  # from the bound to the step of the grid
_SMALLEST_STEP = 2.0**-149  # that single precision holds


@dataclass(frozen=True)
class PlainSum:
    """The plain sum. See the module's text."""

    name: ClassVar[str] = "plain"
    exposure: ClassVar[Exposure] = Exposure(
        aggregator_learns="every silo's vector",
        silo_learns="nothing",
        colluders="the aggregator needs nobody",
        if_more_collude="no more than the aggregator alone",
        if_a_silo_is_silent="the sum goes on without it while the job's silos.fewest are left",
        hides_contributions=False,
        may_collude=nobody_may_collude,
    )
    sums_modulo: ClassVar[bool] = False

    def admit(self, domain: Domain, silos: int) -> None:
        """Require that reals fit single precision, and that integer sums fit 64 bits before they are reduced."""
        match domain:
            case RealDomain(bound=bound):
                fits = 0 < bound <= _LARGEST_BOUND
            case IntegerDomain(modulus=modulus):
                fits = modulus > 1 and modulus * silos < 2**63
        if not fits or domain.length < 1:
            raise DomainError(
                f"the plain sum of {silos} silos cannot carry {domain}; reals travel in single precision, up to "
                f"{_LARGEST_BOUND:.3g}, and silos times modulus stay below 2^63: lower the bound or the modulus"
            )

    def fewest(self, silos: int) -> int:
        """Always one: whoever sends is added."""
        return 1

    def grid(self, domain: Domain) -> float:
        """A power of two, so that points of the grid stay on it in single precision; integers are exact."""
        return _step(domain) if isinstance(domain, RealDomain) else 0.0

    def statistical_distance(self, domain: Domain, silos: int) -> float:
        """Always 0: the sum hides nothing, so nothing can fail."""
        return 0.0

    def describe(self, domain: Domain, silos: int) -> Mapping[str, str]:
        """Return no rows: there is nothing that the protection of the sum could rest on."""
        return {}

    def silo(self, session: Session, me: Identity, contribution: Vector, randomness: Randomness) -> SiloSide:
        """Return the side of silo `me`. Nothing here is random."""
        return _PlainSilo(session, me.name, contribution)

    def aggregator(self, session: Session) -> AggregatorSide:
        """Return the aggregator's side."""
        return _PlainAggregator(session)


class _PlainSilo:
    def __init__(self, session: Session, me: str, contribution: Vector) -> None:
        if me not in session.roster:
            raise DomainError(f"{me} is not on the roster {session.roster}")
        self._session = session
        self._contribution: Vector | None = session.domain.check(contribution)

    def answer(self, message: bytes) -> bytes:
        unwrap(self._session, round=0, data=message)
        if self._contribution is None:
            raise WrongRound("this silo has answered already; a sum asks each silo once")
        contribution, self._contribution = self._contribution, None
        sent = _on_grid(self._session.domain, contribution)
        return wrap(self._session, round=1, body=to_array(sent).SerializeToString())

    def forget(self) -> None:
        self._contribution = None

    def state(self) -> bytes:
        return b"answered" if self._contribution is None else b""

    def restore(self, state: bytes) -> None:
        if state:
            self.forget()


class _PlainAggregator:
    def __init__(self, session: Session) -> None:
        self._session = session
        self._open = False

    def open(self) -> Mapping[str, bytes]:
        self._open = True
        return {silo: wrap(self._session, round=0, body=b"") for silo in self._session.roster}

    @property
    def fewest(self) -> int:
        return self._session.quorum

    @property
    def largest(self) -> int:
        self._require_open()
        entry_bytes = 4 if isinstance(self._session.domain, RealDomain) else 8
        return entry_bytes * self._session.domain.length + FRAMING_BYTES

    def check(self, silo: str, reply: bytes) -> None:
        if silo not in self._session.roster:
            raise DomainError(f"{silo} answered, but is not on the roster {self._session.roster}")
        require_at_most(self.largest, silo, reply)
        self._contribution(reply)

    def advance(self, replies: Mapping[str, bytes]) -> Sum:
        self._require_open()
        self._open = False
        session, domain = self._session, self._session.domain
        if strangers := set(replies) - set(session.roster):
            raise DomainError(f"{sorted(strangers)} answered but are not on the roster {session.roster}")
        if len(replies) < session.quorum:
            raise QuorumLost(f"{len(replies)} of {len(session.roster)} silos answered, {session.quorum} are needed")
        silos = tuple(sorted(replies))
        total = self._contribution(replies[silos[0]]).copy()
        for silo in silos[1:]:  # one after the other: of a thousand vectors few are in memory at a time
            total += self._contribution(replies[silo])
        match domain:
            case RealDomain(bound=bound):
                # Each entry was rounded to the grid and to single precision on its way; adding them in double precision
                # adds next to nothing: n - 1 partial sums up to n * bound, each rounded to half an ulp.
                rounding = _step(domain) + bound * (2.0**-24 + (len(silos) - 1) * 2.0**-53)
                return Sum(total, silos, len(silos) * rounding)
            case IntegerDomain(modulus=modulus):
                return Sum(total % modulus, silos, 0.0)

    def _require_open(self) -> None:
        if not self._open:
            raise WrongRound("the sum is not open; it adds replies once, after open()")

    def _contribution(self, reply: bytes) -> Vector:
        domain = self._session.domain
        array = decode(pb.Array, unwrap(self._session, round=1, data=reply))
        dtype = "<f4" if isinstance(domain, RealDomain) else "<i8"
        return domain.check(from_array(array, dtype=dtype, length=domain.length))


def _on_grid(domain: Domain, vector: Vector) -> Vector | NDArray[np.float32]:
    """The vector as it travels: integers as they are, reals on the grid."""
    if not isinstance(domain, RealDomain):
        return vector
    step = _step(domain)
    return np.asarray(np.rint(vector / step) * step, dtype="<f4")


def _step(domain: RealDomain) -> float:
    return max(2.0 ** (math.ceil(math.log2(domain.bound)) - _GRID_BITS), _SMALLEST_STEP)
