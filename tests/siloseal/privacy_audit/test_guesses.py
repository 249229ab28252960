"""The test of guesses: exact tails, corrected for every look."""

import numpy as np
import pytest
from scipy import stats

from siloseal.privacy_audit.guesses import ALPHA, Count, Guesses, chance_of_finding, coin, looks_until


def made(right: int, wrong: int, *, looks: tuple[int, ...] | None = None) -> Guesses:
    guesses = Guesses({"one": 0.6}, looks or (right + wrong,))
    for is_right in [True] * right + [False] * wrong:
        guesses.add(True, {"one": is_right})
        if guesses.found:
            break
    guesses.finish()
    return guesses


def test_the_looks_begin_early_and_end_with_the_last_guess() -> None:
    assert looks_until(20_000) == (500, 2000, 8000, 20_000)
    assert looks_until(999) == (999,)


def test_the_p_value_is_the_binomial_tail() -> None:
    assert made(70, 30).p_value == pytest.approx(stats.binomtest(70, 100, 0.6, alternative="greater").pvalue)


def test_every_look_and_every_attacker_is_paid_for() -> None:
    guesses = Guesses({"one": 0.5, "other": 0.5}, (10, 40))
    for _ in range(10):
        guesses.add(True, {"one": True, "other": False})
    assert guesses.tests == 4
    assert guesses.p_value == pytest.approx(4 * 2.0**-10)
    assert guesses.best.attacker == "one"


def test_a_gross_fault_ends_the_audit_at_the_first_look() -> None:
    guesses = made(3000, 0, looks=(500, 3000))
    assert guesses.steps == 500
    assert guesses.p_value < ALPHA
    guesses.add(True, {"one": True})  # the rest of a chunk
    guesses.finish()
    assert [count.guesses for count in guesses.counts] == [500]


def test_an_audit_that_runs_out_of_time_is_looked_at_where_it_ended() -> None:
    guesses = made(40, 20, looks=(500,))
    assert [count.guesses for count in guesses.counts] == [60]


def test_the_least_success_is_clopper_and_pearsons_as_scipy_has_it() -> None:
    interval = stats.binomtest(70, 100, alternative="greater").proportion_ci(0.95, method="exact")
    assert Count("one", 100, 70, 0.5).least_success(0.95) == pytest.approx(interval.low, rel=1e-9)
    assert Count("one", 100, 0, 0.5).least_success(0.95) == 0
    assert made(70, 30).least_success() == pytest.approx(interval.low, rel=1e-9)


def test_as_many_right_guesses_as_are_needed_mean_broken_and_one_less_does_not() -> None:
    guesses = Guesses({"one": 0.6, "other": 0.6}, (500, 1000))
    needed = guesses.needed(1000)
    assert 4 * Count("one", 1000, needed, 0.6).p_value < ALPHA <= 4 * Count("one", 1000, needed - 1, 0.6).p_value
    assert chance_of_finding(needed, 1000, 0.6) < ALPHA
    assert chance_of_finding(needed, 1000, 0.9) > 0.999


def test_each_attacker_is_held_to_its_own_bound() -> None:
    guesses = Guesses({"rule": 0.6, "any": 0.9}, (50,))
    for _ in range(50):
        guesses.add(True, {"rule": True, "any": True})
    assert [count.p_value for count in guesses.counts] == pytest.approx([0.6**50, 0.9**50])
    assert guesses.best.attacker == "rule"


def test_the_coin_is_fair() -> None:
    """4,000 tosses stay within 5 deviations but in one of two million runs."""
    assert abs(np.mean([coin() for _ in range(4000)]) - 0.5) < 5 * 0.5 / np.sqrt(4000)
