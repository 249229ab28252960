"""From epsilon and bits to coins: within epsilon, with no more noise than it takes, or refused with advice."""

import math
from dataclasses import replace

import pytest
from scipy import integrate, stats

from siloseal.federation.errors import ConfigError
from siloseal.federation.privacy.accounting import epsilon_of
from siloseal.federation.privacy.events import PoissonBinomialL2Release, PoissonBinomialRelease
from siloseal.federation.privacy.mechanisms import pbm_calibration
from siloseal.federation.privacy.mechanisms.calibration import Demand, renyi_gaussian_multiplier
from siloseal.federation.privacy.mechanisms.pbm_calibration import (
    ENOUGH_THETA,
    calibrated_pbm,
    calibrated_pbm_kashin,
)
from siloseal.federation.sums.session import RealDomain

VECTORS = [
    Demand(3.0, 1e-5, 1, 100, 80, 1000),
    Demand(2.0, 1e-5, 20, 5, 3, 10_000),
    Demand(0.3, 1e-6, 2, 12, 12, 300),
]


@pytest.mark.parametrize("demand", VECTORS, ids=str)
def test_coins_stay_within_epsilon_and_use_it(demand: Demand) -> None:
    mechanism, outer = calibrated_pbm(demand, bits=9, clip_norm=2.0), RealDomain(demand.length, 1.0)
    events = [mechanism.event(outer, demand.honest)] * demand.releases
    assert mechanism.clip_norm == 2.0
    assert mechanism.trials == (2**9 - 1) // demand.silos
    assert mechanism.domain(outer, demand.silos).modulus <= 2**9
    assert 0.998 * demand.epsilon < epsilon_of(events, demand.delta) <= demand.epsilon


@pytest.mark.parametrize(("bits", "most"), [(10, 1.06), (12, 1.035)])
def test_the_error_is_nearly_that_of_a_gaussian_and_falls_with_the_bits(bits: int, most: float) -> None:
    demand = Demand(3.0, 1e-5, 1, 100, 100, 1024)
    mechanism = calibrated_pbm(demand, bits=bits, clip_norm=1.0)
    ratio = (mechanism.deviation(RealDomain(1024, 1.0), 100) / renyi_gaussian_multiplier(demand)) ** 2
    assert 1 < ratio < most


def test_without_bits_it_takes_as_many_as_are_worth_it() -> None:
    demand = Demand(3.0, 1e-5, 1, 100, 100, 1024)
    chosen, finer = (calibrated_pbm(demand, bits=bits, clip_norm=1.0) for bits in (None, 12))
    outer = RealDomain(1024, 1.0)
    assert chosen.domain(outer, 100).modulus < finer.domain(outer, 100).modulus
    assert finer.theta < chosen.theta < ENOUGH_THETA
    assert chosen.deviation(outer, 100) < 1.015 * finer.deviation(outer, 100)


def test_silos_that_send_one_vector_lose_a_hundredth_of_the_squared_error_to_the_cut() -> None:
    """Of normal entries: the integral of what is cut off, squared, over all silos together."""
    demand = Demand(3.0, 1e-5, 1, 300, 300, 1000)
    mechanism = calibrated_pbm(demand, bits=9, clip_norm=1.0)
    level = mechanism.bound * math.sqrt(1000)
    cut, _ = integrate.quad(lambda g: 2 * (g - level) ** 2 * stats.norm.pdf(g), level, 20)
    assert 300**2 * cut / 1000 == pytest.approx(0.01 * renyi_gaussian_multiplier(demand) ** 2, rel=1e-5)


def test_entries_of_short_vectors_are_not_cut() -> None:
    assert calibrated_pbm(Demand(1.0, 1e-5, 1, 10, 9, 3), bits=6, clip_norm=5.0).bound == 5.0


def test_theta_ends_at_a_quarter() -> None:
    demand = Demand(50.0, 1e-5, 1, 100, 80, 100)
    mechanism = calibrated_pbm(demand, bits=8, clip_norm=1.0)
    assert (mechanism.trials, mechanism.theta) == (2, 0.25)


@pytest.mark.parametrize("calibrated", [calibrated_pbm, calibrated_pbm_kashin])
def test_coins_that_no_theta_saves_are_refused(calibrated) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ConfigError, match=r"epsilon 0\.0001 "):
        calibrated(Demand(1e-4, 1e-9, 10_000, 2, 1, 5000), bits=4, clip_norm=1.0)


