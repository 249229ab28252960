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
from typing import Literal

from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveInt, ValidationError

from siloseal.federation.analytics.query import Answer
from siloseal.federation.errors import RunError
from siloseal.federation.job.sections.learner_kind import MeasuredAs
from siloseal.federation.job.sections.learners import MEASURED_AS
from siloseal.federation.records.storage import write_atomically
from siloseal.run_folder.classification import ClassificationMetric
from siloseal.run_folder.json_files import first_problem, parse, read_text
from siloseal.run_folder.metrics import (
    METRIC,
    M,
    Metric,
    NoteMetric,
    PrivacyMetric,
    ProtectionMetric,
    QualityMetric,
    Stage,
    TimingMetric,
    TrafficMetric,
)
from siloseal.run_folder.record import Record, Share


class SiloSummary(Record):
    """One silo at the end of a run. An accuracy is None when it was not measured, epsilon when privacy was off.

    What describes a silo's data is None where the summary is the aggregator's, which does not know it.

    >>> north = siloseal.read_run("runs/first").summary.silos[0]
    >>> north.name, north.examples, round(north.epsilon, 1), north.budget
    ('north', 479, 10.0, 10.0)
    """

    name: str
    examples: NonNegativeInt | None
    tasks: NonNegativeInt | None = None
    """Number of tasks that the examples form, where a task is what is counted."""
    labels: list[int] | None
    epsilon: NonNegativeFloat | None
    budget: NonNegativeFloat | None
    accuracy_alone: Share | None
    accuracy_trained: Share | None
    statement: str


class ModelSummary(Record):
    """The shared model, and the examples that it is for.

    >>> siloseal.read_run("runs/first").summary.model.shape
    (1, 8, 8)
    """

    parameters: NonNegativeInt
    shape: tuple[PositiveInt, ...]
    classes: NonNegativeInt
    class_names: tuple[str, ...] = ()
    """Names of the classes in the order of their numbers; empty where the data have none."""

    def class_name(self, label: int) -> str:
        """The name of a class; its number where it has none."""
        return self.class_names[label] if label < len(self.class_names) else str(label)


class RunSummary(Record):
    """The headline numbers of a finished run, which `simulate` returns and summary.json holds.

    `accuracy` has the global model's by stage, in order, measured with `classifier`.

    >>> summary = siloseal.read_run("runs/first").summary
    >>> list(summary.accuracy), round(summary.epsilon, 1), summary.delta
    (['warm_start', 'phase_1', 'round_1', 'final'], 10.0, 1e-05)
    """

    name: str
    accuracy: dict[Stage, Share]
    best_silo_accuracy: Share | None
    real_data_accuracy: Share | None
    """Accuracy of a classifier trained on real images, where generated ones are measured."""
    pooled_accuracy: Share | None = None
    """Accuracy of the same learner on all silos' records in one place, without privacy."""
    epsilon: NonNegativeFloat | None
    delta: Share | None
    bytes: NonNegativeInt
    seconds: NonNegativeFloat
    run_dir: str
    learner: str = "gan"
    """Kind of learner; empty for a job of queries, which trains none."""
    personal: bool = False
    """Whether each silo keeps a part of the model to itself: accuracies are then means over the silos' own models."""
    classifier: str
    """Name of the headline: a classifier, a kind of tasks, or a measure; empty where nothing was measured."""
    scores: list[QualityMetric] = Field(default_factory=list)
    """Every measurement, with its confidence interval where it has one."""
    silos: list[SiloSummary]
    parameters: dict[str, str]
    warnings: list[str] = Field(default_factory=list)
    """What went otherwise than planned: budgets that ran out, an interruption."""
    model: ModelSummary | None = None
    answers: tuple[Answer, ...] | None = None
    """Answers of a job of queries; None for a job that trains a model."""
    written_by: Literal["experimenter", "aggregator"] = "experimenter"
    """Who writes it: an experimenter has all data and all ledgers on one machine, a deployed aggregator has neither."""
    run_id: str | None = None
    """Id of the run, in hexadecimal, where a deployed aggregator writes it; audit logs have it, too."""

    @property
    def at_aggregator(self) -> bool:
        """Whether a deployed aggregator wrote it, which knows nothing of the silos' data."""
        return self.written_by == "aggregator"

    @property
    def few_shot(self) -> bool:
        """Whether there is a model that learns tasks."""
        return self.answers is None and self.measured_as == "few_shot"

    @property
    def measured_as(self) -> MeasuredAs:
        """Kind of evaluation that fits the learner."""
        return MEASURED_AS.get(self.learner, "generated")

    @property
    def final(self) -> QualityMetric | None:
        """Every measurement of the global model at the end."""
        return next((score for score in self.scores if (score.stage, score.silo) == ("final", None)), None)

    @property
    def details(self) -> ClassificationMetric | None:
        """What a classifier does at the end, class by class and silo by silo; None for other models."""
        return None if self.final is None else self.final.classification

    @property
    def final_accuracy(self) -> float | None:
        return next(reversed(self.accuracy.values()), None)


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
