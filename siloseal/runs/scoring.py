"""How a run's models are measured: generators by what their images teach, few-shot models by new tasks, and so on."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol, assert_never

import torch
from torch import nn

from siloseal.federation.job.job import Job
from siloseal.federation.job.sections.evaluation import Classification, FewShotTasks, GeneratedImages, OwnMeasures
from siloseal.federation.job.sections.schedule import FedAvg
from siloseal.models.evaluation.evaluator import Evaluator, Quality
from siloseal.models.evaluation.few_shot import TaskEvaluator
from siloseal.models.gan.generators import Generator
from siloseal.models.gan.sampling import generate
from siloseal.models.meta.model import FewShotModel
from siloseal.models.own_learner import OWN_MEASURE, own_measure
from siloseal.run_folder.images import quantise, write_npz
from siloseal.run_folder.metrics import QualityMetric
from siloseal.run_folder.run import sample_path
from siloseal.runs.record_scoring import ACCURACY, RecordScorer
from siloseal.silo.data.examples import Examples

SHOWN_PER_CLASS = 8
SAMPLING_SEED = 1
TASK_SEED = 20_170_424
"""Seed of the tasks, public and fixed: two runs that are compared are asked the same tasks."""


class Scorer(Protocol):
    """Measures models on held-out data. Any thread may call it."""

    def score(
        self, stage: str, silo: str | None, model: nn.Module, labels: Sequence[int], run_dir: Path
    ) -> QualityMetric | None:
        """Measure one model; None where there is no measure.

        `labels` are the classes that a generator is asked for; all if there are none.
        """

    def reference(self) -> QualityMetric | None:
        """The measurement that every other number is read against, where it takes no training to know."""


class ImageScorer:
    """A scorer that generates images, keeps some, trains classifiers on all, and tests them on real images."""

    def __init__(
        self, config: GeneratedImages, train: Examples, held_out: Examples, *, seed: int, last_stage: str
    ) -> None:
        self._config, self._classes, self._last_stage = config, train.classes, last_stage
        self._evaluator = Evaluator(
            (train.inputs, train.labels),
            (held_out.inputs, held_out.labels),
            classes=train.classes,
            classifiers=config.classifiers,
            samples=config.samples,
            seed=seed,
        )

    def score(
        self, stage: str, silo: str | None, model: nn.Module, labels: Sequence[int], run_dir: Path
    ) -> QualityMetric:
        if not isinstance(model, Generator):
            raise TypeError(f"{type(model).__name__} generates nothing to be measured by")
        wanted = torch.tensor(sorted(labels) or range(self._classes))
        images, given = generate(model, wanted[torch.arange(self._config.samples) % len(wanted)], seed=SAMPLING_SEED)
        shown = SHOWN_PER_CLASS * len(wanted)
        write_npz(sample_path(run_dir, stage, silo), quantise(images[:shown]), given[:shown].numpy())
        between = stage.startswith("round_") and stage != self._last_stage
        quality = self._evaluator.score(images, given, headline_only=between or silo is not None)
        return _of_quality(stage, silo, quality)

    def reference(self) -> QualityMetric:
        return _of_quality("real", None, self._evaluator.real())


class TaskScorer:
    """A scorer that asks every model the same tasks."""

    def __init__(self, config: FewShotTasks, held_out: Examples) -> None:
        self._config = config
        self._evaluator = TaskEvaluator(
            held_out.inputs,
            held_out.labels,
            ways=config.ways,
            shots=config.shots,
            queries=config.queries,
            episodes=config.episodes,
            seed=TASK_SEED,
        )

    def score(
        self, stage: str, silo: str | None, model: nn.Module, labels: Sequence[int], run_dir: Path
    ) -> QualityMetric:
        if not isinstance(model, FewShotModel):
            raise TypeError(f"{type(model).__name__} learns no tasks to be measured by")
        config = self._config
        measured = {measure(config, shots): self._evaluator.score(model, shots=shots) for shots in config.shots}
        return QualityMetric(
            stage=stage,
            silo=silo,
            accuracy={name: found.mean for name, found in measured.items()},
            margin={name: found.margin for name, found in measured.items()},
        )

    def reference(self) -> None:
        """No reference: pooled training is a run of its own."""


class OwnScorer:
    """A scorer that asks a learner of the user's own for its measure."""

    def __init__(self, job: Job, held_out: Examples) -> None:
        self._job, self._held_out = job, held_out

    def score(
        self, stage: str, silo: str | None, model: nn.Module, labels: Sequence[int], run_dir: Path
    ) -> QualityMetric | None:
        held_out = self._held_out
        measured = own_measure(self._job, model, held_out, shape=held_out.shape, classes=held_out.classes)
        return None if measured is None else QualityMetric(stage=stage, silo=silo, accuracy={OWN_MEASURE: measured})

    def reference(self) -> None:
        """No reference: pooled training is a run of its own."""


def build_scorer(
    job: Job,
    train: Examples,
    held_out: Examples,
    parts: Mapping[str, Examples],
    held_out_of: Mapping[str, Examples],
) -> Scorer:
    """The scorer that fits the job's learner.

    `parts` are the records that each silo trains on. `held_out_of` are those of its own that are held out, where it has
    a file of its own; `held_out` then has them all, in the order of the silos.
    """
    rounds = job.schedule.rounds if isinstance(job.schedule, FedAvg) else job.schedule.tuning_rounds
    match job.evaluation:
        case GeneratedImages() as config:
            return ImageScorer(config, train, held_out, seed=job.seed, last_stage=f"round_{rounds}")
        case FewShotTasks() as config:
            return TaskScorer(config, held_out)
        case Classification(bins=bins, most_silos=most):
            return RecordScorer(
                held_out,
                parts,
                held_out_of=held_out_of,
                bins=bins,
                personal=job.learner.personal,
                most_silos=most,
            )
        case OwnMeasures():
            return OwnScorer(job, held_out)
        case _:
            assert_never(job.evaluation)


def require_tasks(job: Job, held_out: Examples) -> None:
    """`DataError` where the held-out data are too few for the tasks that a few-shot model is to be tried on."""
    if isinstance(job.evaluation, FewShotTasks):
        TaskScorer(job.evaluation, held_out)


def headline(job: Job) -> str:
    """The measure that stands for all of them."""
    match job.evaluation:
        case GeneratedImages(classifiers=names):
            return names[0]
        case FewShotTasks(shots=shots) as config:
            return measure(config, shots[0])
        case Classification():
            return ACCURACY
        case OwnMeasures():
            return OWN_MEASURE
        case _:
            assert_never(job.evaluation)


def measure(config: FewShotTasks, shots: int) -> str:
    """The name of a measure, as the field writes it."""
    return f"{config.ways}-way {shots}-shot"


def _of_quality(stage: str, silo: str | None, quality: Quality) -> QualityMetric:
    accuracy = {str(classifier): value for classifier, value in quality.accuracy.items()}
    return QualityMetric(stage=stage, silo=silo, accuracy=accuracy, frechet=quality.frechet)
