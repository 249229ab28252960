"""The run folder: what a run leaves behind, and the only definition of its shapes.

config.yaml            the job as it was resolved
global.safetensors     the global model, of a job that trains one
answers.json           the answers, of a job of queries
summary.json           RunSummary: the headline numbers; a folder without it is not finished
metrics.jsonl          one Metric a line, in the order in which they were measured
samples/<stage>.npz    generated images of the global model; <stage>.<silo>.npz for one silo's own
silos/<name>/ledger.jsonl
report.html

A deployed aggregator writes the same into its state folder, without the silos' and with the files that it works with.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from siloseal.federation.errors import RunError
from siloseal.federation.records.storage import write_atomically
from siloseal.run_folder.json_files import first_problem, parse, read_text
from siloseal.run_folder.metrics import (
    METRIC,
    M,
    Metric,
    NoteMetric,
    PrivacyMetric,
    ProtectionMetric,
    QualityMetric,
    TimingMetric,
    TrafficMetric,
)
from siloseal.run_folder.summary import RunSummary


@dataclass(frozen=True, slots=True)
class Run:
    """A finished run, read back: its summary, what was measured on the way, and the files of its samples.

    Printed, it is what the command `siloseal run` shows at its end.

    >>> run = siloseal.read_run("runs/first")
    >>> [measured.stage for measured in run.quality if measured.silo is None]
    ['real', 'warm_start', 'phase_1', 'round_1', 'final']
    >>> {phase.phase for phase in run.privacy if phase.silo == "north"} == {"phase_1", "phase_2", "total"}
    True
    """

    directory: Path
    summary: RunSummary
    metrics: tuple[Metric, ...]
    """Lines of metrics.jsonl, of all kinds, in the order in which they were measured."""
    samples: dict[tuple[str, str | None], Path]
    """Files of generated images by stage and silo; None is the global model."""

    @property
    def quality(self) -> list[QualityMetric]:
        """Accuracies of each model that was measured: stage, silo, accuracy by classifier, margin, Fréchet distance."""
        return self._of(QualityMetric)

    @property
    def traffic(self) -> list[TrafficMetric]:
        """Bytes of each silo in each phase: stage, silo, sent and received."""
        return self._of(TrafficMetric)

    @property
    def timing(self) -> list[TimingMetric]:
        """Seconds of each phase, and of each other part of the run that is timed."""
        return self._of(TimingMetric)

    @property
    def protection(self) -> list[ProtectionMetric]:
        """How each kind of upload travelled, and whether the aggregator could read a single silo's."""
        return self._of(ProtectionMetric)

    @property
    def privacy(self) -> list[PrivacyMetric]:
        """What each silo's ledger says of each phase and in total: epsilon, delta, noise, sampling rate, steps."""
        return self._of(PrivacyMetric)

    @property
    def notes(self) -> list[NoteMetric]:
        """What a reader of the numbers has to know."""
        return self._of(NoteMetric)

    def _of(self, kind: type[M]) -> list[M]:
        return [metric for metric in self.metrics if isinstance(metric, kind)]


def sample_path(run_dir: Path, stage: str, silo: str | None = None) -> Path:
    """The path of a stage's samples; with `silo`, of those of that silo's own model."""
    name = stage if silo is None else f"{stage}.{silo}"
    if re.search(r"[/\\\0]", name):
        raise RunError(f"found {name!r} as a name of samples; expected a name without / and \\; rename the silo")
    return run_dir / "samples" / f"{name}.npz"


def write_metrics(run_dir: Path, metrics: Sequence[Metric], *, mode: int = 0o644) -> None:
    """Write the whole of metrics.jsonl, in one step: no reader or resumed run stumbles on half a line."""
    lines = "".join(metric.model_dump_json() + "\n" for metric in metrics)
    write_atomically(run_dir / "metrics.jsonl", lines.encode(), mode=mode)


def write_summary(run_dir: Path, summary: RunSummary, *, mode: int = 0o644) -> None:
    """Write summary.json, which marks the run as finished."""
    write_atomically(run_dir / "summary.json", (summary.model_dump_json(indent=2) + "\n").encode(), mode=mode)


def read_run(run_dir: Path) -> Run:
    """A finished run; `RunError` where there is none, it has not finished, or a file of it is damaged."""
    if not run_dir.is_dir():
        raise RunError(f"found no folder {run_dir}; give the folder that a run printed at its end")
    if not (run_dir / "config.yaml").is_file() and not (run_dir / "summary.json").is_file():
        raise RunError(f"{run_dir} is not a run's folder; give the folder that a run printed at its end")
    if not (run_dir / "summary.json").is_file():
        raise RunError(f"{run_dir} has no summary.json, so its run has not finished; let it finish, or run it again")
    summary = read_summary(run_dir / "summary.json")
    return Run(run_dir, summary, read_metrics(run_dir / "metrics.jsonl"), find_samples(run_dir / "samples"))


def read_summary(path: Path) -> RunSummary:
    """Read summary.json, checked against its shape."""
    found = parse(read_text(path), path)
    try:
        return RunSummary.model_validate(found)
    except ValidationError as error:
        raise RunError(f"{path}: {first_problem(error)}; run the job again, or restore the file") from None


def read_metrics(path: Path) -> tuple[Metric, ...]:
    """Read metrics.jsonl, checked line by line."""
    metrics = []
    for number, line in enumerate(read_text(path).splitlines(), start=1):
        found = parse(line, path, line_number=number)
        try:
            metrics.append(METRIC.validate_python(found))
        except ValidationError as error:
            raise RunError(f"{path}, line {number}: {first_problem(error)}; mend or remove that line") from None
    return tuple(metrics)


def find_samples(folder: Path) -> dict[tuple[str, str | None], Path]:
    """Sample files by stage and silo."""
    parts = {path: path.stem.partition(".") for path in sorted(folder.glob("*.npz"))}
    return {(stage, silo or None): path for path, (stage, _, silo) in parts.items()}
