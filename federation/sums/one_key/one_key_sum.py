"""Sums under one key, as the systems do that SiloSeal is compared with: batched Paillier, and stock CKKS.

1. advertise: every silo signs a public key for what is sealed to it.
2. draw_key: the leader, the first on the roster, draws a key pair and seals the secret key to every other silo.
3. upload: every silo encrypts its vector; the aggregator, which holds no key, adds the ciphertexts.
4. open: every silo gets the summed ciphertext, decrypts it, and signs a digest of what it found.
5. tell: if they agree, the aggregator asks one of them for the sum.

They are baselines, and hide less than the other sums; `exposure` says how much less. Why: every silo holds the whole
key, and no silo can tell what it opens, nor what the others were given.

Stock CKKS hides least. A decryption is approximate: it carries the noise, which is linear in the key. Shared as it is,
without flooding, it gives the key away (Li and Micciancio 2021). From 8192 real entries on, one sum is enough:
`experiments.attacks.key_recovery` does it in a fraction of a second. This is what stock CKKS does wherever decryptions
are shared, so the baseline is left as it is. Paillier decrypts exactly.

What was opened is compared to the last bit. Decoding rounds under stock CKKS, so all silos must run the same build of
TenSEAL.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from siloseal.federation.randomness import Randomness
from siloseal.federation.records.identity import Identity
from siloseal.federation.sums.exposure import Exposure, nobody_may_collude
from siloseal.federation.sums.fixed_point import FixedPoint, FixedPointSum, largest_point
from siloseal.federation.sums.noisy_sum import NoisySum
from siloseal.federation.sums.one_key.aggregator_side import OneKeyAggregator
from siloseal.federation.sums.one_key.cipher import Cipher
from siloseal.federation.sums.one_key.paillier_parameters import PaillierSizes
from siloseal.federation.sums.one_key.silo_side import OneKeySilo
from siloseal.federation.sums.one_key.stock_parameters import (
    DEGREE,
    FAILURE_BITS,
    PRIME_BITS,
    SCALE_BITS,
    SLOTS,
    StockSizes,
)
from siloseal.federation.sums.secure_sum import AggregatorSide, SiloSide
from siloseal.federation.sums.session import Domain, Session, Vector, require_integers
from siloseal.federation.sums.threshold import require_two_silos

if TYPE_CHECKING:
    from siloseal.federation.sums.one_key.paillier import PaillierCipher
    from siloseal.federation.sums.one_key.stock_ckks import StockCipher

_EXPOSURE = Exposure(
    aggregator_learns="the sum",
    silo_learns="the sum, before the aggregator",
    colluders="none: every silo holds the whole key",
    if_more_collude="one silo and the aggregator read every upload",
    if_a_silo_is_silent="the first on the roster must stay until it has drawn the key, and the one that is asked for "
    "the sum until it has sent it; any other may fall silent while the job's silos.fewest are left",
    assumes="that the aggregator does not lie: one that does has every upload opened as if it were the sum, each by "
    "another silo, and no silo can tell",
    hides_contributions=True,
    may_collude=nobody_may_collude,
    opens_what_it_is_given=True,
    shows_silos_the_exact_sum=True,
    baseline=True,
)


class OneKeySum(ABC):
    """The part that both sums under one key have in common. See the module's text."""

    exposure: ClassVar[Exposure]
    """Exposure of the sum, which differs between the two in what the aggregator learns by itself."""

    sums_modulo: ClassVar[bool] = False
    """Always False: silos decrypt totals that are not reduced yet."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The scheme's name, which is part of the session's digest."""

    @abstractmethod
    def sizes(self, domain: Domain, silos: int) -> PaillierSizes | StockSizes:
        """Return the cipher's sizes for these sums; `DomainError` where it cannot carry them."""

    @abstractmethod
    def cipher(self, domain: Domain, silos: int) -> Cipher:
        """Return the cipher for these sums. It imports the library that encrypts, which nothing else here needs."""

    @abstractmethod
    def grid(self, domain: Domain) -> float:
        """The distance of two points of the grid that silos round reals to; integers are exact."""

    @abstractmethod
    def _sizes_in_words(self, domain: Domain, silos: int) -> Mapping[str, str]:
        """The cipher's sizes in words, for the report."""

    def admit(self, domain: Domain, silos: int) -> None:
        """Require at least two silos, and room for their sum."""
        self.fewest(silos)
        self.sizes(domain, silos)

    def fewest(self, silos: int) -> int:
        """Always two: any silo opens the sum, but the sum of one would hide nothing."""
        require_two_silos(silos)
        return 2

    def statistical_distance(self, domain: Domain, silos: int) -> float:
        """Always 0: what an opening shows beyond the sum, it always shows."""
        return 0.0

    def describe(self, domain: Domain, silos: int) -> Mapping[str, str]:
        """Describe what a sum rests on, and what it does not."""
        return {
            **self._sizes_in_words(domain, silos),
            "key": "one, drawn by the first silo on the roster; every silo holds all of it",
        }

    def silo(self, session: Session, me: Identity, contribution: Vector, randomness: Randomness) -> SiloSide:
        """Return the side of the silo with this identity."""
        return OneKeySilo(session, me, contribution, randomness, self.cipher(session.domain, len(session.roster)))

    def aggregator(self, session: Session) -> AggregatorSide:
        """Return the aggregator's side."""
        return OneKeyAggregator(session, self.cipher(session.domain, len(session.roster)))


