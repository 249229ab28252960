"""An encoding of real vectors, such as a mechanism, composed with any secure sum.

Because `NoisySum` is itself a `SecureSum`, distributed privacy is a composition and not a class per pair.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from siloseal.federation.randomness import Randomness, SecureRandomness
from siloseal.federation.records.identity import Identity
from siloseal.federation.sums.encoding import Encoding
from siloseal.federation.sums.exposure import Exposure
from siloseal.federation.sums.secure_sum import AggregatorSide, SecureSum, SiloSide, Sum
from siloseal.federation.sums.session import Domain, Session, Vector, require_real


@dataclass(frozen=True)
class NoisySum:
    """An encoding over an inner sum, as one more `SecureSum`. Its sessions are over real vectors."""

    encoding: Encoding
    """A mechanism; or fixed point, which adds no noise."""
    inner: SecureSum
    at_aggregator: Randomness = field(default_factory=SecureRandomness, compare=False, repr=False)
    """Randomness of the aggregator's noise. A caller that may repeat a sum after a crash must keep its noised total."""

    @property
    def name(self) -> str:
        """The names of encoding and inner sum: silos agree on both."""
        return f"{self.encoding.name} over {self.inner.name}"

    @property
    def exposure(self) -> Exposure:
        """The inner sum's exposure, with who adds the noise."""
        return self.inner.exposure.noised(self.encoding.noised_by)

    @property
    def sums_modulo(self) -> bool:
        """Whether the inner sum shows totals modulo a power of two only."""
        return self.inner.sums_modulo

    def admit(self, domain: Domain, silos: int) -> None:
        """Require that the inner sum admits the encoded domain."""
        self.inner.admit(self.encoding.domain(require_real(domain), silos), silos)

    def fewest(self, silos: int) -> int:
        """Number of silos that the inner sum needs."""
        return self.inner.fewest(silos)

    def grid(self, domain: Domain) -> float:
        """The coarser one of the encoding's and the inner sum's grids; neither depends on how many silos there are."""
        outer = require_real(domain)
        return max(self.encoding.grid(outer), self.inner.grid(self.encoding.domain(outer, 1)))

    def statistical_distance(self, domain: Domain, silos: int) -> float:
        """The statistical distance of the inner sum."""
        return self.inner.statistical_distance(self.encoding.domain(require_real(domain), silos), silos)

    def describe(self, domain: Domain, silos: int) -> Mapping[str, str]:
        """Describe what the inner sum rests on; a mechanism's own noise is in the ledger."""
        return self.inner.describe(self.encoding.domain(require_real(domain), silos), silos)

    def silo(self, session: Session, me: Identity, contribution: Vector, randomness: Randomness) -> SiloSide:
        """Return the inner side, over the encoded vector. The ledger is charged by the caller, before this."""
        vector = require_real(session.domain).check(contribution)
        encoded = self.encoding.encode(vector, session, randomness)
        return self.inner.silo(self._inner_session(session), me, encoded, randomness)

    def aggregator(self, session: Session) -> AggregatorSide:
        """Return the inner side, whose total is decoded."""
        inner = self.inner.aggregator(self._inner_session(session))
        return _DecodingAggregator(inner, self.encoding, session, self.at_aggregator)

    def _inner_session(self, session: Session) -> Session:
        # The scheme's name still holds both, so the digest binds the encoding too.
        return replace(session, domain=self.encoding.domain(require_real(session.domain), len(session.roster)))


class _DecodingAggregator:
    def __init__(self, inner: AggregatorSide, encoding: Encoding, session: Session, randomness: Randomness) -> None:
        self._inner, self._encoding, self._session, self._randomness = inner, encoding, session, randomness

    def open(self) -> Mapping[str, bytes]:
        return self._inner.open()

    @property
    def fewest(self) -> int:
        return self._inner.fewest

    @property
    def largest(self) -> int:
        return self._inner.largest

    def check(self, silo: str, reply: bytes) -> None:
        self._inner.check(silo, reply)

    def advance(self, replies: Mapping[str, bytes]) -> Mapping[str, bytes] | Sum:
        step = self._inner.advance(replies)
        if not isinstance(step, Sum):
            return step
        return self._encoding.decode(step, self._session, self._randomness)
