"""Tables in narrow terminals: every word of every cell is there."""

import io
import re

import pytest
from rich.console import Console as Terminal

from siloseal.report.document import Cell, Table
from siloseal.report.terminal import print_table

WIDE = Table(
    "A table with a long title that says much about what it is",
    ("silo", "examples", "classes declared", "epsilon, last reported", "sent by it", "received by it", "trouble"),
    tuple(
        (f"hospital_of_{name}", "1,234,567", "0, 2, 4, 6, 8, 10", Cell("9.98 of 10"), "24.1 MB", "123 MB",
         f"{name} answered late and [red]twice[/red]") for name in ("north", "east")
    ),
    numbers=(1, 3, 4, 5),
    note="A note below the table.",
)  # fmt: skip


def shown(table: Table, width: int) -> list[str]:
    file = io.StringIO()
    print_table(Terminal(file=file, width=width, highlight=False), table)
    return file.getvalue().splitlines()


def words_of(table: Table) -> list[str]:
    cells = [cell.text if isinstance(cell, Cell) else cell for row in table.rows for cell in row]
    return [word for text in (table.caption, *table.columns, *cells, table.note) for word in text.split()]


@pytest.mark.parametrize("width", [200, 20])
def test_a_terminal_obeys_no_text_of_a_table(width: int) -> None:
    """A grid and a list; rich lets control characters of the second block, and marks of direction, pass."""
    hostile = "\x1b]0;pwned\x07\x1b[2J\u202e\x9b"
    table = Table(hostile, ("silo", hostile), ((hostile, Cell(hostile)), ("north", "word " * 9)), note=hostile)
    lines = shown(table, width)
    assert lines
    assert all(line.isprintable() for line in lines)


@pytest.mark.parametrize("width", [200, 120, 100, 80, 60, 40, 20])
def test_no_word_is_cut_however_narrow_the_terminal(width: int) -> None:
    lines = shown(WIDE, width)
    text = " ".join(lines)
    assert [word for word in words_of(WIDE) if word not in text] == []
    assert "…" not in text


@pytest.mark.parametrize("width", [200, 120, 100, 98])
def test_a_grid_stays_within_the_terminal(width: int) -> None:
    lines = shown(WIDE, width)
    assert max(map(len, lines)) <= width
    assert any("┃" in line for line in lines)


def test_numbers_are_never_folded() -> None:
    lines = shown(WIDE, 98)
    assert any(re.search(r"│ +1,234,567 │.*│ +9\.98 of 10 │ +24\.1 MB │ +123 MB │", line) for line in lines), lines


def test_a_table_that_does_not_fit_becomes_a_list() -> None:
    lines = shown(WIDE, 40)
    assert "hospital_of_north" in lines
    assert "  epsilon, last reported: 9.98 of 10" in lines
    assert not any("│" in line for line in lines)


def test_groups_are_ruled_off() -> None:
    rows = (("a", "1"), ("b", "2"), ("c", "3"))
    lines = shown(Table("", ("x", "y"), rows, groups=(0, 2)), 40)
    assert [bool(re.match("├", line)) for line in lines].index(True) == 5  # below a head of three lines, a and b
    assert sum(line.startswith("├") for line in lines) == 1


@pytest.mark.parametrize("width", [80, 30])
def test_a_table_without_rows_is_printed(width: int) -> None:
    assert shown(Table("Nothing", ("silo", "examples"), ()), width)
