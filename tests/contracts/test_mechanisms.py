"""What every mechanism must do, alone and over a sum."""

import numpy as np
import pytest
from scipy import stats

from siloseal.federation.errors import DomainError, QuorumLost
from siloseal.federation.privacy.accounting import epsilon_of
from siloseal.federation.privacy.mechanism import Mechanism
from siloseal.federation.privacy.mechanisms.gaussian import GaussianAtAggregator, GaussianAtSilo
from siloseal.federation.privacy.mechanisms.integer_noise import Binomial, DiscreteGaussian, Skellam
from siloseal.federation.privacy.mechanisms.lattice import LatticeNoise
from siloseal.federation.privacy.mechanisms.pbm import PoissonBinomial
from siloseal.federation.privacy.mechanisms.pbm_kashin import KashinPoissonBinomial
from siloseal.federation.randomness import Randomness, SecureRandomness, SeededRandomness
from siloseal.federation.sums.additive.config import AdditiveSumConfig
from siloseal.federation.sums.ckks.config import CkksSumConfig
from siloseal.federation.sums.in_process import sum_in_process
from siloseal.federation.sums.noisy_sum import NoisySum
from siloseal.federation.sums.plain.plain_sum import PlainSum
from siloseal.federation.sums.secagg.config import SecAggConfig
from siloseal.federation.sums.secure_sum import SecureSum, Sum
from siloseal.federation.sums.session import IntegerDomain, RealDomain, Session
from tests.federation.sums.recorded import identity

SILOS = 4
DOMAIN = RealDomain(length=16_384, bound=4.0)

ALL_MECHANISMS: dict[str, tuple[Mechanism, float]] = {
    "gaussian_local": (GaussianAtSilo(sensitivity=1.0, noise_multiplier=2.0), 4.0),
    "gaussian_central": (GaussianAtAggregator(clip_norm=1.0, sensitivity=1.001, noise_multiplier=2.0), 2.002),
    "ddg": (LatticeNoise(1.0, True, 0.001, 24, DiscreteGaussian(1e6)), 2.0),
    "skellam": (LatticeNoise(1.0, True, 0.001, 24, Skellam(1e6)), 2.0),
    "binomial": (LatticeNoise(1.0, True, 0.001, 24, Binomial(4_000_000, 1e-6)), 2.0),
    "ddg in full": (LatticeNoise(1.0, True, 0.001, 24, DiscreteGaussian(1e6), wraps=False), 2.0),
    "skellam of a part in full": (LatticeNoise(1.0, False, 0.001, 24, Skellam(1e6), wraps=False), 2.0),
    "skellam of a part": (LatticeNoise(1.0, False, 0.001, 24, Skellam(1e6)), 2.0),
    "pbm": (PoissonBinomial(clip_norm=1.0, bound=0.02, trials=4, theta=0.005), 0.02 / (2 * 0.005)),
    "pbm_kashin": (KashinPoissonBinomial(1.0, trials=4, theta=0.002), 2.39046 / np.sqrt(32_768) / (2 * 0.002)),
}
"""Each with the standard deviation of the noise on an entry of the total of four silos."""

INNER: dict[str, SecureSum] = {
    "plain": PlainSum(),
    "secagg": SecAggConfig(kind="secagg").build(),
    "additive": AdditiveSumConfig(kind="additive").build(),
    "ckks": CkksSumConfig(kind="ckks").build(),
}


def total(
    mechanism: Mechanism, inner: SecureSum, sources: list[Randomness], *, absent: int = 0, quorum: int = SILOS
) -> Sum:
    """The sum of four vectors of norm 1/2, all but the last `absent` of which come in."""
    scheme, names = NoisySum(mechanism, inner, SeededRandomness(99)), [f"silo{number}" for number in range(SILOS)]
    return sum_in_process(
        scheme, dict.fromkeys(names, vector()), domain=DOMAIN, quorum=quorum, session_id=bytes(32),
        identities={name: identity(name) for name in names},
        drop=dict.fromkeys(names[SILOS - absent :], 1), randomness=dict(zip(names, sources, strict=True)).__getitem__,
    )  # fmt: skip


def vector() -> np.ndarray:
    return np.full(DOMAIN.length, 0.5 / np.sqrt(DOMAIN.length))


def secure() -> list[Randomness]:
    return [SecureRandomness() for _ in range(SILOS)]


@pytest.mark.parametrize("name", ALL_MECHANISMS)
class TestEveryMechanism:
    @pytest.mark.parametrize("inner", INNER)
    def test_the_noise_on_a_sum_has_the_variance_that_it_should(self, name: str, inner: str) -> None:
        """False alarms: 1e-6, the chi-square test of the variance at 16,384 degrees of freedom."""
        mechanism, deviation = ALL_MECHANISMS[name]
        noise = total(mechanism, INNER[inner], secure()).total - SILOS * vector()
        low, high = stats.chi2.ppf([5e-7, 1 - 5e-7], DOMAIN.length)
        assert low < float(np.sum(noise**2)) / deviation**2 < high
        assert abs(float(noise.mean())) < 5 * deviation / np.sqrt(DOMAIN.length)

    def test_equal_randomness_gives_equal_sums(self, name: str) -> None:
        mechanism, _ = ALL_MECHANISMS[name]
        seeded = [[SeededRandomness(number) for number in range(SILOS)] for _ in range(2)]
        first, second = (total(mechanism, PlainSum(), list(sources)).total for sources in seeded)
        np.testing.assert_array_equal(first, second)

    def test_two_silos_draw_different_noise(self, name: str) -> None:
        mechanism, _ = ALL_MECHANISMS[name]
        if isinstance(mechanism, GaussianAtAggregator):
            pytest.skip("the aggregator draws it")
        session = Session(bytes(32), ("a",), DOMAIN, mechanism.name, 1, (bytes(32),))
        first, second = (mechanism.encode(vector(), session, SecureRandomness()) for _ in range(2))
        assert not np.array_equal(first, second)

    def test_its_event_can_be_counted(self, name: str) -> None:
        assert 0 < epsilon_of([ALL_MECHANISMS[name][0].event(DOMAIN, honest=SILOS)], 1e-5) < 10

    def test_a_sum_of_too_few_silos_does_not_come_about(self, name: str) -> None:
        """What is charged to the ledger counts on the noise of as many silos as the session demands."""
        mechanism, _ = ALL_MECHANISMS[name]
        assert total(mechanism, INNER["secagg"], secure(), absent=1, quorum=3).contributors == (
            "silo0",
            "silo1",
            "silo2",
        )
        with pytest.raises(QuorumLost):
            total(mechanism, INNER["secagg"], secure(), absent=2, quorum=3)

    def test_integers_are_not_noised_as_reals(self, name: str) -> None:
        with pytest.raises(DomainError):
            NoisySum(ALL_MECHANISMS[name][0], PlainSum()).admit(IntegerDomain(10, 2**16), 2)


def test_the_mechanisms_parameters_are_part_of_what_the_silos_agree_on() -> None:
    loud, quiet = (NoisySum(GaussianAtSilo(1.0, noise), PlainSum()) for noise in (2.0, 0.1))
    digests = {Session(bytes(32), ("a",), DOMAIN, scheme.name, 1, (bytes(32),)).digest for scheme in (loud, quiet)}
    assert len(digests) == 2
