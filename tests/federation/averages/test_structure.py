"""What modules must have in common, and the words where they do not."""

import pytest

from siloseal.federation.averages.structure import LONGEST_WORDS, Structure, difference
from siloseal.federation.errors import MessageError
from siloseal.federation.transport.wire import messages_pb2 as pb

LINES = ["'body' of float32 (2, 3)", "'head' of float32 (2,)"]


def test_the_first_entry_that_differs_is_named_with_both_silos() -> None:
    one, other = Structure.of(LINES, 8), Structure.of([LINES[0], "'head' of float32 (3,)"], 9)
    words = difference("north", one, "east", other)
    assert all(part in words for part in ("north", "east", "(2,)", "(3,)"))
    assert "body" not in words
    assert difference("north", one, "east", Structure.of(LINES, 8)) == ""


def test_modules_of_the_same_entries_with_other_numbers_of_values_differ() -> None:
    """No honest silo sends them: the number follows from the shapes."""
    words = difference("north", Structure.of(LINES, 8), "east", Structure.of(LINES, 9))
    assert "8" in words
    assert "9" in words


def test_an_entry_that_only_one_has_is_named() -> None:
    words = difference("north", Structure.of(LINES, 8), "east", Structure.of(LINES[:1], 6))
    assert "'head' of float32 (2,)" in words


def test_modules_that_differ_beyond_the_words_differ_all_the_same() -> None:
    lines = [f"'{number}' of float32 (1,)" for number in range(2000)]
    one, other = Structure.of([*lines, "'a'"], 2001), Structure.of([*lines, "'b'"], 2001)
    assert one.words == other.words
    assert len(one.words) == LONGEST_WORDS
    assert difference("north", one, "east", other)


def test_a_structure_travels_and_one_that_cannot_be_is_refused() -> None:
    structure = Structure.of(LINES, 8)
    assert Structure.from_wire(structure.to_wire(), "north") == structure
    for wrong in (pb.Structure(digest=bytes(31), length=8), pb.Structure(digest=bytes(32), length=0), pb.Structure()):
        with pytest.raises(MessageError):
            Structure.from_wire(wrong, "north")


def test_words_that_a_silo_sends_are_cut_short() -> None:
    wire = pb.Structure(digest=bytes(32), length=8, words="w" * (LONGEST_WORDS + 1))
    assert len(Structure.from_wire(wire, "north").words) == LONGEST_WORDS
