"""What every mechanism must do, alone and over a sum."""

import numpy as np
import pytest
from scipy import stats

from federation.accounting import epsilon_of
from federation.engine import run_sum
from federation.errors import DomainError
from federation.identity import Identity
from federation.mechanism import GaussianAtSilo, Mechanism, NoisySum
from federation.plain.plain_sum import PlainSum
from federation.randomness import SecureRandomness, SeededRandomness
from federation.session import IntegerDomain, RealDomain, Session

ALL_MECHANISMS: list[tuple[Mechanism, float]] = [(GaussianAtSilo(sensitivity=1.0, noise_multiplier=2.0), 2.0)]
"""Each with the standard deviation of the noise that one of two silos adds."""

DOMAIN = RealDomain(length=20_000, bound=4.0)


@pytest.mark.parametrize(("mechanism", "deviation"), ALL_MECHANISMS, ids=lambda value: str(value)[:40])
class TestEveryMechanism:
    def test_the_noise_on_a_sum_has_the_variance_that_it_should(self, mechanism: Mechanism, deviation: float) -> None:
        """False alarms: 1e-6, the chi-square test of the variance at 20,000 degrees of freedom."""
        noise = self.total(mechanism, SecureRandomness(), SecureRandomness()) - 2 * np.ones(DOMAIN.length)
        statistic = float(np.sum(noise**2)) / (2 * deviation**2)
        low, high = stats.chi2.ppf([5e-7, 1 - 5e-7], DOMAIN.length)
        assert low < statistic < high

    def test_equal_randomness_gives_equal_sums(self, mechanism: Mechanism, deviation: float) -> None:
        first, second = (self.total(mechanism, SeededRandomness(1), SeededRandomness(2)) for _ in range(2))
        np.testing.assert_array_equal(first, second)

    def test_two_silos_draw_different_noise(self, mechanism: Mechanism, deviation: float) -> None:
        session = Session(bytes(32), ("a",), RealDomain(100, 1.0), mechanism.name, 1, (bytes(32),))
        first, second = (mechanism.encode(np.ones(100), session, SecureRandomness()) for _ in range(2))
        assert not np.array_equal(first, second)

    def test_its_event_can_be_counted(self, mechanism: Mechanism, deviation: float) -> None:
        assert 0 < epsilon_of([mechanism.event(honest=2)], 1e-5) < 10

    def test_integers_are_not_noised_as_reals(self, mechanism: Mechanism, deviation: float) -> None:
        with pytest.raises(DomainError):
            NoisySum(mechanism, PlainSum()).admit(IntegerDomain(10, 2**16), 2)

    def total(self, mechanism: Mechanism, *sources: SeededRandomness | SecureRandomness) -> np.ndarray:
        scheme = NoisySum(mechanism, PlainSum())
        roster = tuple(f"silo{number}" for number in range(len(sources)))
        identities = [Identity.create(silo) for silo in roster]
        keys = tuple(identity.public for identity in identities)
        session = Session(bytes(32), roster, DOMAIN, scheme.name, len(roster), keys)
        sides = {
            identity.name: scheme.silo(session, identity, np.ones(DOMAIN.length), source)
            for identity, source in zip(identities, sources, strict=True)
        }
        ask = lambda messages: {silo: sides[silo].answer(message) for silo, message in messages.items()}  # noqa: E731
        return run_sum(scheme, session, ask).total


def test_the_mechanisms_parameters_are_part_of_what_the_silos_agree_on() -> None:
    loud, quiet = (NoisySum(GaussianAtSilo(1.0, noise), PlainSum()) for noise in (2.0, 0.1))
    digests = {Session(bytes(32), ("a",), DOMAIN, scheme.name, 1, (bytes(32),)).digest for scheme in (loud, quiet)}
    assert len(digests) == 2