@dataclass(frozen=True)
class PaillierSum(OneKeySum):
    """Integers, which are exact, in lanes of Paillier plaintexts."""

    exposure: ClassVar[Exposure] = _EXPOSURE
    """Exposure of Paillier, whose decryption is exact and carries no noise that would show the key."""

    key_bits: int = 2048
    largest: int | None = None
    """The largest entry, where whoever sends integers keeps below the modulus: lanes need not be wider than for it."""

    @property
    def name(self) -> str:
        return f"paillier(key_bits={self.key_bits})"

    def sizes(self, domain: Domain, silos: int) -> PaillierSizes:
        return PaillierSizes(self.key_bits, require_integers(domain, silos), silos, self.largest)

    def cipher(self, domain: Domain, silos: int) -> "PaillierCipher":
        from siloseal.federation.sums.one_key.paillier import PaillierCipher  # imports gmpy2

        return PaillierCipher(self.key_bits, require_integers(domain, silos), silos, self.largest)

    def grid(self, domain: Domain) -> float:
        """Always 0: integers are exact."""
        return 0.0

    def _sizes_in_words(self, domain: Domain, silos: int) -> Mapping[str, str]:
        batching = self.sizes(domain, silos).batching
        return {
            "modulus n": f"{self.key_bits} bits",
            "values a ciphertext": f"{batching.lanes} in lanes of {batching.lane_bits} bits",
        }


@dataclass(frozen=True)
class FixedPointPaillier(FixedPointSum):
    """Reals as points of a grid, whose lanes hold the total of the largest points.

    The domain of the points is as wide as that total. A lane for the sum of as many integers of this domain would be
    wider again.
    """

    integers: PaillierSum

    @property
    def _reals(self) -> NoisySum:
        of_points = replace(self.integers, largest=largest_point(self.precision_bits))
        return NoisySum(FixedPoint(self.precision_bits), of_points)


@dataclass(frozen=True)
class StockCkksSum(OneKeySum):
    """Reals, which are approximate; integers are rounded once they are open."""

    exposure: ClassVar[Exposure] = replace(
        _EXPOSURE,
        aggregator_learns="every silo's vector: the decrypted sum carries noise, from which it computes the key",
        colluders="the aggregator needs nobody",
        if_more_collude="no more than the aggregator alone",
        hides_contributions=False,
    )
    """Exposure of stock CKKS. It was shown for sums of 8,192 reals and more; see the module's text."""
    name: ClassVar[str] = "ckks_one_key"

    def sizes(self, domain: Domain, silos: int) -> StockSizes:
        return StockSizes(domain, silos)

    def cipher(self, domain: Domain, silos: int) -> "StockCipher":
        from siloseal.federation.sums.one_key.stock_ckks import StockCipher  # imports TenSEAL

        return StockCipher(domain, silos)

    def grid(self, domain: Domain) -> float:
        """The grid that silos round to. An entry is off it by the cipher's error, which is less than half a step."""
        return self.sizes(domain, 1).grid

    def _sizes_in_words(self, domain: Domain, silos: int) -> Mapping[str, str]:
        sizes = self.sizes(domain, silos)
        error = sizes.error_bound(silos) or sizes.noise(silos)
        return {
            "degree N": f"{DEGREE:,}",
            "primes": f"{' + '.join(map(str, PRIME_BITS))} bits, within SEAL's limit for 128-bit security",
            "values a ciphertext": f"{SLOTS:,}, at scale 2^{SCALE_BITS}",
            "error": f"at most {error:.2g} an entry before integers are rounded, but "
            f"with probability 2^-{FAILURE_BITS}",
        }
