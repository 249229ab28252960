"""Runs cells, each in a process of its own, as many at a time as there are cores; what is finished is not run again.

A cell that was interrupted begins anew: one that went on from the middle would tell a wrong time.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean
from typing import Protocol

from pydantic import TypeAdapter, ValidationError

from siloseal.experiments.comparison.cell import LAST, PROGRAM, ROWS, SETTINGS
from siloseal.experiments.comparison.grid import Cell
from siloseal.experiments.comparison.measurements.jobs import shed
from siloseal.experiments.comparison.rows import Measured, Row
from siloseal.federation.records.storage import make_folder, write_atomically
from siloseal.runs.processes import die_with_parent

LOOK_SECONDS = 0.1
_ROW: TypeAdapter[Row] = TypeAdapter(Row)


class Watcher(Protocol):
    """An observer of a comparison's progress."""

    def begin(self, total: int) -> None:
        """Begin a comparison of this many cells, which are measured or found."""

    def say(self, text: str) -> None:
        """Show a remark to a person."""

    def progress(self, done: int, total: int, running: Sequence[str], left_seconds: float | None) -> None:
        """Show the progress, several times a second. `left_seconds` is None while nothing allows an estimate."""


@dataclass(frozen=True)
class Finished:
    """The end of a call of `run_cells`."""

    rows: Mapping[str, tuple[Row, ...]]
    """Rows of each finished cell, by digest."""
    ran: tuple[str, ...]
    failed: Mapping[str, str] = field(default_factory=dict)
    """Last words of each cell that failed, by digest."""


def folder_of(out: Path, digest: str) -> Path:
    """Return the folder of a cell."""
    return out / "cells" / digest


def read_rows(out: Path, digest: str) -> tuple[Row, ...] | None:
    """Return what a finished cell measured; None if it is not finished, or its file is damaged: it is measured anew."""
    try:
        lines = (folder_of(out, digest) / ROWS).read_text(encoding="utf-8").splitlines()
        rows = tuple(_ROW.validate_json(line) for line in lines)
    except (FileNotFoundError, UnicodeDecodeError, ValidationError):
        return None
    return rows if rows and rows[-1].measure == LAST else None


def by_other_programs(out: Path, cells: Sequence[Cell]) -> int:
    """Return how many of these finished cells were measured by another state of the program than this one."""
    programs = {folder_of(out, cell.digest) / PROGRAM: cell.program for cell in cells}
    return sum(not path.exists() or path.read_text() != program for path, program in programs.items())


def run_cells(cells: Sequence[Cell], out: Path, *, workers: int, watcher: Watcher) -> Finished:
    """Run the cells that are not finished yet."""
    unique = {cell.digest: cell for cell in cells}
    rows = {digest: found for digest in unique if (found := read_rows(out, digest)) is not None}
    for digest in rows:
        shed(folder_of(out, digest))  # of cells that were interrupted before they came to it
    batch = _Batch(out, [cell for digest, cell in unique.items() if digest not in rows], rows)
    try:
        while batch.busy:
            batch.start(workers)
            batch.collect()
            watcher.progress(len(unique) - batch.open, len(unique), batch.titles, batch.left_seconds(workers))
            time.sleep(LOOK_SECONDS)
    finally:
        batch.stop()
    return Finished({digest: found for digest in unique if (found := read_rows(out, digest)) is not None},
                    tuple(batch.seconds), batch.failed)  # fmt: skip


class _Batch:
    """Cells that wait, cells that run, and how long the finished ones took."""

    def __init__(self, out: Path, cells: Sequence[Cell], known: Mapping[str, tuple[Row, ...]]) -> None:
        self._out, self._waiting = out, list(cells)
        self._running = dict[str, tuple[Cell, subprocess.Popen[bytes], float]]()
        self.seconds = dict[str, float]()
        self.failed = dict[str, str]()
        self._kinds = {cell.digest: _kind(cell) for cell in cells}
        self._past = [
            next((row.value for row in rows if row.measure == "cell_seconds"), 0.0) for rows in known.values()
        ]

    @property
    def busy(self) -> bool:
        return bool(self._waiting or self._running)

    @property
    def open(self) -> int:
        """Number of cells that are not finished."""
        return len(self._waiting) + len(self._running)

    @property
    def titles(self) -> list[str]:
        """Titles of the cells that run."""
        return [cell.title for cell, _, _ in self._running.values()]

    def start(self, workers: int) -> None:
        """Start cells that wait, while places are free."""
        while self._waiting and len(self._running) < workers:
            cell = self._waiting.pop(0)
            self._running[cell.digest] = (cell, _start(self._out, cell), time.monotonic())

    def collect(self) -> None:
        """Take note of what has ended."""
        for digest, (_, process, began) in list(self._running.items()):
            if process.poll() is None:
                continue
            del self._running[digest]
            if read_rows(self._out, digest) is not None:  # which are written last, however the process ended
                self.seconds[digest] = time.monotonic() - began
                shed(folder_of(self._out, digest))
            else:
                self.failed[digest] = _last_words(self._out, digest, process.returncode)

    def left_seconds(self, workers: int) -> float | None:
        """An estimate: a cell takes as long as others of its grid did, or as others at all."""
        known = [*self.seconds.values(), *self._past]
        if not known:
            return None
        by_kind = dict[str, list[float]]()
        for digest, seconds in self.seconds.items():
            by_kind.setdefault(self._kinds[digest], []).append(seconds)

        def expected(cell: Cell) -> float:
            return mean(by_kind.get(_kind(cell), known))

        now = time.monotonic()
        left = [expected(cell) for cell in self._waiting]
        left += [max(1.0, expected(cell) - (now - began)) for cell, _, began in self._running.values()]
        return max(sum(left) / workers, max(left, default=0.0))

    def stop(self) -> None:
        """Stop the cells that still run: an unfinished cell begins anew."""
        for _, process, _ in self._running.values():
            process.kill()
        for _, process, _ in self._running.values():
            process.wait()


def _kind(cell: Cell) -> str:
    return f"{cell.comparison} {cell.grid}"


def _start(out: Path, cell: Cell) -> subprocess.Popen[bytes]:
    folder = folder_of(out, cell.digest)
    if folder.exists():
        shutil.rmtree(folder)
    make_folder(folder)
    write_atomically(folder / SETTINGS, cell.measurement.model_dump_json(indent=2).encode())
    write_atomically(folder / PROGRAM, cell.program.encode())
    # One thread each: the parallelism is between cells.
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    with (folder / "log.txt").open("wb") as log:
        return subprocess.Popen(  # noqa: S603 (our own command line)
            [sys.executable, "-m", "siloseal.experiments.comparison.cell", str(folder)],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, preexec_fn=die_with_parent,
        )  # fmt: skip


def _last_words(out: Path, digest: str, code: int) -> str:
    if code < 0:
        return f"ended by signal {signal.Signals(-code).name}; if that is SIGKILL, look for too little memory"
    lines = (folder_of(out, digest) / "log.txt").read_text(errors="replace").strip().splitlines()
    return lines[-1] if lines else f"ended with code {code} and said nothing"


def measured(cells: Sequence[Cell], finished: Finished) -> list[Measured]:
    """Return the finished cells as the report takes them."""
    return [
        Measured(
            comparison=cell.comparison,
            cell=cell.digest,
            labels=cell.labels,
            seed=cell.seed,
            kinds=cell.kinds,
            rows=rows,
        )
        for cell in cells
        if (rows := finished.rows.get(cell.digest)) is not None
    ]
