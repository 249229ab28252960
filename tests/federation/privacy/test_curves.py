"""Every curve against recorded values, and against exact divergences wherever these can be computed."""

import itertools
import math
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import optimize, special, stats

from siloseal.federation.privacy.curves import (
    between_integers,
    binomial_epsilon,
    closeness,
    discrete_gaussian_curve,
    skellam_curve,
)
from siloseal.federation.privacy.poisson_binomial import divergences

from .mechanisms.recorded import Row, rows

Logs = NDArray[np.float64]
ORDERS = [1.1, 1.5, 2, 2.5, 3.7, 4, 8, 16, 64]


def log_discrete_gaussian(variance: float, reach: int) -> Logs:
    """Of -reach .. reach."""
    logs = -(np.arange(-reach, reach + 1.0) ** 2) / (2 * variance)
    return np.asarray(logs - special.logsumexp(logs))


def log_skellam(variance: float, reach: int) -> Logs:
    """Of -reach .. reach, by the ratios I_k / I_{k-1} = 1 / (2k / variance + I_{k+1} / I_k) from far out on."""
    ratios, ratio = np.zeros(reach), 0.0
    for k in range(reach + 200, 0, -1):
        ratio = 1 / (2 * k / variance + ratio)
        if k <= reach:
            ratios[k - 1] = math.log(ratio)
    upper = math.log(special.ive(0, variance)) + np.concatenate([[0.0], np.cumsum(ratios)])
    return np.concatenate([upper[:0:-1], upper])


def convolved(one: Logs, other: Logs) -> Logs:
    total = np.full(len(one) + len(other) - 1, -np.inf)
    for place, weight in enumerate(one):
        window = total[place : place + len(other)]
        np.logaddexp(window, weight + other, out=window)
    return total


def shifted_divergences(orders: Sequence[float], logs: Logs, shift: int) -> Logs:
    """Of noise on 0 from noise on `shift`. The noise is symmetric, so the other way round is the same."""
    return divergences(orders, logs[shift:], logs[:-shift])


class TestDiscreteGaussian:
    @pytest.mark.parametrize("row", rows("ddg.tau"), ids=lambda row: str(row["inputs"]))
    def test_closeness_equals_the_recorded_one(self, row: Row) -> None:
        tau = closeness(row["inputs"]["n"], row["inputs"]["sigma_over_gamma"] ** 2)
        assert tau == pytest.approx(row["expected"], rel=row["tolerance"]["rel"])

    @pytest.mark.parametrize("row", rows("ddg.exact_renyi_of_sum_shift1"), ids=lambda row: str(row["inputs"]))
    def test_the_recorded_exact_value_is_below_the_curve(self, row: Row) -> None:
        inputs, expected, rel = row["inputs"], row["expected"], row["tolerance"]["rel"]
        exact = exact_sum(inputs["local_sigma2"], inputs["n"], inputs["shift"], [inputs["alpha"]])[0]
        assert exact == pytest.approx(expected["exact"], rel=rel)
        bound = scalar_gaussian(inputs["local_sigma2"], inputs["n"], inputs["shift"], [inputs["alpha"]])[0]
        assert exact <= bound * (1 + 1e-12) <= expected["bound_term1"] * (1 + rel)

    @pytest.mark.parametrize(("variance", "silos"), list(itertools.product([0.5, 0.8, 1.3, 4.0], [1, 2, 3, 4])))
    def test_it_is_never_below_the_exact_divergence_of_a_sum(self, variance: float, silos: int) -> None:
        for shift in (1, 2, 5):
            exact = exact_sum(variance, silos, shift, ORDERS)
            bound = scalar_gaussian(variance, silos, shift, ORDERS)
            assert np.all(exact <= bound * (1 + 1e-9))

    @pytest.mark.parametrize("silos", [2, 3])
    def test_it_is_never_below_the_exact_divergence_in_three_coordinates(self, silos: int) -> None:
        """Coordinates are independent, so divergences add; the move is (2, 1, 1)."""
        exact = sum(exact_sum(0.5, silos, shift, ORDERS) for shift in (2, 1, 1))
        bound = discrete_gaussian_curve(
            ORDERS, honest=silos, local_variance=0.5, l2=math.sqrt(6), l1=4.0, coordinates=3
        )
        assert np.all(exact <= bound)

    def test_one_silo_or_much_noise_costs_what_a_gaussian_costs(self) -> None:
        for silos, variance in ((1, 0.7), (50, 400.0)):
            bound = scalar_gaussian(variance, silos, 3, ORDERS)
            np.testing.assert_allclose(bound, np.array(ORDERS) * 9 / (2 * silos * variance), rtol=1e-12)


