"""The interface of every secure sum: a pair of state machines that take bytes, return bytes and do no I/O.

A scheme is one folder beside this file. Its `config.py` has a config model with a literal `kind` and a `build()` that
returns its `SecureSum`; the model's name joins the union in `federation/sums/config.py`, and the contract tests run
over the scheme. Whoever reads a config builds the scheme to ask what it admits. So a scheme is arithmetic, and imports
the library that encrypts only with its two sides.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from siloseal.federation.randomness import Randomness
from siloseal.federation.records.identity import Identity
from siloseal.federation.sums.exposure import Exposure
from siloseal.federation.sums.session import Domain, Session, Vector


@dataclass(frozen=True)
class Sum:
    """The result of a session: the total, and whose contributions are in it."""

    total: Vector
    contributors: tuple[str, ...]
    error_bound: float
    """The largest error of an entry; 0 where the sum is exact."""


class SiloSide(Protocol):
    """One silo's part in one session."""

    def answer(self, message: bytes) -> bytes:
        """Return the reply to the next message; any other message is refused with a typed error."""

    def forget(self) -> None:
        """Drop every secret. Nothing can be answered after this."""

    def state(self) -> bytes:
        """Return what the silo must keep to go on after a crash. It is as secret as the vector that it protects."""

    def restore(self, state: bytes) -> None:
        """Take the session up where `state` was taken."""


class AggregatorSide(Protocol):
    """The aggregator's part in one session. It holds no secret."""

    def open(self) -> Mapping[str, bytes]:
        """Return the first message to each silo of the roster."""

    @property
    def fewest(self) -> int:
        """Fewest replies that the messages that are out need."""

    @property
    def largest(self) -> int:
        """Bytes of the largest reply that can be right for the messages that are out; nobody reads a longer one."""

    def check(self, silo: str, reply: bytes) -> None:
        """Raise a typed error for a reply that cannot be right: it is refused when it comes in, and not added."""

    def advance(self, replies: Mapping[str, bytes]) -> Mapping[str, bytes] | Sum:
        """Return the next messages, or the sum, from replies that passed `check`. Silos without one count as silent."""


class SecureSum(Protocol):
    """A scheme with its parameters.

    >>> scheme: siloseal.SecureSum = siloseal.secure_sum("ckks")
    >>> scheme.fewest(10)  # of ten silos, those that must stay to the end for the sum to open
    7
    """

    @property
    def name(self) -> str:
        """Scheme and parameters as one string: part of the session's digest."""

    @property
    def exposure(self) -> Exposure:
        """Who learns what, and what a silent silo does."""

    @property
    def sums_modulo(self) -> bool:
        """Whether nobody sees more of an integer total than its remainder, if the modulus is a power of two.

        How often entries wrapped on their way tells something about the silos that their total does not.
        """

    def admit(self, domain: Domain, silos: int) -> None:
        """Raise `DomainError` if the scheme cannot carry sums of this many silos over this domain."""

    def fewest(self, silos: int) -> int:
        """Return how many of these silos must stay to the end for the sum to open."""

    def grid(self, domain: Domain) -> float:
        """Return the distance of the points that real entries are rounded to; 0 for integers, which are exact."""

    def statistical_distance(self, domain: Domain, silos: int) -> float:
        """Return the largest probability that a session tells more than its sum, whatever is computed; 0 for none.

        It is a session's: over several sums it adds up. What rests on computations being hard is not counted.
        """

    def describe(self, domain: Domain, silos: int) -> Mapping[str, str]:
        """Describe what the protection of such a sum rests on, for the report."""

    def silo(self, session: Session, me: Identity, contribution: Vector, randomness: Randomness) -> SiloSide:
        """Return the side of silo `me`, which contributes this vector."""

    def aggregator(self, session: Session) -> AggregatorSide:
        """Return the aggregator's side."""
