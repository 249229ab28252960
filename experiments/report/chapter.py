"""What a chapter of the report consists of."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

ChapterKind = Literal[
    "overview", "optimizers", "sums", "noise", "traffic", "silos", "starts", "inversion", "audit", "cheating"
]
"""How a comparison is drawn: `overview` suits any, the others know what they compare."""

TITLE = "What was compared, and what came out"


@dataclass(frozen=True)
class Figure:
    """A picture on the disk. Its message is what a reader should take away, computed from what was measured."""

    name: str
    message: str
    caption: str
    png: Path
    svg: Path


@dataclass(frozen=True)
class Table:
    """Cells are plain text. `numbers` are the columns that align to the right."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: tuple[int, ...] = ()


@dataclass(frozen=True)
class Chapter:
    """One comparison for people: `notes` say its limits and how to read it, `command` how to repeat it."""

    name: str
    title: str
    lead: str
    figures: tuple[Figure, ...]
    tables: tuple[Table, ...]
    notes: tuple[str, ...]
    command: str = ""
    seconds: float = 0.0
