"""Sizes and times as people write them, the same in the terminal and in every report."""

import math
from collections.abc import Callable

import pytest

from siloseal.federation.privacy.epsilon import MEANINGLESS_EPSILON
from siloseal.report import wording

WRITERS = [wording.plain, wording.duration, wording.size, wording.epsilon, wording.delta, wording.share]


@pytest.mark.parametrize(
    ("count", "written"),
    [(0, "0 bytes"), (999, "999 bytes"), (1500, "1.5 kB"), (24_012_345, "24 MB"), (123_456, "123 kB"), (2e9, "2 GB")],
)
def test_a_size_has_three_digits(count: float, written: str) -> None:
    assert wording.size(count) == written


@pytest.mark.parametrize(
    ("seconds", "written"),
    [(0, "0 s"), (0.00412, "4.12 ms"), (0.5, "500 ms"), (0.9999, "1 s"), (1.234, "1.23 s"), (26.9, "26.9 s"),
     (59.99, "1 min 00 s"), (187.4, "3 min 07 s"), (3725, "1 h 02 min")],
)  # fmt: skip
def test_a_time_has_the_unit_that_suits_it(seconds: float, written: str) -> None:
    assert wording.duration(seconds) == written


@pytest.mark.parametrize(
    ("value", "written"), [(0.02, "0.02"), (5, "5"), (20_000, "20,000"), (1e-5, "1e-5"), (2.1e7, "2.1e7"), (0, "0")]
)
def test_a_number_has_a_power_of_ten_only_where_it_is_very_large_or_small(value: float, written: str) -> None:
    assert wording.plain(value) == written


@pytest.mark.parametrize(
    ("words", "written"), [([], ""), (["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c")]
)
def test_a_list_ends_with_and(words: list[str], written: str) -> None:
    assert wording.listed(words) == written


@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize("value", [5e-324, 1e308, math.inf, -math.inf, math.nan])
def test_every_number_can_be_written(write: Callable[[float], str], value: float) -> None:
    """Some come from other parties, which may send anything."""
    assert write(value)
    assert wording.guarantee(value, value)


def test_all_words_agree_on_what_epsilon_is_a_guarantee_and_how_delta_is_written() -> None:
    assert wording.epsilon(MEANINGLESS_EPSILON) in wording.guarantee(MEANINGLESS_EPSILON, 3e-4)
    assert wording.guarantee(MEANINGLESS_EPSILON, 3e-4).endswith(wording.delta(3e-4))
    for words in (wording.epsilon(20.5), wording.guarantee(20.5, 3e-4)):
        assert "no meaningful guarantee" in words
