"""Masks of two digits cancel, and what they leave when a silo is gone is what is taken off."""

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from siloseal.experiments.walkthroughs.toy_masks import left_by, masked

NAMES = ("north", "east", "south", "west")
digits = st.integers(0, 99)


@given(st.lists(digits, min_size=4, max_size=4), st.lists(digits, min_size=6, max_size=6))
def test_masks_cancel_in_the_sum_and_can_be_taken_off_where_one_is_gone(drawn: list[int], masks: list[int]) -> None:
    values = dict(zip(NAMES, drawn, strict=True))
    pairs = dict(zip(combinations(NAMES, 2), masks, strict=True))
    uploads = masked(values, pairs, {}, modulus=100)
    assert (sum(uploads.values()) - sum(values.values())) % 100 == 0
    for gone in NAMES:
        alive = [name for name in NAMES if name != gone]
        left = left_by(gone, alive, pairs, modulus=100)
        assert (sum(uploads[name] for name in alive) - left - sum(values[name] for name in alive)) % 100 == 0


def test_an_own_mask_is_added_besides() -> None:
    assert masked({"north": 12}, {}, {"north": 95}, modulus=100) == {"north": 7}
