"""The few things of Markdown that the generated pages need."""

import re
from collections.abc import Iterable, Sequence

from siloseal.report.markdown import grid

GENERATED = "<!-- Written by `make docs`; change the source and run it again. -->"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; cells may hold anything but a line break."""
    return grid(header, ([_cell(cell) for cell in row] for row in rows))


def anchor(heading: str) -> str:
    """The anchor that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def paragraphs(text: str) -> str:
    """Text from a docstring, without its examples: single line breaks are spaces, empty lines separate paragraphs."""
    parts = re.split(r"\n\s*\n", text.strip())
    return "\n\n".join(" ".join(part.split()) for part in parts if not part.lstrip().startswith(">>>"))


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
