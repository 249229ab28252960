"""Tables and lines in a terminal, which obeys no text that is shown in it.

No cell is ever cut: words fold, and where even that leaves no room, a row becomes a list.
"""

import io
from collections.abc import Callable
from dataclasses import replace

from rich.cells import cell_len
from rich.console import Console as Terminal
from rich.table import Table as Grid
from rich.text import Text

from siloseal.federation.printable import printable
from siloseal.report.document import Table, text_of

FRAME = 3
"""Number of characters that a grid spends on each column, beside one for the whole."""

TEXT_COLUMNS = 80
"""Width of what is text and not in a terminal: that of a terminal which nobody widened."""


def as_text(show: Callable[[Terminal], None]) -> str:
    """What a function shows in a terminal, as text without colours."""
    file = io.StringIO()
    # A notebook would display it at once.
    show(Terminal(file=file, width=TEXT_COLUMNS, highlight=False, color_system=None, force_jupyter=False))
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines())


def print_line(terminal: Terminal, text: str, style: str = "") -> None:
    """Print text that may come from another party. It ends where it ends: words that fold cannot be copied."""
    terminal.print(Text(printable(text), style=style), soft_wrap=True)


def print_table(terminal: Terminal, table: Table) -> None:
    """Print a grid that fits the terminal's width, or a list where none does."""
    table = _printable(table)
    widths = _fitted(table, terminal.width)
    if widths is None:
        _print_list(terminal, table)
    else:
        terminal.print(_grid(table, widths))
    if table.note:
        terminal.print(Text(table.note, style="dim italic"))


def _printable(table: Table) -> Table:
    """The table as plain text, whoever chose it."""
    return replace(
        table,
        caption=printable(table.caption),
        columns=tuple(map(printable, table.columns)),
        rows=tuple(tuple(printable(text_of(cell)) for cell in row) for row in table.rows),
        note=printable(table.note),
    )


def _fitted(table: Table, room: int) -> list[int] | None:
    """A width for each column; None where the words of the table do not fit side by side."""
    least, widths = [], []
    for index, title in enumerate(table.columns):
        cells = [text_of(row[index]) for row in table.rows]
        words = [*title.split(), *(cells if index in table.numbers else (w for cell in cells for w in cell.split()))]
        least.append(max(map(cell_len, words), default=1))
        widths.append(max(map(cell_len, (title, *cells))))
    left = room - 1 - FRAME * len(widths)
    if sum(least) > left:
        return None
    while sum(widths) > left:
        spare = [width - need for width, need in zip(widths, least, strict=True)]
        widths[max(range(len(widths)), key=lambda index: (spare[index] > 0, widths[index]))] -= 1
    return widths


def _grid(table: Table, widths: list[int]) -> Grid:
    grid = Grid(title=Text(table.caption) if table.caption else None, title_justify="left", title_style="bold")
    for index, (title, width) in enumerate(zip(table.columns, widths, strict=True)):
        grid.add_column(
            Text(title), width=width, justify="right" if index in table.numbers else "left", overflow="fold"
        )
    for number, row in enumerate(table.rows):
        if number in table.groups and number:
            grid.add_section()
        grid.add_row(*(Text(text_of(cell)) for cell in row))
    return grid


def _print_list(terminal: Terminal, table: Table) -> None:
    """Print a line for each cell, under the name of its row."""
    if table.caption:
        print_line(terminal, table.caption, "bold")
    for row in table.rows:
        print_line(terminal, text_of(row[0]))
        for title, cell in zip(table.columns[1:], row[1:], strict=True):
            if text := text_of(cell):
                print_line(terminal, f"  {title}: {text}")