def exact_sum(variance: float, silos: int, shift: int, orders: Sequence[float]) -> Logs:
    one = log_discrete_gaussian(variance, 400)
    total = one
    for _ in range(silos - 1):
        total = convolved(one, total)
    return shifted_divergences(orders, total, shift)


def scalar_gaussian(variance: float, silos: int, shift: int, orders: Sequence[float]) -> Logs:
    return discrete_gaussian_curve(orders, honest=silos, local_variance=variance, l2=shift, l1=shift, coordinates=1)


class TestSkellam:
    @pytest.mark.parametrize("row", rows("skellam.scalar_rdp"), ids=lambda row: str(row["inputs"]))
    def test_curve_and_exact_value_equal_the_recorded_ones(self, row: Row) -> None:
        variance, shift, alpha = (row["inputs"][name] for name in ("variance", "shift", "alpha"))
        rel = row["tolerance"]["rel"]
        exact = shifted_divergences([alpha], log_skellam(variance, 1500), shift)[0]
        assert exact == pytest.approx(row["expected"]["exact"], rel=rel)
        bound = skellam_curve([alpha], variance=variance, l2=shift, l1=shift)[0]
        assert bound == pytest.approx(row["expected"]["bound"], rel=rel)

    @pytest.mark.parametrize("variance", [0.05, 0.3, 1.0, 4.0, 25.0, 900.0])
    def test_it_is_never_below_the_exact_divergence(self, variance: float) -> None:
        """Fractional orders too, where the curve is a chord between integers."""
        logs = log_skellam(variance, 4000)
        for shift in (1, 2, 5, 20):
            exact = shifted_divergences(ORDERS, logs, shift)
            assert np.all(exact <= skellam_curve(ORDERS, variance=variance, l2=shift, l1=shift))

    def test_it_is_never_below_the_exact_divergence_in_many_coordinates(self) -> None:
        """A move of one in each of a hundred coordinates: the L1 norm is as large as the square of the L2 norm."""
        for variance in (1.0, 10.0, 100.0):
            exact = 100 * shifted_divergences(ORDERS, log_skellam(variance, 2000), 1)
            assert np.all(exact <= skellam_curve(ORDERS, variance=variance, l2=10.0, l1=100.0))

    def test_much_noise_costs_what_a_gaussian_costs(self) -> None:
        curve = skellam_curve([2, 8, 32], variance=1e8, l2=1000.0, l1=1000.0 * 32)
        np.testing.assert_allclose(curve, np.array([2, 8, 32]) * 1e6 / 2e8, rtol=1e-3)


class TestBetweenIntegers:
    def test_integers_keep_their_values(self) -> None:
        curve = between_integers([2, 3, 10], lambda alpha: alpha * 0.25)
        np.testing.assert_allclose(curve, [0.5, 0.75, 2.5], rtol=1e-15)

    def test_between_them_it_is_above_the_exact_curve(self) -> None:
        """Of a Gaussian, whose curve is known at all orders; below two it is the value at two."""
        orders = np.array([1.001, 1.3, 1.99, 2.5, 3.01, 7.7])
        curve = between_integers(list(orders), lambda alpha: alpha * 0.25)
        assert np.all(curve >= orders * 0.25)
        np.testing.assert_allclose(curve[:3], 0.5)
        assert np.all(curve[3:] <= np.ceil(orders[3:]) * 0.25)


