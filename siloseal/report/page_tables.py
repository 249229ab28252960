"""Tables of a page. One that is too wide for a phone becomes a list of cards there, by style alone."""

from html import escape

from siloseal.report.document import Cell, Table, text_of

PHONE = 42
"""Number of characters, with gaps, that fit side by side on a phone."""
FOLDS = 18
"""Number of characters at which a cell of words may fold."""


def table_html(table: Table) -> str:
    """A table under its caption, or behind it where it is folded."""
    inner = f'<p class="lead">{escape(table.note)}</p>' if table.note else ""
    kind = " class=matrix" if table.matrix else " class=stacks" if stacks(table) else ""
    inner += f'<div class="scroll"><table{kind}>{head(table)}{body(table)}</table></div>'
    if table.folded:
        return f"<details><summary>{escape(table.caption)}</summary>{inner}</details>"
    return (f"<h3>{escape(table.caption)}</h3>" if table.caption else "") + inner


def stacks(table: Table) -> bool:
    """Whether a phone has no room for the columns side by side."""
    width = 0
    for index, title in enumerate(table.columns):
        longest = max(map(len, (title, *(text_of(row[index]) for row in table.rows))))
        width += 2 + (longest if index in table.numbers else min(longest, FOLDS))
    return width > PHONE


def head(table: Table) -> str:
    """The names of the columns."""
    cells = (f"<th scope=col{number(table, index)}>{escape(title)}</th>" for index, title in enumerate(table.columns))
    return f"<thead><tr>{''.join(cells)}</tr></thead>"


def body(table: Table) -> str:
    """The rows; the first cell of each names it."""
    lines = []
    for place, (name, *cells) in enumerate(table.rows):
        shown = [f'<th scope=row data-label="{escape(table.columns[0])}"{number(table, 0)}>{content(name)}</th>']
        shown += [
            f'<td data-label="{escape(title)}"{number(table, index)}{shade(cell)}>{content(cell)}</td>'
            for index, (title, cell) in enumerate(zip(table.columns[1:], cells, strict=True), start=1)
        ]
        lines.append(f"<tr{' class=opens' if place in table.groups else ''}>{''.join(shown)}</tr>")
    return f"<tbody{' class=grouped' if table.groups else ''}>{''.join(lines)}</tbody>"


def number(table: Table, index: int) -> str:
    """The attribute of a column that aligns to the right."""
    return " class=number" if index in table.numbers else ""


def shade(cell: str | Cell) -> str:
    """The attribute of a cell whose ground shows how much of its row it holds."""
    return "" if isinstance(cell, str) or cell.shade is None else f' style="--shade:{min(1.0, cell.shade):.2f}"'


def content(cell: str | Cell) -> str:
    """Text, as a badge where it has a tone, over a bar where it says how much of something is used up."""
    text = escape(text_of(cell))
    if isinstance(cell, str):
        return text
    if cell.tone != "plain":
        text = f'<span class="badge {cell.tone}">{text}</span>'
    return text if cell.filled is None else f"{text}{meter(cell.filled)}"


def meter(share: float) -> str:
    """A thin bar from 0 to 1; beyond 1 it is full and in the warning colour."""
    over = " over" if share > 1 else ""
    return f'<span class="meter{over}" aria-hidden="true"><i style="width:{100 * min(1.0, share):.1f}%"></i></span>'
