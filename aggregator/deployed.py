"""The aggregator as a process of its own: it serves one run of one job, and goes on with it after any stop."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import assert_never

from siloseal.aggregator.admission import Admission
from siloseal.aggregator.averages import AggregatorAverages
from siloseal.aggregator.config import AggregatorConfig
from siloseal.aggregator.coordinator import Coordinator, Outcome
from siloseal.aggregator.dispatcher import Patience
from siloseal.aggregator.journal import Journal
from siloseal.aggregator.model_files import ModelFiles
from siloseal.aggregator.queries import AggregatorQueries
from siloseal.aggregator.replay import ReplayFilter
from siloseal.aggregator.request_queue import RequestQueue
from siloseal.aggregator.service import ConsortiumService, serving
from siloseal.aggregator.status import Status
from siloseal.aggregator.training import AggregatorTraining, PublicSum, TrainedModel
from siloseal.federation.analytics.answers import ANSWERS_FILE, Answers
from siloseal.federation.analytics.any_job import AnyJob, load_any_job
from siloseal.federation.analytics.config import AnalyticsJob
from siloseal.federation.analytics.releases import require_feasible
from siloseal.federation.averages.config import AverageJob
from siloseal.federation.averages.outcome import AVERAGES_FILE, Averages
from siloseal.federation.errors import CannotWrite, ConfigError
from siloseal.federation.job.job import Job
from siloseal.federation.records.roster import Roster, read_roster
from siloseal.federation.records.storage import make_folder, write_atomically
from siloseal.federation.run_events.aggregator import (
    AnswersWritten,
    AveragesWritten,
    GlobalModelWritten,
    ReportWritten,
    RunFinished,
    Serving,
    WritingFailed,
)
from siloseal.federation.run_events.stream import EventStream
from siloseal.federation.transport.backoff import Backoff
from siloseal.federation.transport.pki.certificates import Revocations, Role
from siloseal.federation.transport.tls import read_credentials
from siloseal.federation.transport.wire import consortium_pb2 as pb
from siloseal.federation.transport.wire.version import PROTOCOL_VERSION
from siloseal.models.model_files import GLOBAL_MODEL
from siloseal.models.user_code.loading import load_code
from siloseal.models.user_code.pinning import require_pinned

Ended = Outcome[TrainedModel | Answers | Averages]
"""What a run ends with: a model, the answers to queries, or what is known of averages."""

Report = Callable[[Ended], Path]
"""Writes the report of a finished run, and gives its path. The caller brings it: reports are made elsewhere."""


class DeployedAggregator:
    """One run. Everything that can be wrong with its files is an error before it listens."""

    def __init__(self, config: AggregatorConfig, *, public_sum: PublicSum, events: EventStream) -> None:
        """`events` has the audit log as its subscriber. Whoever shows what has happened subscribes after this."""
        self._config, self._publish = config, events.publish
        self.job = load_any_job(config.job)
        match self.job:
            case AnalyticsJob() as job:
                require_feasible(job)
            case Job() as job:
                _require_own_code(job)
        self._roster = _roster_for(self.job, config.roster)
        self._credentials = read_credentials(config.tls, role=Role.AGGREGATOR)
        revocations = Revocations(
            config.revoked, self._credentials.authority, remembered=config.state / "newest_revoked.json"
        )
        self._admission = Admission(self._credentials.bearer.consortium, self.job.silos.names, revocations)
        make_folder(config.state, mode=0o700)
        self._journal = Journal(config.state / "journal.sqlite", self.job.digest)
        self._queue = RequestQueue(self.job.silos.names, events.publish)
        self._public_sum, self._replay = public_sum, ReplayFilter(events.publish)
        self.status = Status(self.job, self._journal.run_id, self._queue, warning=self._roster.warning)
        events.subscribe(self.status.hear)

    @property
    def run_id(self) -> bytes:
        """The id of the run, the same for its whole life."""
        return self._journal.run_id

    def run(self, report: Report) -> Ended:
        """Serve the silos until the job is done and reported."""
        with self._serving():
            try:
                return self._until_written(report)
            finally:
                self._queue.close()

    def _until_written(self, report: Report) -> Ended:
        """A disk that takes nothing sends nobody home: the run is played again from its journal until there is room."""
        backoff = Backoff()
        while True:
            try:
                return self._run(report)
            except (OSError, CannotWrite) as error:
                reason = f"the aggregator cannot write ({error}); free some space or mend access, and the run goes on"
                seconds = backoff.seconds()
                self._publish(WritingFailed(reason, round(seconds, 1)))
                time.sleep(seconds)

    def _run(self, report: Report) -> Ended:
        outcome = self._coordinated()
        if warning := self._roster.warning:
            outcome = replace(outcome, notes=[warning, *outcome.notes])
        kept = self._keep(outcome.result)
        page = report(outcome)
        self._publish(RunFinished(outcome.requests, len(outcome.notes)))
        self._publish(kept)
        self._publish(ReportWritten(str(page)))
        return outcome

    def _coordinated(self) -> Ended:
        """Run the job, or what is left of it, with whoever follows its kind of work."""
        minutes, replay = self._config.deadlines, self._replay.hear
        patience = Patience(60 * minutes.training_minutes, 60 * minutes.message_minutes)
        match self.job:
            case Job() as job:
                models = ModelFiles(job, self._config.state / "models", replay)
                publish = EventStream(models.hear, replay).publish
                training = AggregatorTraining(job, self._public_sum, publish)
                return Coordinator(job, training, self._queue, self._journal, publish, patience).run()
            case AnalyticsJob() as job:
                queries = AggregatorQueries(job, replay)
                return Coordinator(job, queries, self._queue, self._journal, replay, patience).run()
            case AverageJob() as job:
                averages = AggregatorAverages(job, replay)
                return Coordinator(job, averages, self._queue, self._journal, replay, patience).run()
            case _:
                assert_never(self.job)

    def _keep(self, result: TrainedModel | Answers | Averages) -> GlobalModelWritten | AnswersWritten | AveragesWritten:
        """Write what the run has found into a file of the state folder."""
        match result:
            case TrainedModel():
                return GlobalModelWritten(self._write(GLOBAL_MODEL, result.file()))
            case Answers():
                return AnswersWritten(self._write(ANSWERS_FILE, result.to_json()))
            case Averages():
                return AveragesWritten(self._write(AVERAGES_FILE, result.to_json()))
            case _:
                assert_never(result)

    def _write(self, name: str, content: bytes) -> str:
        path = self._config.state / name
        write_atomically(path, content, mode=0o600)
        return str(path)

    def close(self) -> None:
        """Release the files."""
        self._journal.close()

    @contextmanager
    def _serving(self) -> Iterator[None]:
        config, run_id = self._config, self.run_id
        offer = pb.JobOffer(run_id=run_id, job=self.job.model_dump_json(), protocol_version=PROTOCOL_VERSION)
        service = ConsortiumService(offer, self._queue, self._admission, self.status.report, self._publish)
        host = f"[{config.host}]" if ":" in config.host else config.host
        address, silos = f"{host}:{config.port}", self.job.silos.names
        with serving(service, self._credentials, address=address, silos=len(silos)):
            self._publish(Serving(address, run_id.hex(), self.job.digest.hex(), silos))
            yield


def _require_own_code(job: Job) -> None:
    """Refuse a job whose code is not here, or is not pinned, before any silo sees it."""
    require_pinned(job.learner)
    if job.learner.code is not None:
        load_code(job.learner.code)


def _roster_for(job: AnyJob, path: Path) -> Roster:
    """The roster in this file; `ConfigError` where it lacks a silo of the job, whom no other silo would believe."""
    roster = read_roster(path)
    if strangers := set(job.silos.names) - set(roster.identities):
        raise ConfigError(
            f"{path} has no key of {', '.join(sorted(strangers))}, whom the job names; take the roster and the job of "
            "one provisioning"
        )
    return roster
