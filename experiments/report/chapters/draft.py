"""A chapter while it is drawn: its parts, and where its pictures go."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure as Picture

from siloseal.report import charts
from siloseal.report.document import Figure, Table

Part = Figure | Table | str
"""Part of a chapter: something to show, or the sentence that says what is missing or what to mind."""


@dataclass(frozen=True)
class Draft:
    """A chapter as its module gives it. `axes` are those that it shows; over all others it averages."""

    title: str
    lead: str
    axes: tuple[str, ...]
    parts: Sequence[Part]


@dataclass(frozen=True)
class Album:
    """The folder and name under which the pictures of one chapter are saved."""

    folder: Path
    chapter: str
    dpi: int = charts.DPI

    def keep(self, picture: Picture, name: str, *, message: str, caption: str) -> Figure:
        """Save the picture as CHAPTER-NAME."""
        drawn = charts.figure(picture, f"{self.chapter}-{name}", message=message, caption=caption)
        return charts.keep(picture, drawn, self.folder, dpi=self.dpi)
