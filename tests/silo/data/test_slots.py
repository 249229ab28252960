"""Slots: as many as the counts allow, hardly moved by one count; and images that find theirs by themselves."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from siloseal.silo.data.slots import digest_of, slot_joined, slots_of


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 30), min_size=3, max_size=9), st.integers(2, 3), st.integers(2, 5), st.integers(0, 99))
def test_no_class_is_twice_in_a_slot_and_no_further_slot_could_be_formed(
    counts: list[int], ways: int, images: int, seed: int
) -> None:
    if sum(count >= images for count in counts) < ways:
        return
    slots = slots_of(dict(enumerate(counts)), ways=ways, images=images, seed=seed)
    assert all(len(set(slot)) == len(slot) == ways for slot in slots)
    used = np.bincount([label for slot in slots for label in slot], minlength=len(counts))
    left = np.array(counts) // images - used
    assert (left >= 0).all()
    assert (left > 0).sum() < ways


class TestACountThatFallsByOne:
    COUNTS = dict.fromkeys(range(16), 600)

    def slots(self, **fallen: int) -> list[set[int]]:
        counts = {**self.COUNTS, **{int(label): count for label, count in fallen.items()}}
        return [set(slot) for slot in slots_of(counts, ways=5, images=6, seed=3)]

    def test_changes_nothing_while_the_quotient_stays(self) -> None:
        high = slots_of({**self.COUNTS, 3: 605}, ways=5, images=6, seed=3)
        assert high == slots_of({**self.COUNTS, 3: 600}, ways=5, images=6, seed=3)

    def test_changes_few_slots_where_the_quotient_falls_too(self) -> None:
        """About 5 of 320 on average. Dealing from the classes with most images left changes 190."""
        before = self.slots()
        for label in range(16):
            after = self.slots(**{str(label): 599})
            assert len(after) in (len(before), len(before) - 1)
            assert sum(one != other for one, other in zip(before, after, strict=False)) < 25


class TestAnImage:
    DIGESTS = tuple(digest_of(np.array([number], np.float32), seed=1) for number in range(3000))

    def test_joins_the_same_slot_wherever_it_lies_and_another_under_another_seed(self) -> None:
        image = np.array([[0.25, 0.5]], np.float32)
        assert digest_of(image, seed=1) == digest_of(image.copy(), seed=1) != digest_of(image, seed=2)

    def test_joins_each_of_its_slots_equally_often(self) -> None:
        """600 of 3,000 each, with a standard deviation of 22: a wider gap than 150 has a chance below 1e-10."""
        found = np.bincount([slot_joined(digest, (1, 4, 5, 8, 11)) for digest in self.DIGESTS], minlength=12)
        assert found.sum() == found[[1, 4, 5, 8, 11]].sum()
        assert abs(found[[1, 4, 5, 8, 11]] - 600).max() < 150

    def test_moves_when_its_own_slot_closes_and_for_no_other_reason(self) -> None:
        for digest in self.DIGESTS[:300]:
            before, after = slot_joined(digest, (1, 4, 5, 8, 11)), slot_joined(digest, (1, 4, 8, 11))
            assert before == after or before == 5
