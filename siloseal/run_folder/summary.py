"""The headline numbers of a finished run: the shape of summary.json."""

import math
from typing import Literal

from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveInt

from siloseal.federation.analytics.query import Answer
from siloseal.federation.job.sections.learner_kind import MeasuredAs
from siloseal.federation.job.sections.learners import MEASURED_AS
from siloseal.run_folder.classification import ClassificationMetric
from siloseal.run_folder.metrics import QualityMetric, Stage
from siloseal.run_folder.record import Record, Share

UNBOUNDED: Literal["unbounded"] = "unbounded"
OfOneExample = NonNegativeFloat | Literal["unbounded"] | None
"""Epsilon of one example at the job's delta, as silos' policies count it, where the protected unit is another.

It is `UNBOUNDED` where nothing bounds it, for which JSON has no number, and None where an example is the unit already.
"""


def as_kept(epsilon: float | None) -> OfOneExample:
    """Epsilon of one example as summary.json has it."""
    return UNBOUNDED if epsilon == math.inf else epsilon


def as_number(kept: OfOneExample) -> float | None:
    """The same as a number again."""
    return math.inf if kept == UNBOUNDED else kept


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
    epsilon_of_one_example: OfOneExample = None
    epsilon_alone: NonNegativeFloat | None = None
    """Epsilon that the silo spent besides when it was trained alone; None in folders of earlier versions, too."""
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
    epsilon_of_one_example: OfOneExample = None
    """The largest of any silo; at an aggregator the most that it can be, where that follows from the job alone."""
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
