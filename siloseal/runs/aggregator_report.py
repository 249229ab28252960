"""The report that a deployed aggregator writes into its state folder when the job is done.

It has the files of every run's folder (see `siloseal.runs.summary`), from the same code. What the aggregator cannot
know is left out: how good the model is, how many examples and which classes a silo holds, what a ledger says exactly.
"""

import time
from pathlib import Path

import torch

from siloseal.aggregator.coordinator import Outcome
from siloseal.aggregator.traffic import Traffic
from siloseal.federation.config.loading import to_yaml
from siloseal.federation.job.guarantee import guarantee_of
from siloseal.federation.job.job import Job
from siloseal.federation.job.phases import Phase
from siloseal.federation.job.sections.privacy import NoPrivacy, SiloLevel
from siloseal.federation.privacy.epsilon import epsilon_text, weakness
from siloseal.federation.records.storage import make_folder, write_atomically
from siloseal.federation.run_events.aggregator import BudgetSpent, ReplayEnded, RequestReplayed
from siloseal.federation.run_events.stream import PublishedBefore, RunEvent
from siloseal.models.building import SharedModel, read_model
from siloseal.models.gan.generators import Generator
from siloseal.models.gan.sampling import generate
from siloseal.report.guarantees import baseline_warnings, parameters
from siloseal.report.notes import aggregator_notes
from siloseal.runs.closing import Known, close_run
from siloseal.runs.folder import is_finished
from siloseal.runs.images import quantise, write_npz
from siloseal.runs.metrics import PrivacyMetric
from siloseal.runs.result import RunResult, from_outcome
from siloseal.runs.scoring import SAMPLING_SEED, SHOWN_PER_CLASS
from siloseal.runs.stopwatch import Stopwatch
from siloseal.runs.summary import SiloSummary, sample_path, write_summary

RESTARTED = "The aggregator was stopped and started again in this run: durations are those of its last part."
PRIVATE = 0o600
"""Mode of the files, as of all files of a state folder."""


class AggregatorRecorder:
    """A subscriber that keeps what a deployed aggregator's report needs, and writes it."""

    def __init__(self, job: Job, state: Path) -> None:
        self._job, self._state = job, state
        self._began, self._stopwatch, self._traffic = time.monotonic(), Stopwatch(), Traffic()
        self._reported = dict[str, float]()
        self._new, self._restarted = False, False

    def hear(self, event: RunEvent) -> None:
        """Follow the run."""
        self._stopwatch.hear(event)
        self._traffic.hear(event)
        match event:
            case BudgetSpent(silo, epsilon) | PublishedBefore(BudgetSpent(silo, epsilon)):
                self._reported[silo] = epsilon
            case ReplayEnded():
                self._new = True
            case RequestReplayed() if not self._new:  # by another process; this one replays its own after a full disk
                self._restarted = True

    def write(self, outcome: Outcome) -> Path:
        """Write the files of a finished run, and return the path of its report. What is there already stays."""
        report = self._state / "report.html"
        if is_finished(self._state):
            return report
        finished = from_outcome(self._job, outcome, self._traffic.counted())
        write_atomically(self._state / "config.yaml", to_yaml(self._job).encode(), mode=PRIVATE)
        self._keep_samples(finished.network)
        known = Known(
            scores={},
            timings=self._stopwatch.timings(),
            privacy=self._privacy(),
            silos=[self._silo(name) for name in self._job.silos.names],
            parameters=parameters(self._job, {}, {}, finished),
            warnings=self._warnings(finished),
            notes=aggregator_notes(self._job),
            seconds=time.monotonic() - self._began,
            written_by="aggregator",
        )
        write_summary(self._state, close_run(self._job, self._state, finished, known, mode=PRIVATE), mode=PRIVATE)
        from siloseal.report.run_report import write_report  # here: it draws, and only a finished run has to

        return write_report(self._state)

    def _warnings(self, finished: RunResult) -> list[str]:
        return [*finished.notes, *baseline_warnings(self._job), *([RESTARTED] if self._restarted else [])]

    def _epsilon(self, silo: str) -> float | None:
        """The most that the silo can have spent on what it released, as far as it is known here."""
        if isinstance(self._job.privacy, NoPrivacy):
            return None
        # A silo reports before it joins a sum. Where sums cost something, its last report lacks the last of them.
        complete = not isinstance(self._job.privacy, SiloLevel)
        return self._reported.get(silo, self._job.privacy.epsilon) if complete else self._job.privacy.epsilon

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
            accuracy_alone=None,
            accuracy_trained=None,
            statement=self._statement(name),
        )

    def _statement(self, name: str) -> str:
        privacy, epsilon = self._job.privacy, self._epsilon(name)
        if isinstance(privacy, NoPrivacy) or epsilon is None:
            return f"{name}: no guarantee; privacy was switched off in the job."
        guarantee = guarantee_of(self._job)
        how = "as the silo reported" if epsilon < privacy.epsilon else "which the silo's ledger does not exceed"
        return (
            f"{name}: at most ({epsilon_text(epsilon)}, {privacy.delta:g})-differential privacy{weakness(epsilon)} for "
            f"{guarantee.unit} ({guarantee.relation}), {how}; {guarantee.noise}. "
            "Its own ledger has the exact statement."
        )

    def _keep_samples(self, final: SharedModel) -> None:
        """Images that the released generators draw, which costs no privacy; nothing for learners that draw none."""
        if not isinstance(final, Generator):
            return
        make_folder(self._state / "samples", mode=0o700)
        models: dict[str, SharedModel] = {"final": final}
        for phase in (Phase.WARM_START, Phase.PHASE_1):
            if (path := self._state / "models" / f"{phase}.safetensors").exists():
                models[phase] = read_model(path)
        for stage, model in models.items():
            if isinstance(model, Generator):
                drawn = generate(model, torch.arange(model.classes).repeat(SHOWN_PER_CLASS), seed=SAMPLING_SEED)
                images, labels = quantise(drawn.images), drawn.labels.numpy()
                write_npz(sample_path(self._state, stage), images, labels, mode=PRIVATE)
