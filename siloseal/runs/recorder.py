"""Watches a run: scores every model on held-out data, keeps samples, and writes metrics as they come.

It is the experimenter's instrument. It reads models that the run has released, and nothing flows back.
"""

import threading
from collections.abc import Sequence
from pathlib import Path

from torch import nn

from siloseal.aggregator.traffic import Traffic
from siloseal.federation.job.job import Job
from siloseal.federation.job.phases import Phase
from siloseal.federation.run_events.coordination import ModelReleased
from siloseal.federation.run_events.experimenter import ModelScored
from siloseal.federation.run_events.silo import RowsTrainedAlone
from siloseal.federation.run_events.stream import PartySaid, RunEvent, Subscriber
from siloseal.federation.shapes import Shape
from siloseal.models.building import load_model
from siloseal.run_folder.images import read_npz, write_npz
from siloseal.run_folder.metrics import QualityMetric
from siloseal.run_folder.run import read_metrics, sample_path, write_metrics
from siloseal.runs.record_scoring import mean_metric
from siloseal.runs.scoring import Scorer
from siloseal.runs.stages import phase_of, round_of
from siloseal.runs.stopwatch import Stopwatch


class Recorder:
    """A subscriber that measures what a run releases. After an interruption it goes on with what it had measured."""

    def __init__(
        self,
        job: Job,
        run_dir: Path,
        scorer: Scorer,
        shape: Shape,
        classes: int,
        publish: Subscriber,
    ) -> None:
        self._job, self._run_dir, self._scorer, self._publish = job, run_dir, scorer, publish
        self._shape, self._classes = shape, classes
        known = read_metrics(run_dir / "metrics.jsonl") if (run_dir / "metrics.jsonl").exists() else ()
        self.scores = {(m.stage, m.silo): m for m in known if isinstance(m, QualityMetric)}
        self.resumed = bool(known)
        self.stopwatch, self.traffic = Stopwatch(), Traffic()
        self.rows_alone = dict[str, str]()
        """Why each silo whose private steps took one row at a time had to."""
        self._last: str = Phase.WARM_START
        self._lock = threading.Lock()

    def hear(self, event: RunEvent) -> None:
        """Follow the run; a global model is scored while the run waits."""
        self.stopwatch.hear(event)
        self.traffic.hear(event)
        match event:
            case RowsTrainedAlone(silo, words) | PartySaid(event=RowsTrainedAlone(silo, words)):
                self.rows_alone[silo] = words
        # Where each silo has a part of its own, what is released is no whole model, and is not measured.
        if isinstance(event, ModelReleased) and not self._job.learner.personal:
            with self.stopwatch.during("evaluation"):
                self.released(event.stage, load_model(self._job, self._shape, self._classes, event.model))

    def released(self, stage: str, model: nn.Module) -> None:
        """Score a global model, and publish how good it is."""
        if (metric := self.score(stage, None, model)) is None:
            return
        if self._last != stage:
            self._shorten(self._last)
        self._last = stage
        accuracy = next(iter(metric.accuracy.values()))
        self._publish(ModelScored(phase_of(self._job, stage), round_of(stage), accuracy))

    def score(self, stage: str, silo: str | None, model: nn.Module, labels: Sequence[int] = ()) -> QualityMetric | None:
        """Measure a model, if there is a measure; what is known is not measured again. Any thread may call it."""
        if (stage, silo) in self.scores:
            return self.scores[stage, silo]
        metric = self._scorer.score(stage, silo, model, labels, self._run_dir)
        return None if metric is None else self._append(metric)

    def score_reference(self) -> None:
        """Measure what every other number is read against, where it takes no training to know."""
        with self.stopwatch.during("evaluation"):
            if ("real", None) not in self.scores and (metric := self._scorer.reference()) is not None:
                self._append(metric)

    def finish(self) -> None:
        """Record the last global model as the final one, which is not measured twice."""
        if ("final", None) in self.scores:
            return
        if self._job.learner.personal:
            self._append(
                mean_metric("final", [metric for (stage, _), metric in self.scores.items() if stage == "final"])
            )
        elif (self._last, None) in self.scores:  # nothing is, where the learner has no measure
            if (samples := sample_path(self._run_dir, self._last)).exists():
                write_npz(sample_path(self._run_dir, "final"), *read_npz(samples))
            self._append(self.scores[self._last, None].model_copy(update={"stage": "final"}))

    def _shorten(self, stage: str) -> None:
        """Leave out the details of a round that another one follows: every round is written again with each line."""
        if stage.startswith("round_") and (stage, None) in self.scores:
            self.scores[stage, None] = self.scores[stage, None].model_copy(update={"classification": None})

    def _append(self, metric: QualityMetric) -> QualityMetric:
        with self._lock:
            self.scores[metric.stage, metric.silo] = metric
            write_metrics(self._run_dir, list(self.scores.values()))
        return metric
