"""The least noise against recorded values, by each way to count."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from siloseal.federation.errors import ConfigError
from siloseal.federation.privacy import least_noise
from siloseal.federation.privacy.accounting import epsilon_of, quick_epsilon_of, renyi_epsilon_of
from siloseal.federation.privacy.events import Event, GaussianRelease, SampledGaussianSteps, SkellamRelease
from siloseal.federation.privacy.least_noise import smallest_noise, smallest_noise_by_renyi

VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "accounting.json").read_text())
ROWS = [row for row in VECTORS if row["name"] == "gaussian.calibrated_noise_multiplier"]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: str(row["inputs"]))
def test_the_smallest_noise_is_the_recorded_one_rounded_up(row: dict[str, Any]) -> None:
    rate, steps, epsilon, delta = (row["inputs"][name] for name in ("q", "steps", "epsilon", "delta"))

    def events_at(noise: float) -> list[Event]:
        return [SampledGaussianSteps(rate, noise, steps)]

    noise = smallest_noise(events_at, epsilon=epsilon, delta=delta)
    assert row["expected"]["pld"] * (1 - 1e-4) <= noise <= 1.0015 * row["expected"]["pld"]
    assert epsilon_of(events_at(noise), delta) <= epsilon
    noise = smallest_noise_by_renyi(events_at, epsilon=epsilon, delta=delta)
    assert row["expected"]["rdp"] * (1 - 1e-4) <= noise <= 1.002 * row["expected"]["rdp"]
    assert renyi_epsilon_of(events_at(noise), delta) <= epsilon


SETTINGS: list[tuple[float, float, list[Event], float, int]] = [
    (10.0, 1e-5, [], 0.5, 60),
    (0.05, 1e-7, [], 0.02, 500),
    (50.0, 1e-5, [], 0.02, 1000),
    (10.0, 1e-5, [GaussianRelease(0.9)], 0.1, 300),
    (3.0, 1e-5, [GaussianRelease(2.0)], 1.0, 300),
    (3.0, 1e-5, [SkellamRelease(900.0, 10.0, 60.0)], 0.1, 300),
]


@pytest.mark.parametrize(("epsilon", "delta", "others", "rate", "steps"), SETTINGS, ids=str)
def test_the_noise_is_enough_and_a_little_less_is_not_and_few_counts_find_it(
    epsilon: float, delta: float, others: list[Event], rate: float, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = set[float]()

    def events_at(noise: float) -> list[Event]:
        return [*others, SampledGaussianSteps(rate, noise, steps)]

    def noted(events: list[Event], delta: float) -> float:
        asked.add(events[-1].noise_multiplier)  # type: ignore[union-attr]
        return quick_epsilon_of(events, delta)

    monkeypatch.setattr(least_noise, "quick_epsilon_of", noted)
    noise = smallest_noise(events_at, epsilon=epsilon, delta=delta)
    assert epsilon_of(events_at(noise), delta) <= epsilon < epsilon_of(events_at(0.998 * noise), delta)
    assert len(asked) <= 5


def test_a_budget_that_only_a_tighter_count_of_the_other_releases_leaves_room_in_is_used() -> None:
    """By Renyi accounting the release alone costs more than epsilon."""
    release = GaussianRelease(1.1)
    epsilon = 1.02 * epsilon_of([release], 1e-5)
    assert renyi_epsilon_of([release], 1e-5) > epsilon
    noise = smallest_noise(lambda z: [release, SampledGaussianSteps(0.01, z, 10)], epsilon=epsilon, delta=1e-5)
    assert epsilon_of([release, SampledGaussianSteps(0.01, noise, 10)], 1e-5) <= epsilon


def test_an_epsilon_below_what_renyi_orders_can_tell_is_reached() -> None:
    with pytest.raises(ConfigError):
        smallest_noise_by_renyi(lambda z: [SampledGaussianSteps(0.05, z, 10)], epsilon=1e-3, delta=1e-9)
    noise = smallest_noise(lambda z: [SampledGaussianSteps(0.05, z, 10)], epsilon=1e-3, delta=1e-9)
    assert 0.9e-3 < epsilon_of([SampledGaussianSteps(0.05, noise, 10)], 1e-9) <= 1e-3


def test_noise_that_was_thought_to_be_enough_and_is_not_is_never_returned() -> None:
    def events_at(noise: float) -> list[Event]:
        return [SampledGaussianSteps(0.05, noise, 100)]

    right = smallest_noise(events_at, epsilon=2.0, delta=1e-5)
    for thought in (0.5 * right, 0.99 * right):
        noise = smallest_noise(events_at, epsilon=2.0, delta=1e-5, enough=thought)
        assert epsilon_of(events_at(noise), 1e-5) <= 2.0
        assert noise == pytest.approx(right, rel=1e-3)


def test_noise_has_a_floor() -> None:
    noise = smallest_noise(lambda z: [SampledGaussianSteps(1e-6, z, 1)], epsilon=900.0, delta=1e-5)
    assert 0 < noise < 0.05
    assert math.isfinite(epsilon_of([SampledGaussianSteps(1e-6, noise, 1)], 1e-5))


def test_an_epsilon_that_no_noise_reaches_is_a_config_error() -> None:
    with pytest.raises(ConfigError, match="epsilon 1 at delta 1e-5"):
        smallest_noise(lambda z: [GaussianRelease(0.5), GaussianRelease(z)], epsilon=1.0, delta=1e-5)
