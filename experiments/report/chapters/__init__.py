"""One module a kind of chapter. `draw` goes from finished cells to a chapter with its pictures on the disk."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import assert_never

from siloseal.experiments.comparison.rows import Measured
from siloseal.experiments.report.averages import varied
from siloseal.experiments.report.chapter import LIMITS, ChapterKind
from siloseal.experiments.report.chapters import (
    audit,
    cheating,
    distributed_dp,
    fedavg,
    inversion,
    noise,
    optimizers,
    overview,
    silos,
    starts,
    sums,
    traffic,
)
from siloseal.experiments.report.chapters.draft import Album, Draft
from siloseal.report import charts
from siloseal.report.document import Chapter, Command, Figure, Notes, Table

__all__ = ["ChapterKind", "draw"]


def draw(
    kind: ChapterKind,
    name: str,
    cells: Sequence[Measured],
    figures_dir: Path,
    *,
    folder_of: Callable[[str], Path] | None = None,
    command: str = "",
    seconds: float = 0.0,
    dpi: int = charts.DPI,
) -> Chapter:
    """Draw what the cells have, and note what they lack.

    `folder_of` finds the folder of a cell by its digest; `seconds` is what the cells took together.
    """
    with charts.style():
        made = drafted(kind, cells, Album(figures_dir, name, dpi), folder_of)
    averaged = [axis for axis in varied(cells) if axis not in made.axes]
    notes = [part for part in made.parts if isinstance(part, str)]
    if averaged:
        notes.insert(0, f"This grid also varies {', '.join(averaged)}, which nothing in this chapter tells apart.")
    if not cells:
        notes.insert(0, "No cell of this comparison is finished: there is nothing to show yet.")
    return Chapter(
        name=name,
        title=made.title if name == kind else f"{made.title}: {name}",
        lead=made.lead,
        blocks=(
            *([Command(command, seconds)] if command else []),
            *(part for part in made.parts if isinstance(part, Figure)),
            *(part for part in made.parts if isinstance(part, Table)),
            *([Notes(tuple(notes), LIMITS)] if notes else []),
        ),
    )


def drafted(
    kind: ChapterKind,
    cells: Sequence[Measured],
    album: Album,
    folder_of: Callable[[str], Path] | None,
) -> Draft:
    """Return the draft of the chapter's kind."""
    match kind:
        case "overview":
            return overview.draft(cells, album)
        case "optimizers":
            return optimizers.draft(cells, album)
        case "sums":
            return sums.draft(cells, album)
        case "noise":
            return noise.draft(cells, album)
        case "distributed-dp":
            return distributed_dp.draft(cells, album)
        case "fedavg":
            return fedavg.draft(cells, album)
        case "traffic":
            return traffic.draft(cells, album)
        case "silos":
            return silos.draft(cells, album)
        case "starts":
            return starts.draft(cells, album)
        case "inversion":
            return inversion.draft(cells, album, folder_of)
        case "audit":
            return audit.draft(cells, album)
        case "cheating":
            return cheating.draft(cells, album)
        case _:
            assert_never(kind)
