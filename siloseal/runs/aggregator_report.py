"""The report that a deployed aggregator writes into its state folder when the job is done.

It has the files of every run's folder (see `siloseal.run_folder.summary`), from the same code. What the aggregator
cannot know is left out: how good the model is, how many examples and which classes a silo holds, what a ledger says
exactly.
"""

import time
from pathlib import Path

import torch
from torch import nn

from siloseal.aggregator.coordinator import Outcome
from siloseal.aggregator.traffic import Traffic
from siloseal.aggregator.training import TrainedModel
from siloseal.federation.analytics.answers import Answers
from siloseal.federation.analytics.any_job import AnyJob
from siloseal.federation.analytics.config import AnalyticsJob
from siloseal.federation.analytics.guarantee import guarantee_in
from siloseal.federation.averages.config import AverageJob
from siloseal.federation.averages.outcome import AVERAGES_FILE, Averages
from siloseal.federation.config.loading import to_yaml
from siloseal.federation.errors import RunError
from siloseal.federation.job.job import Job
from siloseal.federation.job.phases import Phase, rounds_of
from siloseal.federation.job.planning import costs_of
from siloseal.federation.job.sections.privacy import NoPrivacy, SiloLevel, TaskLevel
from siloseal.federation.privacy.guarantee import NO_GUARANTEE
from siloseal.federation.records.storage import make_folder, write_atomically
from siloseal.federation.run_events.aggregator import BudgetSpent
from siloseal.federation.run_events.coordination import ReplayEnded, RequestReplayed
from siloseal.federation.run_events.stream import PublishedBefore, RunEvent
from siloseal.models.building import vector_lengths
from siloseal.models.gan.generators import Generator
from siloseal.models.gan.sampling import generate
from siloseal.models.model_files import read_model
from siloseal.run_folder.images import quantise, write_npz
from siloseal.run_folder.metrics import PrivacyMetric
from siloseal.run_folder.run import find_samples, read_run, sample_path
from siloseal.run_folder.summary import RunSummary, SiloSummary, as_kept
from siloseal.runs.closing import Known, close_run, finish_folder, write_page_of
from siloseal.runs.closing_queries import close_queries
from siloseal.runs.guarantees import baseline_warnings, parameters, query_parameters
from siloseal.runs.notes import aggregator_notes
from siloseal.runs.result import as_metrics, from_trained
from siloseal.runs.scoring import SAMPLING_SEED, SHOWN_PER_CLASS
from siloseal.runs.stopwatch import Stopwatch
from siloseal.silo.allowance import epsilon_of_one_example
from siloseal.silo.queries import events_of_queries

RESTARTED = "The aggregator was stopped and started again in this run: durations are those of its last part."
PRIVATE = 0o600
"""Mode of the files, as of all files of a state folder."""


