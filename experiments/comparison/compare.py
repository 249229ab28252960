"""`siloseal compare`: run what is missing of some grids, and write table, figures and report from all of it."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from siloseal.experiments.comparison.config import Comparison
from siloseal.experiments.comparison.grid import Cell, load_comparisons
from siloseal.experiments.comparison.measurements import JobMeasurement, RoundsMeasurement
from siloseal.experiments.comparison.runner import (
    Finished,
    Watcher,
    by_other_programs,
    folder_of,
    measured,
    read_rows,
    run_cells,
)
from siloseal.experiments.comparison.table import write_table
from siloseal.experiments.report.chapter import comparison_report, with_notes
from siloseal.federation.errors import DataError, RunError
from siloseal.federation.records.storage import locked, make_folder
from siloseal.report.document import Chapter
from siloseal.report.markdown import write_markdown
from siloseal.report.page import write_page


@dataclass(frozen=True)
class Outcome:
    """The outcome of a call of `compare`: what it did, and where its files are."""

    report: str
    table: str
    cells: int
    ran: int
    found: int
    """Number of cells that were there already."""
    failed: dict[str, str]
    """Title of each cell that failed, and its last words."""


def list_cells(files: Sequence[Path], out: Path) -> list[tuple[Cell, bool]]:
    """Return every cell, and whether it is finished."""
    require_folder(out)
    cells = [cell for _, cells in load_comparisons(files) for cell in cells]
    return [(cell, read_rows(out, cell.digest) is not None) for cell in cells]


def require_folder(out: Path) -> None:
    """Raise `RunError` where a file is in the way."""
    if files := [path for path in (out, *out.parents) if path.exists() and not path.is_dir()]:
        raise RunError(f"{files[0]} is a file, expected a folder for the comparison; choose another with --out")


def require_data(cells: Sequence[Cell]) -> None:
    """Raise `DataError` before the first cell runs, and not after hours, if the data of a later one are not there."""
    from siloseal.silo.data.loading import place  # here: it imports torch

    jobs = [cell.measurement.job for cell in cells if isinstance(cell.measurement, JobMeasurement | RoundsMeasurement)]
    for source in {job.data.model_dump_json(): job.data for job in jobs}.values():
        if (path := place(source)) is not None and not path.exists():
            written = source.model_dump_json(include={"folder", "path"})
            raise DataError(
                f"{path} is not there, but a job of this comparison reads it: data {written}; "
                "correct it, or the environment variable in it"
            )


def compare(files: Sequence[Path], out: Path, *, workers: int, watcher: Watcher) -> Outcome:
    """Run all cells and write the report. A cell that fails does not stop the others; the next call tries it anew."""
    comparisons = load_comparisons(files)
    cells = [cell for _, cells in comparisons for cell in cells]
    require_folder(out)
    require_data([cell for cell in cells if read_rows(out, cell.digest) is None])
    make_folder(out)
    with locked(out):
        watcher.begin(len({cell.digest for cell in cells}))
        finished = run_cells(cells, out, workers=workers, watcher=watcher)
        chapters = [
            _chapter(comparison, of_it, finished, out, file, watcher)
            for (comparison, of_it), file in zip(comparisons, files, strict=True)
        ]
        if note := _on_other_programs(cells, finished, out):
            watcher.say(f"{note} Remove {out / 'cells'}, and the same command measures them anew.")
            chapters = [with_notes(chapter, after=[note]) for chapter in chapters]
        table, _ = write_table(out, measured(cells, finished))
        _drop_others(out / "figures", chapters)
        document = comparison_report(chapters)
        write_markdown(out / "report.md", document)
        report = write_page(out / "report.html", document)
    return _outcome(cells, finished, report, table)


def _chapter(
    comparison: Comparison, cells: Sequence[Cell], finished: Finished, out: Path, file: Path, watcher: Watcher
) -> Chapter:
    """The chapter of one comparison, drawn from the cells that were measured."""
    from siloseal.experiments.report.chapters import draw  # here: matplotlib takes seconds to import

    watcher.say(f"drawing {comparison.name}")
    drawn = measured(cells, finished)
    chapter = draw(
        comparison.chapter,
        comparison.name,
        drawn,
        out / "figures",
        folder_of=lambda digest: folder_of(out, digest),
        command=f"siloseal compare {shlex.quote(str(file))}",
        seconds=sum(cell.value("cell_seconds") for cell in drawn),
    )
    return _with_failures(chapter, cells, finished)


def _on_other_programs(cells: Sequence[Cell], finished: Finished, out: Path) -> str:
    """A note on how many cells another state of the program measured; empty where none were."""
    others = by_other_programs(out, [cell for cell in cells if cell.digest in finished.rows])
    found = len(finished.rows)
    return f"{others} of {found} cells of this report were measured by another state of the program." if others else ""


def _drop_others(folder: Path, chapters: Sequence[Chapter]) -> None:
    """Remove pictures of an earlier command: the folder shows what the report does."""
    shown = {figure.name for chapter in chapters for figure in chapter.figures}
    for path in [path for kind in ("png", "svg") for path in folder.glob(f"*.{kind}") if path.stem not in shown]:
        path.unlink()


def _with_failures(chapter: Chapter, cells: Sequence[Cell], finished: Finished) -> Chapter:
    """Add a note on each cell that failed, and so is not in the pictures."""
    failed = {cell.title: finished.failed[cell.digest] for cell in cells if cell.digest in finished.failed}
    return with_notes(chapter, before=[f"Not measured: {title} failed ({words})." for title, words in failed.items()])


def _outcome(cells: Sequence[Cell], finished: Finished, report: Path, table: Path) -> Outcome:
    titles = {cell.digest: cell.title for cell in cells}
    return Outcome(
        report=str(report),
        table=str(table),
        cells=len(titles),
        ran=len(finished.ran),
        found=len(titles) - len(finished.ran) - len(finished.failed),
        failed={titles[digest]: words for digest, words in finished.failed.items()},
    )


def require_complete(outcome: Outcome) -> None:
    """Raise `RunError` with every cell that failed."""
    if outcome.failed:
        words = "\n".join(f"{title}: {last}" for title, last in outcome.failed.items())
        raise RunError(
            f"{words}\n{len(outcome.failed)} of {outcome.cells} cells failed; the same command tries them again"
        )
