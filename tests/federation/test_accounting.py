"""Epsilon against recorded values, against Opacus, and what is refused."""

import json
import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from federation.accounting import epsilon_of, epsilon_text, smallest_noise
from federation.errors import ConfigError, UncountableEvent
from federation.events import GaussianRelease, SampledGaussianSteps

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "accounting.json").read_text())


def rows(name: str) -> list[dict[str, Any]]:
    return [row for row in VECTORS if row["name"] == name]


def sampled(inputs: dict[str, Any]) -> SampledGaussianSteps:
    return SampledGaussianSteps(float(Fraction(inputs["q"])), inputs["sigma"], inputs["steps"])


@pytest.mark.parametrize("row", rows("gaussian_poisson_sampled.epsilon"), ids=lambda row: str(row["inputs"]))
def test_epsilon_equals_the_recorded_value(row: dict[str, Any]) -> None:
    epsilon = epsilon_of([sampled(row["inputs"])], row["inputs"]["delta"])
    assert epsilon == pytest.approx(row["expected"]["rdp"], rel=2e-4)


@pytest.mark.parametrize(
    ("rate", "noise", "steps"), [(0.01, 1.1, 10_000), (256 / 60_000, 1.0, 14_063), (250 / 60_000, 1.3, 3600)]
)
def test_epsilon_equals_what_opacus_counts(rate: float, noise: float, steps: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from opacus.accountants import RDPAccountant

        accountant = RDPAccountant()
        accountant.history = [(noise, rate, steps)]
        theirs = accountant.get_epsilon(1e-5)
    assert epsilon_of([SampledGaussianSteps(rate, noise, steps)], 1e-5) == pytest.approx(theirs, rel=2e-4)


def test_one_release_costs_at_least_the_exact_gaussian_epsilon() -> None:
    """Renyi accounting is an upper bound, and not a slack one."""
    for row in rows("gaussian.analytic_epsilon"):
        noise, exact = row["inputs"]["sigma_over_sensitivity"], row["expected"]
        if noise >= 1:
            assert exact <= epsilon_of([GaussianRelease(noise)], row["inputs"]["delta"]) <= 1.12 * exact


def test_events_of_two_kinds_cost_more_than_each_and_less_than_their_sum() -> None:
    release, steps = GaussianRelease(2.0), SampledGaussianSteps(0.01, 1.1, 1000)
    alone = [epsilon_of([event], 1e-5) for event in (release, steps)]
    both = epsilon_of([release, steps], 1e-5)
    assert max(alone) < both < sum(alone)


def test_chunks_cost_what_the_whole_costs() -> None:
    whole = epsilon_of([SampledGaussianSteps(0.05, 2.0, 1000)], 1e-5)
    assert epsilon_of([SampledGaussianSteps(0.05, 2.0, 100)] * 10, 1e-5) == pytest.approx(whole, rel=1e-9)


@pytest.mark.parametrize("row", rows("gaussian.calibrated_noise_multiplier"), ids=lambda row: str(row["inputs"]))
def test_the_smallest_noise_is_the_recorded_one_rounded_up(row: dict[str, Any]) -> None:
    inputs = row["inputs"]
    events_at = lambda noise: [SampledGaussianSteps(inputs["q"], noise, inputs["steps"])]  # noqa: E731
    noise = smallest_noise(events_at, epsilon=inputs["epsilon"], delta=inputs["delta"])
    assert row["expected"]["rdp"] * (1 - 1e-4) <= noise <= 1.002 * row["expected"]["rdp"]
    assert epsilon_of(events_at(noise), inputs["delta"]) <= inputs["epsilon"]


def test_an_epsilon_that_no_noise_reaches_is_a_config_error() -> None:
    with pytest.raises(ConfigError, match="raise epsilon"):
        smallest_noise(lambda z: [GaussianRelease(0.5), GaussianRelease(z)], epsilon=1.0, delta=1e-5)


@pytest.mark.parametrize(
    "event",
    [
        lambda: GaussianRelease(0.0),
        lambda: SampledGaussianSteps(0.1, 0.0, 5),
        lambda: GaussianRelease(-1.0),
        lambda: GaussianRelease(float("nan")),
        lambda: GaussianRelease(float("inf")),
        lambda: SampledGaussianSteps(0.1, 1.0, 2.5),  # type: ignore[arg-type]
    ],
)
def test_an_event_without_noise_cannot_be_counted(event) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(UncountableEvent):
        event()


@pytest.mark.parametrize(("rate", "steps"), [(0.0, 5), (1.1, 5), (0.1, 0), (0.1, -3)])
def test_steps_that_are_no_steps_cannot_be_counted(rate: float, steps: int) -> None:
    with pytest.raises(UncountableEvent):
        SampledGaussianSteps(rate, 1.0, steps)


def test_nothing_costs_nothing() -> None:
    assert epsilon_of([], 1e-5) == 0


@pytest.mark.parametrize(
    ("epsilon", "text"),
    [(9.99972, "10.00"), (1.0213, "1.03"), (10.0, "10.00"), (0.0039995, "0.0040"), (0.0123, "0.013"), (0.0, "0.00")],
)
def test_epsilon_is_never_shown_smaller_than_it_is(epsilon: float, text: str) -> None:
    assert epsilon_text(epsilon) == text
    assert float(text) >= epsilon
