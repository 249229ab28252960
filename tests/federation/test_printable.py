"""No text of another party moves a cursor, colours a screen or turns the direction of writing."""

import pytest

from siloseal.federation.printable import printable


@pytest.mark.parametrize(
    "letter", ["\x00", "\x07", "\x1b", "\x7f", "\x85", "\x9b", "\n", "\r", "\t", "\u200f", "\u202e", "\u2028", "\ud800"],
    ids=lambda letter: f"U+{ord(letter):04X}",
)  # fmt: skip
def test_what_a_terminal_would_obey_becomes_a_blank(letter: str) -> None:
    assert printable(f"north{letter}[2J") == "north [2J"


@pytest.mark.parametrize("text", ["", "north", "St. Mary's, Zürich", "東京", "a b", "100 % ± 3"])
def test_what_people_write_stays_as_it_is(text: str) -> None:
    assert printable(text) == text
