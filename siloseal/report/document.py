"""The parts of a report, before it becomes a page, a Markdown file or text in a terminal.

The report of a run and the report of a comparison are functions from what was measured to a `Document`. All text is
plain: a renderer escapes it, so no name of a silo becomes markup.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Tone = Literal["plain", "good", "bad"]


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table that is more than text."""

    text: str
    tone: Tone = "plain"
    """`good` and `bad` make a badge of the text."""
    filled: float | None = None
    """Share of an allowance that is used up, or of all that there is; a page draws it as a bar under the text."""
    shade: float | None = None
    """Share of its row that the cell holds; a page draws it as the depth of the cell's ground."""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells; the first cell of a row names it."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str | Cell, ...], ...]
    numbers: tuple[int, ...] = ()
    """Columns that align to the right."""
    note: str = ""
    """Sentence that says how to read the table."""
    groups: tuple[int, ...] = ()
    """Rows at which a new group begins."""
    folded: bool = False
    """Whether a page hides the table until its caption is clicked."""
    matrix: bool = False
    """Whether columns mean what rows mean, so that a narrow page must not take them apart."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart. Its message is what a reader should take away, computed from what was measured."""

    name: str
    message: str
    caption: str
    svg: bytes
    inches: float
    """Width at which the text of the chart has its intended size."""
    png: Path | None = None
    """The same picture on the disk, where it is kept beside the report; its SVG lies beside it."""
    of_images: bool = False
    """Whether the chart shows images, whose light and dark a page must keep in every colour scheme."""


@dataclass(frozen=True, slots=True)
class Tiles:
    """Grids of small generated images, side by side: a PNG for each name."""

    title: str
    grids: tuple[tuple[str, bytes], ...]


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Sentences."""

    text: str


@dataclass(frozen=True, slots=True)
class Notes:
    """A list of remarks, under a title where it has one."""

    texts: tuple[str, ...]
    title: str = ""


@dataclass(frozen=True, slots=True)
class Quotes:
    """Statements to be quoted word by word: who makes one, and its text."""

    statements: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Command:
    """The command that repeats a chapter, and the seconds of one core that it took; 0 where that is not known."""

    line: str
    seconds: float = 0.0


Block = Paragraph | Table | Figure | Tiles | Notes | Quotes | Command


@dataclass(frozen=True, slots=True)
class Chapter:
    """A titled part of a report; its name is what links point to."""

    name: str
    title: str
    lead: str
    blocks: tuple[Block, ...]

    @property
    def figures(self) -> tuple[Figure, ...]:
        return tuple(block for block in self.blocks if isinstance(block, Figure))

    @property
    def tables(self) -> tuple[Table, ...]:
        return tuple(block for block in self.blocks if isinstance(block, Table))

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(text for block in self.blocks if isinstance(block, Notes) for text in block.texts)


@dataclass(frozen=True, slots=True)
class Headline:
    """One of the numbers that a report opens with."""

    title: str
    value: str
    note: str
    main: bool = False


@dataclass(frozen=True, slots=True)
class Alert:
    """Something that must not be overlooked, and the name of the chapter that says more."""

    title: str
    text: str
    chapter: str


@dataclass(frozen=True, slots=True)
class Document:
    """A whole report."""

    kind: str
    """Kind of report, written above its title."""
    title: str
    chapters: tuple[Chapter, ...]
    headlines: tuple[Headline, ...] = ()
    alerts: tuple[Alert, ...] = ()
    guide: str = ""
    """How to read the report, in a few sentences."""
    contents: bool = False
    """Whether the report opens with a list of its chapters and of what their figures say."""
    footer: str = ""


def text_of(cell: str | Cell) -> str:
    """The text of a cell."""
    return cell if isinstance(cell, str) else cell.text
