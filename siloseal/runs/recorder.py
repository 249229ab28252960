"""Watches a run: scores every model on held-out data, keeps samples, and writes metrics as they come.

It is the experimenter's instrument. It reads models that the run has released, and nothing flows back.
"""

import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from siloseal.aggregator.observer import Model, Observer
from siloseal.cli.console import Console
from siloseal.federation.job.job import Job
from siloseal.federation.job.phases import Phase
from siloseal.federation.job.sections.schedule import FedAvg, TwoPhase
from siloseal.federation.job.sections.warm_start import KernelMeanStart, LeaderStart, PublicStart
from siloseal.models.building import SharedModel, load_model
from siloseal.runs.images import read_npz, write_npz
from siloseal.runs.metrics import QualityMetric, TimingMetric
from siloseal.runs.scoring import Scorer
from siloseal.runs.summary import read_metrics, sample_path, write_metrics
from siloseal.silo.training.trainer import TrainingProgress


class Recorder(Observer):
    """Watches the coordinator. After an interruption it goes on with what it had measured."""

    def __init__(
        self,
        job: Job,
        run_dir: Path,
        scorer: Scorer,
        image_shape: tuple[int, int, int],
        classes: int,
        console: Console,
    ) -> None:
        self._job, self._run_dir, self._scorer, self._console = job, run_dir, scorer, console
        self._shape, self._classes = image_shape, classes
        known = read_metrics(run_dir / "metrics.jsonl") if (run_dir / "metrics.jsonl").exists() else ()
        self.scores = {(m.stage, m.silo): m for m in known if isinstance(m, QualityMetric)}
        self.resumed = bool(known)
        self._last: str = Phase.WARM_START
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
        self._console.advance(Phase.WARM_START, None, step + 1, steps, "fitting the first generator")

    def training(self, silo: str, progress: TrainingProgress) -> None:
        """A silo trains; called from its thread."""
        done, steps = progress.steps_done, progress.steps
        if progress.phase == Phase.PHASE_1:
            self._done[silo] = done
            self._console.advance(Phase.PHASE_1, None, self._done.total(), self._total(Phase.PHASE_1))
            words = ""
            if "generator_steps" in progress.metrics:
                followed, seen = (progress.metrics.get(name, 0.0) for name in ("generator_steps", "accuracy_on_fakes"))
                words = f"{followed:.0f} generator steps, {seen:.0%} of fakes recognised"
            self._console.advance(Phase.PHASE_1, silo, done, steps, words)
        elif progress.phase == Phase.WARM_START:
            self._console.advance(Phase.WARM_START, None, done, steps, f"{silo} trains the first model")

    def model(self, stage: str, model: Model) -> None:
        """A global model: score it, while the run waits."""
        with self.during("evaluation"):
            self.released(stage, load_model(self._job, self._shape, self._classes, model))

    def released(self, stage: str, model: SharedModel) -> None:
        """A global model: score it."""
        phase = Phase.PHASE_1 if stage == Phase.PHASE_1 else Phase.WARM_START
        if stage.startswith("round_"):
            phase = Phase.FEDAVG if isinstance(self._job.schedule, FedAvg) else Phase.PHASE_2
        metric = self.score(stage, None, model)
        self._last = stage
        accuracy = next(iter(metric.accuracy.values()))
        total = self._total(phase)
        done = int(stage.removeprefix("round_")) if stage.startswith("round_") else total
        self._console.advance(phase, None, done, total, f"accuracy {accuracy:.3f}")

    def score(self, stage: str, silo: str | None, model: SharedModel, labels: Sequence[int] = ()) -> QualityMetric:
        """Measure a model; what is known already is not measured again. Any thread may call it."""
        if (stage, silo) in self.scores:
            return self.scores[stage, silo]
        return self._append(self._scorer.score(stage, silo, model, labels, self._run_dir))

    def score_reference(self) -> None:
        """The number that every other one is read against, where it takes no training to know."""
        with self.during("evaluation"):
            if ("real", None) not in self.scores and (metric := self._scorer.reference()) is not None:
                self._append(metric)

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
            if (samples := sample_path(self._run_dir, self._last)).exists():
                write_npz(sample_path(self._run_dir, "final"), *read_npz(samples))
            self._append(self.scores[self._last, None].model_copy(update={"stage": "final"}))

    def timings(self) -> list[TimingMetric]:
        """Wall-clock time by stage, so far."""
        self._clock(self._stage)
        return [TimingMetric(stage=stage, seconds=seconds) for stage, seconds in self.seconds.items()]

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
            case ((KernelMeanStart(fit_steps=steps) | PublicStart(fit_steps=steps)), _) if stage == Phase.WARM_START:
                return steps
            case LeaderStart(steps=steps), _ if stage == Phase.WARM_START:
                return steps
            case _, TwoPhase(local_steps=steps) if stage == Phase.PHASE_1:
                return steps * len(self._job.silos.names)
            case _, TwoPhase(tuning_rounds=rounds) if stage == Phase.PHASE_2:
                return rounds
            case _, FedAvg(rounds=rounds) if stage == Phase.FEDAVG:
                return rounds
        return 1
