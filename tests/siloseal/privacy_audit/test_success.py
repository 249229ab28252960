"""The bounds on right guesses against the trade-off that defines them."""

import math

import numpy as np
import pytest
from scipy import integrate, stats

from siloseal.federation.privacy.events import (
    NoisyBitsRelease,
    PoissonBinomialRelease,
    SampledGaussianSteps,
)
from siloseal.privacy_audit.success import (
    bits_success,
    epsilon_of_success,
    gaussian_epsilon,
    largest_success,
    noise_of,
    step_success,
)


@pytest.mark.parametrize(("rate", "noise"), [(1.0, 0.5), (1.0, 3.0), (0.1, 0.7), (0.02, 1.5)])
def test_a_step_is_guessed_as_often_as_the_total_variation_of_its_mixture_allows(rate: float, noise: float) -> None:
    """The total variation is integrated from the densities, with and without the unit."""

    def difference(x: float) -> float:
        without, there = stats.norm.pdf(x, 0, noise), stats.norm.pdf(x, 1, noise)
        return abs(rate * (there - without))

    # The densities cross half of the way.
    variation = sum(integrate.quad(difference, low, high)[0] for low, high in ((-40, 0.5), (0.5, 41))) / 2
    assert step_success(rate, noise) == pytest.approx((1 + variation) / 2, abs=1e-9)
    assert largest_success(SampledGaussianSteps(rate, noise, 7)) == step_success(rate, noise)


def test_the_noise_behind_a_success_is_found_again() -> None:
    for rate, noise in ((1.0, 0.3), (0.25, 1.0)):
        assert noise_of(step_success(rate, noise), rate) == pytest.approx(noise, rel=1e-9)
    assert noise_of(0.5) == math.inf
    assert noise_of(0.9, 0.1) == 0.0  # more than a sample of a tenth can show


def test_a_release_of_any_other_kind_is_bounded_by_its_curve() -> None:
    """The curve of a release that nothing else is known of: below certainty, above a coin, and falling with noise."""
    strong, weak = (
        largest_success(PoissonBinomialRelease(honest=10, trials=4, theta=theta, coordinates=1))
        for theta in (0.25, 0.05)
    )
    assert 0.5 < weak < strong < 1


def test_noisy_bits_are_guessed_by_a_threshold_on_the_ones() -> None:
    """Of all 2^9 rules on the number of ones, by their definition."""
    cells, contrast = 3, 0.28
    seldom = (1 - contrast) / 2
    there, without = (stats.binom.pmf(np.arange(cells + 1), cells, chance) for chance in (0.5, seldom))
    assert bits_success(contrast, cells) == pytest.approx(np.maximum(there, without).sum() / 2, rel=1e-12)
    assert largest_success(NoisyBitsRelease(contrast, 1)) == pytest.approx(0.5 + contrast / 4)


def test_a_success_proves_the_epsilon_that_allows_it() -> None:
    epsilon, delta = 1.3, 1e-3
    success = (math.exp(epsilon) + delta) / (1 + math.exp(epsilon))
    assert epsilon_of_success(success, delta) == pytest.approx(epsilon)
    assert epsilon_of_success(0.4, delta) == 0
    assert epsilon_of_success(1.0, delta) == 0  # nobody can be so sure of a probability


@pytest.mark.parametrize("noise", [0.5, 1.0, 4.0])
def test_the_gaussians_epsilon_is_the_one_whose_delta_is_its_formulas(noise: float) -> None:
    epsilon = gaussian_epsilon(1 / noise, 1e-5)
    first, second = stats.norm.cdf([1 / (2 * noise) - epsilon * noise, -1 / (2 * noise) - epsilon * noise])
    assert first - math.exp(epsilon) * second == pytest.approx(1e-5, rel=1e-6)


def test_a_gaussian_that_delta_covers_alone_costs_nothing() -> None:
    assert gaussian_epsilon(1e-7, 1e-5) == 0
