"""The two shapes that every part of the report is made of."""

from collections.abc import Sequence
from html import escape


def section(anchor: str, title: str, lead: str, body: str) -> str:
    """A titled part of the page; `body` is HTML already."""
    return f'<section id="{anchor}"><h2>{title}</h2><p class="lead">{escape(lead)}</p>{body}</section>'


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: Sequence[int]) -> str:
    """Cells are HTML already; `numbers` are the columns that align to the right."""

    def cell(tag: str, index: int, content: str) -> str:
        scope = " scope=col" if tag == "th" else ""
        return f"<{tag}{scope}{' class=number' if index in numbers else ''}>{content}</{tag}>"

    head = "".join(cell("th", index, escape(column)) for index, column in enumerate(columns))
    lines = "".join(f"<tr>{''.join(cell('td', n, content) for n, content in enumerate(row))}</tr>" for row in rows)
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table></div>'
