"""What a person sees in the terminal.

Results go to standard output, everything else (bars, remarks, errors) to standard error. So `--json` leaves standard
output with one JSON document and nothing else, and a pipe never receives a progress bar.
"""

import threading
import time
from types import TracebackType
from typing import Self

from rich.console import Console as Terminal
from rich.markup import escape
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from siloseal.cli.result import print_result
from siloseal.federation.errors import SiloSealError
from siloseal.runs.metrics import phase_title, stage_title
from siloseal.runs.summary import RunSummary

QUIET_SECONDS = 2.0  # without a terminal, a line of progress appears this often at most


class Console:
    """Live bars for stages and silos, then the table. Any thread may call any method.

    In a terminal, the bars redraw by themselves, with the time spent and left. Elsewhere (a log file, a pipe) progress
    comes as plain lines. `quiet` leaves errors and, with `json`, the result.
    """

    def __init__(self, quiet: bool, json: bool) -> None:
        self._quiet, self._json = quiet, json
        self._out, self._err = Terminal(highlight=False), Terminal(stderr=True, highlight=False)
        self._lock = threading.Lock()
        self._tasks: dict[tuple[str, str | None], TaskID] = {}
        self._next_line = 0.0
        self._doing, self._since, self._unsaid = "starting", time.monotonic(), ""
        self._over = threading.Event()
        self._bars = Progress(
            SpinnerColumn(finished_text="[green]✓"), TextColumn("{task.description}"), BarColumn(bar_width=28),
            TaskProgressColumn("{task.percentage:>3.0f}%"), TimeElapsedColumn(), TimeRemainingColumn(compact=True),
            TextColumn("{task.fields[note]}", style="dim", markup=False),
            console=self._err, disable=quiet or not self._err.is_terminal, refresh_per_second=8,
        )  # fmt: skip

    def __enter__(self) -> Self:
        self._bars.start()
        if not self._quiet and not self._err.is_terminal:
            threading.Thread(target=self._beat, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._bars.stop()

    def stage(self, name: str, total: int) -> None:
        """Opens a stage's bar. The bars of earlier stages' silos have done their duty and go."""
        with self._lock:
            for (stage, silo), task in self._tasks.items():
                self._bars.update(task, visible=silo is None or not stage)
            self._open(name, None, total)
            self._doing, self._since = stage_title(name), time.monotonic()
            self._line(f"{phase_title(name)} ...", always=True)

    def advance(self, name: str, silo: str | None, done: int, total: int, note: str = "") -> None:
        """`done` of `total`, in a stage as a whole or, with `silo`, in that silo's part of it."""
        with self._lock:
            task = self._tasks.get((name, silo))
            if task is None:
                task = self._open(name, silo, total)
            self._bars.update(task, completed=done, total=total, note=note)
            who = phase_title(name) if silo is None else f"{phase_title(name)}, {silo}"
            self._line(f"{who}: {done} of {total} {note}".rstrip(), always=False)

    def party(self, name: str, doing: str, *, over: bool = False) -> None:
        """What one process of several is doing."""
        with self._lock:
            task = self._tasks.get(("", name))
            if task is None:
                task = self._tasks["", name] = self._bars.add_task(f"  [magenta]{escape(name)}", total=None, note="")
            self._bars.update(task, note=doing, total=1 if over else None, completed=int(over), visible=True)
            self._line(f"{name}: {doing}", always=False)

    def say(self, text: str) -> None:
        if not self._quiet:
            self._err.print(text, markup=False)

    def error(self, error: SiloSealError) -> None:
        """A red line for each thing that is wrong, and what to do about it: the part behind the semicolon."""
        for line in str(error).splitlines():
            found, _, advice = line.partition("; ")
            self._err.print(Text(f"error: {found}", style="bold red"), soft_wrap=True)
            if advice:
                self._err.print(Text(f"  hint: {advice}", style="dim"), soft_wrap=True)

    def final(self, summary: RunSummary) -> None:
        """The result: one JSON document, or tables."""
        self._bars.stop()
        if self._json:
            self._out.file.write(summary.model_dump_json(indent=2) + "\n")
            self._out.file.flush()
        elif not self._quiet:
            print_result(self._out, summary)
        for warning in () if self._quiet else summary.warnings:
            self._err.print(Text(f"note: {warning}", style="yellow"), soft_wrap=True)

    def _open(self, name: str, silo: str | None, total: int) -> TaskID:
        label = escape(phase_title(name)) if silo is None else f"  [cyan]{escape(silo)}"
        task = self._bars.add_task(label, total=total, note="")
        self._tasks[name, silo] = task
        return task

    def _beat(self) -> None:
        """Where no bar can live, work that reports nothing still shows that it goes on."""
        while not self._over.wait(QUIET_SECONDS / 2):
            with self._lock:
                waiting = f"{self._doing}: {time.monotonic() - self._since:.0f} s"
                self._line(self._unsaid or waiting, always=False)

    def _line(self, text: str, *, always: bool) -> None:
        """Progress where no bar can live."""
        now = time.monotonic()
        if self._quiet or self._err.is_terminal:
            return
        if now < self._next_line and not always:
            self._unsaid = text  # the newest of what came too fast is said when there is room
            return
        self._next_line, self._unsaid = now + QUIET_SECONDS, ""
        self._err.print(text, markup=False, soft_wrap=True)
