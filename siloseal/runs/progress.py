"""How a run gets on, as a person sees it in the terminal while it goes."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
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

from siloseal.federation.job.phases import Phase
from siloseal.federation.printable import printable
from siloseal.federation.run_events.aggregator import (
    FittingProgressed,
    QueryProgressed,
    RequestSent,
    Serving,
    StageBegan,
)
from siloseal.federation.run_events.experimenter import (
    AnswersFound,
    ComparisonProgressed,
    ModelScored,
    ProcessEnded,
    ProcessStarted,
    RunOpened,
)
from siloseal.federation.run_events.silo import (
    DialDelayed,
    JobAccepted,
    RequestAnswered,
    RowsTrainedAlone,
    TrainingProgressed,
)
from siloseal.federation.run_events.stream import PartySaid, RunEvent
from siloseal.report import wording
from siloseal.report.terminal import print_line
from siloseal.run_folder.metrics import phase_title
from siloseal.runs.progress_lines import LINE_SECONDS, ProgressLines


class ProgressView:
    """Live bars for stages and silos, on standard error. Any thread may call any method.

    In a terminal, the bars redraw by themselves, with the time spent and left. Elsewhere (a log file, a pipe) progress
    comes as plain lines, few of them. `quiet` shows nothing.
    """

    def __init__(self, quiet: bool = False, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._quiet = quiet
        self._err = Terminal(stderr=True, highlight=False)
        self._lock = threading.Lock()
        self._tasks: dict[tuple[str, str | None], TaskID] = {}
        self._lengths: Mapping[str, int] = {}
        self._steps_done: Counter[str] = Counter()
        self._knows_rows_alone = False
        self._has_lines = not quiet and not self._err.is_terminal
        self._lines = ProgressLines(self._line, clock=clock)
        self._over = threading.Event()
        self._bars = Progress(
            SpinnerColumn(finished_text="[green]✓"), TextColumn("{task.description}"), BarColumn(bar_width=28),
            TaskProgressColumn("{task.percentage:>3.0f}%"), TimeElapsedColumn(), TimeRemainingColumn(compact=True),
            TextColumn("{task.fields[note]}", style="dim", markup=False),
            console=self._err, disable=quiet or not self._err.is_terminal, refresh_per_second=8,
        )  # fmt: skip

    def __enter__(self) -> Self:
        self._bars.start()
        if self._has_lines:
            threading.Thread(target=self._beat, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._bars.stop()

    def show(self, event: RunEvent) -> None:
        """Show an event: a subscriber to the events of a run, or of the processes of one."""
        match event:
            case RunOpened(name, folder, repeated, stages):
                self._lengths = stages
                self.say(f"{name} in {folder}")
                if repeated:
                    self.say("an earlier run is there: this is another one, and what it spends adds up")
            case StageBegan(Phase.WARM_START) | ModelScored(Phase.WARM_START) if self._starts_cold:
                pass
            case StageBegan(stage):
                self.stage(stage, self._lengths.get(stage, 1))
            case FittingProgressed(done, steps):
                self.advance(Phase.WARM_START, None, done, steps, "fitting the first generator")
            case QueryProgressed(stage, done, releases):
                self.advance(stage, None, done, releases)
            case AnswersFound(folder):
                self.say(f"{folder} has the answers already; nothing is released again")
            case RowsTrainedAlone(silo, words):
                self._rows_alone(silo, words)
            case TrainingProgressed():
                self._train(event)
            case ModelScored(phase, number, accuracy):
                length = self._lengths.get(phase, 1)
                self.advance(phase, None, length if number is None else number, length, f"accuracy {accuracy:.3f}")
            case ComparisonProgressed(stage, 0, models):
                self.stage(stage, models)
            case ComparisonProgressed(stage, done, models):
                self.advance(stage, None, done, models)
            case PartySaid(party, said) if doing := _in_words(said):
                self.party(party, doing, over=isinstance(said, ProcessEnded))
            case PartySaid(_, said):
                self.show(said)

    @property
    def _starts_cold(self) -> bool:
        """Whether the run that is shown has no warm start, though a first model is released and scored."""
        return bool(self._lengths) and Phase.WARM_START not in self._lengths

    def _rows_alone(self, silo: str, words: str) -> None:
        """Say once why training takes long: what holds for one silo of a machine holds for the others."""
        with self._lock:
            known, self._knows_rows_alone = self._knows_rows_alone, True
        if not known:
            self.say(f"{silo} trains one row at a time, which is slow: {words}")

    def _train(self, event: TrainingProgressed) -> None:
        """Show a silo's training in its own bar, and in the one of all silos."""
        if event.phase == Phase.WARM_START:
            self.advance(Phase.WARM_START, None, event.done, event.steps, f"{event.silo} trains the first model")
        elif event.phase == Phase.PHASE_1:
            with self._lock:
                self._steps_done[event.silo] = event.done
                done = self._steps_done.total()
            self.advance(Phase.PHASE_1, None, done, self._lengths.get(Phase.PHASE_1, done))
            words = ""
            if "generator_steps" in event.metrics:
                followed, seen = (event.metrics.get(name, 0.0) for name in ("generator_steps", "accuracy_on_fakes"))
                words = f"{followed:.0f} generator steps, {seen:.0%} of fakes recognised"
            self.advance(Phase.PHASE_1, event.silo, event.done, event.steps, words)

    def stage(self, name: str, total: int) -> None:
        """Open a stage's bar. The bars of earlier stages' silos have done their duty and go."""
        with self._lock:
            for (stage, silo), task in self._tasks.items():
                self._bars.update(task, visible=silo is None or not stage)
            self._steps_done.clear()
            self._open(name, None, total)
            self._lines.begin(phase_title(name))

    def advance(self, name: str, silo: str | None, done: int, total: int, note: str = "") -> None:
        """Show `done` of `total`, in a stage as a whole or, with `silo`, in that silo's part of it."""
        with self._lock:
            task = self._tasks.get((name, silo))
            if task is None:
                task = self._open(name, silo, total)
            self._bars.update(task, completed=done, total=total, note=printable(note))
            who = phase_title(name) if silo is None else f"{phase_title(name)}, {silo}"
            self._lines.progress(f"{who}: {done} of {total} {note}".rstrip())

    def party(self, name: str, doing: str, *, over: bool = False) -> None:
        """Show what one process of several is doing."""
        with self._lock:
            task = self._tasks.get(("", name))
            if task is None:
                task = self._tasks["", name] = self._bars.add_task(f"  [magenta]{_label(name)}", total=None, note="")
            self._bars.update(task, note=printable(doing), total=1 if over else None, completed=int(over), visible=True)
            self._lines.progress(f"{name}: {doing}")

    def say(self, text: str) -> None:
        if not self._quiet:
            self._err.print(printable(text), markup=False)

    def _open(self, name: str, silo: str | None, total: int) -> TaskID:
        label = _label(phase_title(name)) if silo is None else f"  [cyan]{_label(silo)}"
        task = self._bars.add_task(label, total=total, note="")
        self._tasks[name, silo] = task
        return task

    def _beat(self) -> None:
        """Show now and then that work which reports nothing still goes on, where no bar can live."""
        while not self._over.wait(LINE_SECONDS / 2):
            with self._lock:
                self._lines.beat()

    def _line(self, text: str) -> None:
        if self._has_lines:
            print_line(self._err, text)


def _label(name: str) -> str:
    """A name as the label of a bar, of which neither the terminal nor rich obeys anything."""
    return escape(printable(name))


def _in_words(event: RunEvent) -> str:
    """An event in words, for its process's line among those of a run; empty for events that are shown otherwise."""
    match event:
        case ProcessStarted():
            return "starts as a process of its own"
        case Serving(address=address):
            return f"listens at {address}"
        case JobAccepted():
            return "has looked at the job and takes part"
        case RequestSent(number=number, what=what):
            return f"request {number}: {what}"
        case RequestAnswered(number=number, what=what, reply_bytes=size):
            return f"answers request {number}: {what}, {wording.size(size)}"
        case DialDelayed(reason=reason):
            return reason
        case ProcessEnded():
            return "has done its part"
    return ""