class TestBinomial:
    @pytest.mark.parametrize("row", rows("binomial.cpsgd_theorem1_epsilon"), ids=lambda row: str(row["inputs"]))
    def test_epsilon_equals_the_recorded_one(self, row: Row) -> None:
        """Sensitivities in steps of the quantisation."""
        inputs, step = row["inputs"], row["inputs"]["s"]
        l2, l1, linf = (inputs[norm] / step for norm in ("l2", "l1", "linf"))
        epsilon = binomial_epsilon(
            trials=inputs["N"],
            l2=l2,
            l1=l1,
            linf=linf,
            coordinates=inputs["dim"],
            delta=inputs["delta"],
        )
        assert epsilon == pytest.approx(row["expected"], rel=row["tolerance"]["rel"])

    @pytest.mark.parametrize("row", rows("binomial.constants_p_half"))
    def test_its_constants_equal_the_recorded_ones(self, row: Row) -> None:
        """Epsilon is linear in each sensitivity, so each constant can be read off it."""
        trials, delta, rel = 10_000, 1e-5, row["tolerance"]["rel"]
        l2, l1, linf = (
            binomial_epsilon(trials=trials, coordinates=7, delta=delta, l2=a, l1=b, linf=c) * trials / 4
            for a, b, c in ((1, 0, 0), (0, 1, 0), (0, 0, 1))
        )
        gaussian, log = math.sqrt(2 * math.log(1.25 / delta) * trials / 4), math.log(10 / delta)
        assert l1 * (1 - delta / 10) == pytest.approx(row["expected"]["b_p"], rel=rel)
        assert (l2 - gaussian) * (1 - delta / 10) / math.sqrt(log) == pytest.approx(row["expected"]["c_p"], rel=1e-10)
        tail = linf - 2 / 3 * math.log(1.25 / delta)
        assert tail / (math.log(20 * 7 / delta) * log) == pytest.approx(row["expected"]["d_p"], rel=rel)

    @pytest.mark.parametrize("trials", [1_000_000, 441_000, 248_000, 110_000])
    def test_it_holds_for_large_epsilons_too(self, trials: int) -> None:
        """From about 12 on the classical bound of the Gaussian, the theorem's first term, is too small."""
        theorem = binomial_epsilon(trials=trials, l2=1000, l1=1000, linf=1000, coordinates=1, delta=5e-6)
        assert exact_binomial_epsilon(trials, 1000, 5e-6) <= theorem

    @pytest.mark.parametrize("row", rows("binomial.exact_scalar_epsilon"), ids=lambda row: str(row["inputs"]))
    def test_the_recorded_exact_value_is_below_the_theorem(self, row: Row) -> None:
        trials, shift, delta = (row["inputs"][name] for name in ("N", "integer_shift", "delta"))
        exact = exact_binomial_epsilon(trials, shift, delta)
        assert exact == pytest.approx(row["expected"], rel=row["tolerance"]["rel"])
        assert exact <= theorem(trials, shift, delta)

    @pytest.mark.parametrize(("shift", "delta"), list(itertools.product([1, 5, 40], [1e-3, 1e-5, 1e-8])))
    def test_it_is_never_below_the_exact_epsilon(self, shift: int, delta: float) -> None:
        """From the least noise that the theorem allows on."""
        least = 4 * max(23 * math.log(10 / delta), 2 * shift)
        for times in (1, 3, 50):
            trials = 2 * math.ceil(times * least / 2)
            assert exact_binomial_epsilon(trials, shift, delta) <= theorem(trials, shift, delta)


def theorem(trials: int, shift: int, delta: float) -> float:
    return binomial_epsilon(trials=trials, l2=shift, l1=shift, linf=shift, coordinates=1, delta=delta)


def exact_binomial_epsilon(trials: int, shift: int, delta: float) -> float:
    """The epsilon at which the hockey-stick divergence of two binomials, a shift apart, is delta."""
    chances = stats.binom.pmf(np.arange(trials + 1), trials, 0.5)
    one, other = np.pad(chances, (0, shift)), np.pad(chances, (shift, 0))

    def excess(epsilon: float) -> float:
        return float(np.maximum(one - math.exp(epsilon) * other, 0).sum()) - delta

    return float(optimize.brentq(excess, 0, 50, xtol=1e-14))
