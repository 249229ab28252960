"""The bounds against known values."""

import math

import numpy as np
import pytest
from scipy import stats

from siloseal.experiments.attacks.confidence import Guesses, best_threshold, gaussian_epsilon, guess, upper_rate


@pytest.mark.parametrize(("events", "trials"), [(0, 10), (3, 50), (249, 250), (10, 10)])
def test_the_rate_is_clopper_and_pearsons_as_scipy_has_it(events: int, trials: int) -> None:
    interval = stats.binomtest(events, trials, alternative="less").proportion_ci(0.975, method="exact")
    assert upper_rate(events, trials, 0.975) == pytest.approx(interval.high, rel=1e-9)


def test_no_event_in_n_trials_bounds_the_rate_by_a_formula() -> None:
    assert upper_rate(0, 200, 0.975) == pytest.approx(1 - 0.025 ** (1 / 200), rel=1e-9)


def test_the_rate_is_exceeded_as_seldom_as_it_says() -> None:
    """Exactly, by the binomial distribution: a rate at the bound gives so few events with probability 2.5 % at most."""
    assert stats.binom.cdf(7, 100, upper_rate(7, 100, 0.975)) == pytest.approx(0.025, rel=1e-6)


def test_perfect_guesses_prove_the_logarithm_of_the_trials() -> None:
    bound = Guesses(hits=250, trials_with=250, false_alarms=0, trials_without=250).epsilon(1e-5, 0.95)
    assert bound == pytest.approx(math.log(250 / 3.7), abs=0.05)


def test_guesses_like_a_coins_prove_nothing() -> None:
    coin = Guesses(hits=130, trials_with=250, false_alarms=120, trials_without=250)
    assert coin.epsilon(1e-5, 0.95) == 0
    assert coin.gaussian_epsilon(1e-5, 0.95) == 0


def test_either_error_being_rare_is_enough() -> None:
    never_wrongly_there = Guesses(hits=100, trials_with=250, false_alarms=0, trials_without=250)
    never_wrongly_gone = Guesses(hits=250, trials_with=250, false_alarms=150, trials_without=250)
    assert never_wrongly_there.epsilon(1e-5, 0.95) == pytest.approx(never_wrongly_gone.epsilon(1e-5, 0.95))
    assert never_wrongly_there.epsilon(1e-5, 0.95) > 2


@pytest.mark.parametrize("noise", [0.5, 1.0, 4.0])
def test_the_gaussians_epsilon_is_the_one_whose_delta_is_its_formulas(noise: float) -> None:
    epsilon = gaussian_epsilon(1 / noise, 1e-5)
    first, second = stats.norm.cdf([1 / (2 * noise) - epsilon * noise, -1 / (2 * noise) - epsilon * noise])
    assert first - math.exp(epsilon) * second == pytest.approx(1e-5, rel=1e-6)


def test_the_best_threshold_parts_scores_that_can_be_parted() -> None:
    with_it, without = np.array([3.0, 4.0, 5.0, 6.0]), np.array([0.0, 1.0, 2.0, 2.5])
    threshold = best_threshold(with_it, without, lambda guesses: guesses.epsilon(0.0, 0.5))
    assert guess(with_it, without, threshold) == Guesses(hits=4, trials_with=4, false_alarms=0, trials_without=4)


def test_scores_that_are_all_alike_still_have_a_threshold() -> None:
    alike = np.zeros(5)
    assert best_threshold(alike, alike, lambda guesses: guesses.epsilon(0.0, 0.5)) == 0
