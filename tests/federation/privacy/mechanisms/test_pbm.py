"""The Poisson-binomial mechanism by the L2 norm: unbiased, never wrapping, with the error of its formula."""

import itertools

import numpy as np
import pytest
from scipy import stats

from siloseal.federation.errors import DomainError
from siloseal.federation.privacy.events import PoissonBinomialL2Release
from siloseal.federation.privacy.mechanisms.pbm import PoissonBinomial
from siloseal.federation.privacy.mechanisms.pbm_kashin import KashinPoissonBinomial
from siloseal.federation.privacy.mechanisms.rotation import rotate_back
from siloseal.federation.randomness import SecureRandomness, SeededRandomness
from siloseal.federation.sums.session import RealDomain

from .without_a_sum import session, total_of


def test_the_measured_error_is_the_formula() -> None:
    """20,000 entries: 6 % are six deviations of the error; coins off one half make it up to a hundredth smaller."""
    length, silos = 20_000, 4
    mechanism, drawn = PoissonBinomial(1.0, 0.04, 16, 0.1), np.random.default_rng(1).normal(size=(silos, length))
    vectors = 0.9 * drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    error = total_of(mechanism, vectors, session(silos, length), SecureRandomness()) - vectors.sum(axis=0)
    variance = mechanism.deviation(RealDomain(length, 1.0), silos) ** 2
    assert variance == pytest.approx(silos * (0.04 / (2 * 0.1)) ** 2 / 16)
    assert np.mean(error**2) == pytest.approx(variance, rel=0.06)


@pytest.mark.parametrize("length", [1, 50])
def test_every_entry_is_unbiased(length: int) -> None:
    """|z| < 4 for each, and their squares add up as they should; with a seed."""
    vector = np.linspace(-1, 1, length) / length**0.5
    mechanism, agreed = PoissonBinomial(1.5, 1.5, 4, 0.25), session(800, length)
    total = total_of(mechanism, np.tile(vector, (800, 1)), agreed, SeededRandomness(7))
    z = (total - 800 * vector) / mechanism.deviation(RealDomain(length, 1.0), 800)
    assert np.abs(z).max() < 4
    assert np.sum(z**2) < stats.chi2.isf(1e-3, length)


def test_a_vector_that_no_rotation_spreads_is_cut_and_still_points_there() -> None:
    """All of it in one entry of the rotated vector: what is left of it is the bound. Accuracy pays, and not privacy."""
    agreed, mechanism = session(400, 1000), PoissonBinomial(1.0, 0.1, 8, 0.25)
    aligned = rotate_back(np.eye(1, 1000, 3)[0], agreed.bind("rotation"))
    total = total_of(mechanism, np.tile(aligned, (400, 1)), agreed, SecureRandomness())
    noise = mechanism.deviation(RealDomain(1000, 1.0), 400)
    assert abs(total @ aligned - 400 * 0.1) < 6 * noise  # false alarms: 2e-9


@pytest.mark.parametrize("value", [-1e12, 1e12])
def test_extreme_inputs_never_wrap(value: float) -> None:
    mechanism, agreed = PoissonBinomial(1.0, 1.0, 5, 0.25), session(3, 1)
    total = total_of(mechanism, np.full((3, 1), value), agreed, SecureRandomness())[0]
    assert abs(total) <= 7.5 / (5 * 0.25)
    largest = mechanism.domain(RealDomain(1, 1.0), 3)
    assert (largest.length, largest.modulus) == (1, 16)


def test_no_coins_are_thrown_for_what_is_no_number() -> None:
    """They would be about fair, and nobody would notice."""
    vector = np.array([0.1, np.nan, 0.1])
    for mechanism in (PoissonBinomial(1.0, 1.0, 5, 0.25), KashinPoissonBinomial(1.0, 5, 0.25)):
        with pytest.raises(DomainError):
            mechanism.encode(vector, session(3, 3), SecureRandomness())


@pytest.mark.parametrize(("silos", "trials"), [(1, 1), (3, 5), (4, 4), (16, 16), (100, 7), (5, 51)])
def test_the_modulus_is_above_the_heads_of_all_silos(silos: int, trials: int) -> None:
    domain = PoissonBinomial(1.0, 0.1, trials, 0.25).domain(RealDomain(10, 1.0), silos)
    assert domain.modulus > silos * trials >= domain.modulus // 2
    assert domain.length == 10


def test_the_event_has_the_norm_in_units_of_the_bound_and_the_rounding_of_chances() -> None:
    event = PoissonBinomial(3.0, 0.1, 6, 1e-4).event(RealDomain(10_000, 3.0), 4)
    assert isinstance(event, PoissonBinomialL2Release)
    assert (event.honest, event.trials, event.theta, event.coordinates) == (4, 6, 1e-4, 10_000)
    assert event.l2 == pytest.approx(30 + 100 * 2**-33 / 1e-4, rel=1e-12)
    assert event.l2 > 30


def test_every_parameter_is_in_the_name() -> None:
    names = {PoissonBinomial(*parts).name for parts in itertools.product((1.0, 2.0), (0.1, 0.2), (4, 5), (0.1, 0.2))}
    assert len(names) == 16