def test_coins_whose_gaussian_has_no_noise_that_is_enough_are_refused_by_their_own_name() -> None:
    with pytest.raises(ConfigError, match=r"pbm .* epsilon 0\.001 "):
        calibrated_pbm(Demand(1e-3, 1e-5, 1, 4, 4, 16), bits=4, clip_norm=1.0)


@pytest.mark.parametrize("calibrated", [calibrated_pbm, calibrated_pbm_kashin])
@pytest.mark.parametrize(("epsilon", "delta", "length"), [(0.01, 0.05, 100), (0.05, 0.05, 10), (0.1, 0.09, 1)])
def test_a_delta_that_covers_small_thetas_altogether_leaves_no_epsilon_unused(  # type: ignore[no-untyped-def]
    calibrated, epsilon: float, delta: float, length: int
) -> None:
    demand = Demand(epsilon, delta, 1, 10, 10, length)
    mechanism, outer = calibrated(demand, bits=6, clip_norm=1.0), RealDomain(length, 1.0)
    assert 0.998 * epsilon < epsilon_of([mechanism.event(outer, 10)], delta) <= epsilon
    assert epsilon_of([replace(mechanism, theta=mechanism.theta / 2).event(outer, 10)], delta) == 0


@pytest.mark.parametrize("calibrated", [calibrated_pbm, calibrated_pbm_kashin])
@pytest.mark.parametrize("curve", [lambda theta: 0.01 + theta**0.1, lambda theta: float(theta > 0.0123), math.tan])
def test_the_search_ends_within_epsilon_however_epsilon_grows(  # type: ignore[no-untyped-def]
    calibrated, curve, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = []

    def cost(events: list[PoissonBinomialL2Release | PoissonBinomialRelease], delta: float) -> float:
        counted.append(events[0].theta)
        return float(curve(events[0].theta))

    monkeypatch.setattr(pbm_calibration, "epsilon_of", cost)
    demand = Demand(0.5, 1e-5 + curve(0.1) * 1e-7, 1, 4, 3, 10)  # another delta for each: calibrations are cached
    theta = calibrated(demand, bits=4, clip_norm=1.0).theta
    assert curve(theta) <= 0.5
    assert curve(theta * 1.01) > 0.5 or theta == 0.25
    assert len(counted) < 60


@pytest.mark.parametrize("calibrated", [calibrated_pbm, calibrated_pbm_kashin])
def test_it_says_how_many_bits_the_coins_take(calibrated) -> None:  # type: ignore[no-untyped-def]
    demand = Demand(1.0, 1e-5, 1, 100, 80, 1)
    with pytest.raises(ConfigError, match=r" 6 bits .* 7 bits"):
        calibrated(demand, bits=6, clip_norm=1.0)
    assert calibrated(demand, bits=7, clip_norm=1.0).trials == 1


SCALARS = [Demand(3.0, 1e-5, 1, 100, 80, 1), Demand(2.0, 1e-5, 20, 5, 3, 50), Demand(0.3, 1e-6, 2, 12, 12, 8)]


@pytest.mark.parametrize("demand", SCALARS, ids=str)
def test_coins_over_a_frame_stay_within_epsilon_and_use_it(demand: Demand) -> None:
    mechanism = calibrated_pbm_kashin(demand, bits=16, clip_norm=2.0)
    outer = RealDomain(demand.length, 1.0)
    assert mechanism.clip_norm == 2.0
    assert epsilon_of([mechanism.event(outer, demand.honest)] * demand.releases, demand.delta) <= demand.epsilon
    assert mechanism.domain(outer, demand.silos).modulus <= 2**16
    less = replace(mechanism, theta=1.001 * mechanism.theta)
    assert epsilon_of([less.event(outer, demand.honest)] * demand.releases, demand.delta) > demand.epsilon


def test_coins_over_a_frame_with_few_bits_are_more_private_than_asked() -> None:
    demand = Demand(50.0, 1e-5, 1, 100, 80, 1)
    mechanism = calibrated_pbm_kashin(demand, bits=8, clip_norm=1.0)
    assert (mechanism.trials, mechanism.theta) == (2, 0.25)
