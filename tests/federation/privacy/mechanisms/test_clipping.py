"""Clipping, and the two rules that move the norm: what they bound, and where they go."""

import inspect
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from siloseal.federation.errors import DomainError
from siloseal.federation.privacy.mechanisms.clipping import QuantileRule, WindowRule, clip

from .recorded import rows


@settings(max_examples=200, deadline=None)
@given(
    entries=st.lists(st.floats(-1e9, 1e9, allow_subnormal=False), min_size=1, max_size=30),
    norm=st.floats(1e-6, 1e6, allow_subnormal=False),
)
def test_no_clipped_vector_is_longer_than_the_norm(entries: list[float], norm: float) -> None:
    clipped = clip(np.array(entries), norm)
    assert math.fsum(float(entry) ** 2 for entry in clipped) <= norm**2


def test_a_short_vector_stays_as_it_is_and_a_long_one_keeps_its_direction() -> None:
    vector = np.random.default_rng(1).normal(size=1000)
    np.testing.assert_array_equal(clip(vector, 1000.0), vector)
    clipped = clip(vector, 1.0)
    assert np.linalg.norm(clipped) == pytest.approx(1.0, abs=2e-6)
    assert clipped @ vector == pytest.approx(np.linalg.norm(clipped) * np.linalg.norm(vector), rel=1e-12)


def test_a_zero_vector_is_clipped_to_zero() -> None:
    np.testing.assert_array_equal(clip(np.zeros(4), 1.0), np.zeros(4))


@pytest.mark.parametrize("entry", [math.nan, math.inf, -math.inf])
def test_a_vector_without_a_norm_is_refused(entry: float) -> None:
    with pytest.raises(DomainError):
        clip(np.array([1.0, entry]), 1.0)


@pytest.mark.parametrize("row", rows("adaptive_clip.z_delta"), ids=lambda row: str(row["inputs"]))
def test_the_split_of_the_norm_is_the_papers_split_of_the_noise(row: dict[str, dict[str, float]]) -> None:
    z, count_noise = row["inputs"]["z"], row["inputs"]["sigma_b"]
    rule = QuantileRule(0.5, 0.2, share=z**2 / (4 * count_noise**2))
    update_noise = z * rule.protected_norm(1.0)  # in units of the clip norm
    assert update_noise == pytest.approx(row["expected"], rel=row["tolerance"]["rel"])
    entry = float(rule.extend(np.zeros(3), 1.0)[-1])  # two of these apart are one count
    assert update_noise / (2 * entry) == pytest.approx(count_noise, rel=1e-12)


@pytest.mark.parametrize("length", [0.0, 0.3, 0.999_999_9, 1.0, 1.000_000_1, 50.0])
@pytest.mark.parametrize("share", [0.001, 0.01, 0.3])
def test_the_extended_vector_is_within_the_protected_norm(length: float, share: float) -> None:
    rule = QuantileRule(0.5, 0.2, share)
    vector = np.random.default_rng(2).normal(size=200)
    vector *= length * 1.7 / np.linalg.norm(vector)
    extended = rule.extend(vector, 1.7)
    assert extended.size == 201
    assert np.linalg.norm(extended) <= rule.protected_norm(1.7) * (1 + 1e-15)
    assert (extended[-1] > 0) == (np.linalg.norm(vector) <= 1.7)


@pytest.mark.parametrize("quantile", [0.2, 0.5, 0.9])
@pytest.mark.parametrize("start", [0.01, 100.0])
def test_the_norm_goes_to_the_quantile_of_the_norms(quantile: float, start: float) -> None:
    """From far below and far above, with noise on the count; seeded, so it cannot fail by chance."""
    drawn, silos = np.random.default_rng(3), 200
    rule, norm = QuantileRule(quantile, 0.2, share=0.01), start
    for _ in range(500):
        within = int(np.sum(np.exp(drawn.normal(size=silos)) <= norm))
        total = (2 * within - silos) * float(rule.extend(np.zeros(1), norm)[-1])
        total += drawn.normal() * rule.protected_norm(norm)  # a noise multiplier of one
        norm = rule.following(norm, total, silos)
    assert np.mean(np.exp(np.random.default_rng(4).normal(size=100_000)) <= norm) == pytest.approx(quantile, abs=0.05)


def test_at_the_quantile_the_norm_stays() -> None:
    rule = QuantileRule(0.75, 0.2, share=0.04)
    entry = float(rule.extend(np.zeros(1), 2.0)[-1])
    assert rule.following(2.0, 3 * entry - entry, 4) == pytest.approx(2.0, rel=1e-12)
    assert rule.following(2.0, 4 * entry, 4) == pytest.approx(2.0 * math.exp(-0.2 * 0.25), rel=1e-12)
    assert rule.following(2.0, -4 * entry, 4) == pytest.approx(2.0 * math.exp(0.2 * 0.75), rel=1e-12)


def test_rules_read_nothing_but_what_was_released() -> None:
    """Neither takes a silo's vector when it moves the norm: the total's last entry, or lengths of released averages."""
    assert list(inspect.signature(QuantileRule.following).parameters)[1:] == [
        "clip_norm",
        "total_entry",
        "contributors",
    ]
    assert list(inspect.signature(WindowRule.following).parameters)[1:] == ["clip_norm", "lengths"]
    assert list(inspect.signature(WindowRule.measured).parameters)[1:] == ["average", "deviation"]


def test_the_window_norm_is_the_median_length_of_the_last_averages() -> None:
    rule = WindowRule(window=3, factor=1.5)
    assert rule.following(2.0, [90.0, 90.0, 1.0, 2.0, 1.2]) == pytest.approx(1.5 * 1.2)
    assert rule.following(2.0, []) == 2.0


@pytest.mark.parametrize(
    ("lengths", "expected"), [([1000.0], 4.0), ([1e-9], 1.0), ([0.0, 0.0], 2.0), ([0.0, 1.1], 2.2)]
)
def test_the_window_norm_at_most_halves_or_doubles(lengths: list[float], expected: float) -> None:
    assert WindowRule(window=5, factor=2.0).following(2.0, lengths) == pytest.approx(expected)


def test_the_length_of_noise_is_taken_out() -> None:
    """Seeded; the error of the squared length is a few hundredths."""
    drawn = np.random.default_rng(5)
    average = np.full(10_000, 0.02)
    rule = WindowRule(window=1, factor=1.0)
    assert rule.measured(average + drawn.normal(scale=0.05, size=10_000), 0.05) == pytest.approx(2.0, rel=0.1)
    assert rule.measured(drawn.normal(scale=0.05, size=10_000), 0.06) == 0.0
    assert rule.measured(average, 0.0) == pytest.approx(2.0)