class AggregatorRecorder:
    """A subscriber that keeps what a deployed aggregator's report needs, and writes it."""

    def __init__(self, job: AnyJob, state: Path, run_id: bytes) -> None:
        self._job, self._state, self._run_id = job, state, run_id.hex()
        self._began, self._stopwatch, self._traffic = time.monotonic(), Stopwatch(), Traffic()
        self._spent = dict[str, float]()
        """The most that each silo can have spent, by what was published last; nothing before its first work."""
        self._of_one_example = dict[str, float | None]()
        """The most that the job can cost one example of each silo, where that follows from the job alone."""
        self._new, self._restarted = False, False

    def hear(self, event: RunEvent) -> None:
        """Follow the run."""
        self._stopwatch.hear(event)
        self._traffic.hear(event)
        match event:
            case BudgetSpent(silo, epsilon) | PublishedBefore(BudgetSpent(silo, epsilon)):
                self._spent[silo] = epsilon
            case ReplayEnded():
                self._new = True
            case RequestReplayed() if not self._new:  # by another process; this one replays its own after a full disk
                self._restarted = True

    def write(self, outcome: Outcome[TrainedModel | Answers | Averages]) -> Path:
        """Write the files of a finished run, and return the path of its report.

        What a process before this one measured and wrote of the same run stays: it has seen more of it. Averages have
        nothing to report on beside averages.json, which is written already: nobody here has a model to measure.
        """
        if isinstance(self._job, AverageJob):
            return self._state / AVERAGES_FILE
        if self._is_summed_up():
            return write_page_of(self._state)
        for path in find_samples(self._state / "samples").values():  # those of another run
            path.unlink()
        write_atomically(self._state / "config.yaml", to_yaml(self._job).encode(), mode=PRIVATE)
        match self._job, outcome.result:
            case Job(), TrainedModel() as trained:
                summary = self._trained(trained, outcome.notes)
            case AnalyticsJob() as job, Answers() as answers:
                summary = self._answered(job, answers, outcome.notes)
            case _:
                raise AssertionError("a job that trains ends with a model, and a job of queries with answers")
        return finish_folder(self._state, summary, mode=PRIVATE)

    def _is_summed_up(self) -> bool:
        """Whether the folder has the summary and the metrics of this run, and not of one before it."""
        try:
            run = read_run(self._state)
        except RunError:
            return False
        return run.summary.run_id == self._run_id and bool(run.metrics)

    def _trained(self, trained: TrainedModel, notes: list[str]) -> RunSummary:
        finished = from_trained(trained, notes, self._traffic.counted())
        self._keep_samples(trained.job, finished.network)
        if isinstance((job := trained.job).privacy, SiloLevel):
            lengths = vector_lengths(job, finished.shape, finished.classes)
            for name in job.silos.names:
                planned = [event for events in costs_of(job, name, lengths).values() for event in events]
                self._of_one_example[name] = epsilon_of_one_example(job, planned)
        known = self._known(parameters(trained.job, {}, {}, finished), [*notes, *baseline_warnings(trained.job)])
        return close_run(trained.job, self._state, finished, known, mode=PRIVATE)

    def _answered(self, job: AnalyticsJob, answers: Answers, notes: list[str]) -> RunSummary:
        most = epsilon_of_one_example(job, events_of_queries(job, []))
        self._of_one_example = dict.fromkeys(job.silos.names, most)
        known = self._known(query_parameters(job, {}), notes)
        return close_queries(job, self._state, answers, as_metrics(self._traffic.counted()), known, mode=PRIVATE)

    def _known(self, rows: dict[str, str], warnings: list[str]) -> Known:
        """Everything that an aggregator knows of a run beside its result."""
        return Known(
            scores={},
            timings=self._stopwatch.timings(),
            privacy=self._privacy(),
            silos=[self._silo(name) for name in self._job.silos.names],
            parameters=rows,
            warnings=[*warnings, *([RESTARTED] if self._restarted else [])],
            notes=aggregator_notes(self._job),
            seconds=time.monotonic() - self._began,
            written_by="aggregator",
            run_id=self._run_id,
        )

    def _epsilon(self, silo: str) -> float | None:
        """The most that the silo can have spent; None where privacy is off."""
        return None if isinstance(self._job.privacy, NoPrivacy) else self._spent.get(silo, 0.0)

    def _privacy(self) -> list[PrivacyMetric]:
        delta = None if isinstance(self._job.privacy, NoPrivacy) else self._job.privacy.delta
        names = self._job.silos.names
        return [PrivacyMetric(silo=name, phase="total", epsilon=self._epsilon(name), delta=delta) for name in names]

    def _silo(self, name: str) -> SiloSummary:
        privacy = self._job.privacy
        return SiloSummary(
            name=name,
            examples=None,
            labels=None,
            epsilon=self._epsilon(name),
            budget=None if isinstance(privacy, NoPrivacy) else privacy.epsilon,
            epsilon_of_one_example=as_kept(self._of_one_example.get(name)),
            accuracy_alone=None,
            accuracy_trained=None,
            statement=self._statement(name),
        )

    def _statement(self, name: str) -> str:
        privacy, epsilon = self._job.privacy, self._epsilon(name)
        if isinstance(privacy, NoPrivacy) or epsilon is None:
            return f"{name}: {NO_GUARANTEE}"
        stated = guarantee_in(self._job).statement(epsilon, privacy.delta, accounting="counted by its ledger")
        known = "as far as the aggregator knows" if epsilon < privacy.epsilon else "because its ledger allows no more"
        own = "Its own ledger has the exact statement"
        if isinstance(privacy, TaskLevel):
            own += ", with what one example costs"
        return f"{name}: at most {stated} It has not spent more, {known}. {own}."

    def _keep_samples(self, job: Job, final: nn.Module) -> None:
        """Images that the released generators draw, which costs no privacy; nothing for learners that draw none."""
        # Every run keeps its first model. One of phase 1 may be an earlier run's where this job has no such phase.
        phases = [
            phase for phase in (Phase.WARM_START, Phase.PHASE_1) if phase is Phase.WARM_START or rounds_of(job, phase)
        ]
        if not isinstance(final, Generator):
            return
        make_folder(self._state / "samples", mode=0o700)
        models: dict[str, nn.Module] = {"final": final}
        for phase in phases:
            if (path := self._state / "models" / f"{phase}.safetensors").exists():
                models[phase] = read_model(path).network
        for stage, model in models.items():
            if isinstance(model, Generator):
                drawn = generate(model, torch.arange(model.classes).repeat(SHOWN_PER_CLASS), seed=SAMPLING_SEED)
                images, labels = quantise(drawn.images), drawn.labels.numpy()
                write_npz(sample_path(self._state, stage), images, labels, mode=PRIVATE)
