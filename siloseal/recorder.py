"""Watches a run: scores every model on held-out data, keeps samples, and writes metrics as they come.

It is the experimenter's instrument. It reads models that the run has released, and nothing flows back.
"""

import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import torch

from aggregator.observer import Model, Observer
from federation.config.job import Job
from federation.config.schedule import FedAvg, TwoPhase
from federation.config.warm_start import KernelMeanStart, LeaderStart, PublicStart
from federation.phases import FEDAVG, PHASE_1, PHASE_2, WARM_START
from models.building import load_generator
from models.evaluation.evaluator import Evaluator, Quality
from models.gan.generators import Generator
from models.gan.sampling import generate
from silo.training.trainer import TrainingProgress
from siloseal.console import Console
from siloseal.images import quantise, read_npz, write_npz
from siloseal.metrics import QualityMetric, TimingMetric
from siloseal.summary import read_metrics, sample_path, write_metrics

SHOWN_PER_CLASS = 8
SAMPLING_SEED = 1


class Recorder(Observer):
    """Watches the coordinator. After an interruption it goes on with what it had measured."""

    def __init__(
        self,
        job: Job,
        run_dir: Path,
        evaluator: Evaluator,
        image_shape: tuple[int, int, int],
        classes: int,
        console: Console,
    ) -> None:
        self._job, self._run_dir, self._evaluator, self._console = job, run_dir, evaluator, console
        self._shape, self._classes = image_shape, classes
        known = read_metrics(run_dir / "metrics.jsonl") if (run_dir / "metrics.jsonl").exists() else ()
        self.scores = {(m.stage, m.silo): m for m in known if isinstance(m, QualityMetric)}
        self.resumed = bool(known)
        self._last = WARM_START
        self._rounds = job.schedule.rounds if isinstance(job.schedule, FedAvg) else job.schedule.tuning_rounds
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self._stage, self._entered = "enrolment", time.monotonic()
        self._done: Counter[str] = Counter()
        self._lock = threading.Lock()

    def stage(self, stage: str) -> None:
        """The coordinator enters a stage."""
        self._clock(stage)
        self._done.clear()
        self._console.stage(stage, self._total(stage))

    def fitting(self, step: int, steps: int) -> None:
        """The aggregator fits the first generator."""
        self._console.advance(WARM_START, None, step + 1, steps, "fitting the first generator")

    def training(self, silo: str, progress: TrainingProgress) -> None:
        """A silo trains; called from its thread."""
        done, steps = progress.steps_done, progress.steps
        if progress.phase == PHASE_1:
            self._done[silo] = done
            self._console.advance(PHASE_1, None, self._done.total(), self._total(PHASE_1))
            followed, seen = (progress.metrics.get(name, 0.0) for name in ("generator_steps", "accuracy_on_fakes"))
            words = f"{followed:.0f} generator steps, {seen:.0%} of fakes recognised"
            self._console.advance(PHASE_1, silo, done, steps, words)
        elif progress.phase == WARM_START:
            self._console.advance(WARM_START, None, done, steps, f"{silo} trains the first generator")

    def model(self, stage: str, model: Model) -> None:
        """A global model: score it, while the run waits."""
        with self.during("evaluation"):
            self.released(stage, load_generator(self._job, self._shape, self._classes, model))

    def released(self, stage: str, generator: Generator) -> None:
        """A global model: score it."""
        phase = PHASE_1 if stage == PHASE_1 else WARM_START
        if stage.startswith("round_"):
            phase = FEDAVG if isinstance(self._job.schedule, FedAvg) else PHASE_2
        metric = self.score(stage, None, generator)
        self._last = stage
        accuracy = next(iter(metric.accuracy.values()))
        total = self._total(phase)
        done = int(stage.removeprefix("round_")) if stage.startswith("round_") else total
        self._console.advance(phase, None, done, total, f"accuracy {accuracy:.3f}")

    def score(self, stage: str, silo: str | None, generator: Generator, labels: Sequence[int] = ()) -> QualityMetric:
        """Generate, keep some, train the classifiers on all, test them; what is known already is not measured again.

        Any thread may call it.
        """
        if (stage, silo) in self.scores:
            return self.scores[stage, silo]
        wanted = torch.tensor(sorted(labels) or range(self._classes))
        samples = self._job.evaluation.samples
        images, given = generate(generator, wanted[torch.arange(samples) % len(wanted)], seed=SAMPLING_SEED)
        shown = SHOWN_PER_CLASS * len(wanted)
        write_npz(sample_path(self._run_dir, stage, silo), quantise(images[:shown]), given[:shown].numpy())
        between = stage.startswith("round_") and stage != f"round_{self._rounds}"
        quality = self._evaluator.score(images, given, headline_only=between or silo is not None)
        return self._keep(stage, silo, quality)

    def score_real(self) -> None:
        """The number that every other one is read against."""
        if ("real", None) not in self.scores:
            with self.during("evaluation"):
                self._keep("real", None, self._evaluator.real())

    @contextmanager
    def during(self, stage: str) -> Iterator[None]:
        """Time spent here counts for this stage, and not for the one around it."""
        around = self._stage
        self._clock(stage)
        try:
            yield
        finally:
            self._clock(around)

    def finish(self) -> None:
        """The last global model is the final one, and is not measured twice."""
        if ("final", None) not in self.scores:
            write_npz(sample_path(self._run_dir, "final"), *read_npz(sample_path(self._run_dir, self._last)))
            self._append(self.scores[self._last, None].model_copy(update={"stage": "final"}))

    def timings(self) -> list[TimingMetric]:
        """Wall-clock time by stage, so far."""
        self._clock(self._stage)
        return [TimingMetric(stage=stage, seconds=seconds) for stage, seconds in self.seconds.items()]

    def _keep(self, stage: str, silo: str | None, quality: Quality) -> QualityMetric:
        accuracy = {str(classifier): value for classifier, value in quality.accuracy.items()}
        return self._append(QualityMetric(stage=stage, silo=silo, accuracy=accuracy, frechet=quality.frechet))

    def _append(self, metric: QualityMetric) -> QualityMetric:
        with self._lock:
            self.scores[metric.stage, metric.silo] = metric
            write_metrics(self._run_dir, list(self.scores.values()))
        return metric

    def _clock(self, stage: str) -> None:
        now = time.monotonic()
        self.seconds[self._stage] += now - self._entered
        self._stage, self._entered = stage, now

    def _total(self, stage: str) -> int:
        """How long a stage's bar is: fitting steps, training steps, or rounds."""
        match self._job.warm_start, self._job.schedule:
            case ((KernelMeanStart(fit_steps=steps) | PublicStart(fit_steps=steps)), _) if stage == WARM_START:
                return steps
            case LeaderStart(steps=steps), _ if stage == WARM_START:
                return steps
            case _, TwoPhase(local_steps=steps) if stage == PHASE_1:
                return steps * len(self._job.silos.names)
            case _, TwoPhase(tuning_rounds=rounds) if stage == PHASE_2:
                return rounds
            case _, FedAvg(rounds=rounds) if stage == FEDAVG:
                return rounds
        return 1
