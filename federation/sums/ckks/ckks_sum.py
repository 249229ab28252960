"""CKKS under an additively shared key: key-additive encryption (Bell et al. 2023, ACORN; Willow, eprint 2024/936).

1. advertise, 2. share: as in SecAgg.
3. upload: a silo draws its share of the key, encrypts its vector under it, and sends the ciphertext, and the share
   under SecAgg's masks.
4. confirm, 5. reveal: as in SecAgg. The aggregator gets the sum of the key shares of the silos on the one list that
   all agreed on. That key opens the sum of their ciphertexts.

Why the lines of `exposure` hold: nobody ever holds a key that opens more than the sum. And no honest message depends on
anybody's ciphertext, so that the others' answers are the same whatever a cheating silo uploads. It can falsify the sum.

The masks cover one short polynomial instead of the vector, so that drop-outs cost the same however long the vector is.
What key and error must be like for 128 bits is derived in security.py, all sizes in parameters.py.
"""

from dataclasses import dataclass
from typing import ClassVar

from siloseal.federation.exact_noise import TABLE_ERROR
from siloseal.federation.randomness import Randomness
from siloseal.federation.records.identity import Identity
from siloseal.federation.sums.ckks.parameters import Parameters, derive
from siloseal.federation.sums.ckks.security import HARDNESS_DEVIATION, HINT_BITS, VARIANCE
from siloseal.federation.sums.ckks.setting import Setting
from siloseal.federation.sums.exposure import Exposure
from siloseal.federation.sums.fixed_point import grid_step
from siloseal.federation.sums.masked.words import WordRing
from siloseal.federation.sums.secagg.secagg_sum import SecAggSum
from siloseal.federation.sums.secure_sum import AggregatorSide, SiloSide
from siloseal.federation.sums.session import Domain, RealDomain, Session, Vector
from siloseal.federation.sums.threshold import recovery_threshold, threshold_exposure


@dataclass(frozen=True)
class CkksSum:
    """CKKS under an additively shared key. See the module's text."""

    precision_bits: int = 28
    threshold: int | None = None
    sums_modulo: ClassVar[bool] = False

    @property
    def exposure(self) -> Exposure:
        """The exposure of SecAgg, whose masks hide the key shares."""
        return threshold_exposure(self.fewest)

    @property
    def name(self) -> str:
        """The scheme's name, which is part of the session's digest."""
        return f"ckks(precision_bits={self.precision_bits}, threshold={self.threshold or 'two thirds'})"

    def admit(self, domain: Domain, silos: int) -> None:
        """Require at least two silos, a threshold above half of them, and room for their sum."""
        self.fewest(silos)
        self.parameters(domain, silos)

    def silo(self, session: Session, me: Identity, contribution: Vector, randomness: Randomness) -> SiloSide:
        """Return the side of the silo with this identity."""
        from siloseal.federation.sums.ckks.silo_side import CkksSilo  # imports SEAL

        return CkksSilo(self.setting(session), me, contribution, randomness)

    def aggregator(self, session: Session) -> AggregatorSide:
        """Return the aggregator's side."""
        from siloseal.federation.sums.ckks.aggregator_side import CkksAggregator  # imports SEAL

        return CkksAggregator(self.setting(session))

    def setting(self, session: Session) -> Setting:
        """Return what both sides compute from the session."""
        parameters = self.parameters(session.domain, len(session.roster))
        words = WordRing(parameters.degree, parameters.key_bits)
        return Setting(session, parameters, self.precision_bits, SecAggSum(self.threshold).plan(session, words))

    def parameters(self, domain: Domain, silos: int) -> Parameters:
        """Derive all sizes; they are the same for everyone who computes them."""
        return derive(domain, silos, precision_bits=self.precision_bits)

    def grid(self, domain: Domain) -> float:
        """The distance of two fixed-point values; integers are exact."""
        return grid_step(domain, self.precision_bits) if isinstance(domain, RealDomain) else 0.0

    def statistical_distance(self, domain: Domain, silos: int) -> float:
        """Distance of the sampling tables over all draws, plus what the theorem on hints loses from silo to silo."""
        sizes = self.parameters(domain, silos)
        drawn = silos * (sizes.degree + sizes.coefficients)
        return drawn * TABLE_ERROR + (silos - 1) * 2.0 ** (1 - HINT_BITS)

    def describe(self, domain: Domain, silos: int) -> dict[str, str]:
        """Describe what the security of a sum over this domain rests on."""
        sizes, threshold = self.parameters(domain, silos), self.fewest(silos)
        rounded = f"{self.precision_bits} bits: an entry is rounded to multiples of {self.grid(domain):.2g}"
        return {
            "degree N": f"{sizes.degree:,}",
            "log q": f"{sizes.modulus_bits} bits: 2^132 operations or more by the lattice estimator's default model, "
            "given the key and the errors of the sum; about 30 bits less by core-SVP",
            "key and errors": f"discrete Gaussians of variance {VARIANCE}; as hard, after what the sum shows of them, "
            f"as deviation {HARDNESS_DEVIATION:.2f}",
            "values a coefficient": f"{sizes.values}, each below {sizes.radix:,}",
            "precision": rounded if isinstance(domain, RealDomain) else "integers, which are exact",
            "masked key": f"{sizes.degree:,} entries modulo 2^{sizes.key_bits}, under SecAgg's masks",
            "threshold": f"{threshold} of {silos} silos reveal what removes the masks from the key of the sum",
        }

    def fewest(self, silos: int) -> int:
        """The threshold: the number of silos that must reveal what removes the masks from the key of the sum."""
        return recovery_threshold(silos, self.threshold)
