"""The aggregator as a process of its own: it serves one run of one job, and goes on with it after any stop."""

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from siloseal.aggregator.admission import Admission
from siloseal.aggregator.config import AggregatorConfig
from siloseal.aggregator.coordinator import Coordinator, Outcome, PublicSum
from siloseal.aggregator.dispatcher import Patience
from siloseal.aggregator.journal import Journal
from siloseal.aggregator.observer import Model, Observer, Shape
from siloseal.aggregator.request_queue import RequestQueue
from siloseal.aggregator.service import ConsortiumService, serving
from siloseal.aggregator.status import Status
from siloseal.federation.config.loading import load_config
from siloseal.federation.errors import CannotWrite, ConfigError
from siloseal.federation.job.job import Job
from siloseal.federation.records.audit import LONGEST_TEXT
from siloseal.federation.records.roster import Roster, read_roster
from siloseal.federation.records.storage import make_folder, write_atomically
from siloseal.federation.records.witness import Fact, Witness
from siloseal.federation.transport.patience import Backoff
from siloseal.federation.transport.pki.certificates import Revocations, Role
from siloseal.federation.transport.tls import read_credentials
from siloseal.federation.transport.wire import consortium_pb2 as pb
from siloseal.federation.transport.wire.version import PROTOCOL_VERSION
from siloseal.models.building import load_model, model_file

OUTCOME_FILE = "outcome.json"
GLOBAL_MODEL = "global.safetensors"


class DeployedAggregator:
    """One run. Everything that can be wrong with its files is an error before it listens."""

    def __init__(self, config: AggregatorConfig, *, public_sum: PublicSum, witness: Witness) -> None:
        self._config, self._witness = config, witness
        self.job = load_config(Job, config.job)
        self._roster = _roster_for(self.job, config.roster)
        self._credentials = read_credentials(config.tls, role=Role.AGGREGATOR)
        revocations = Revocations(
            config.revoked, self._credentials.authority, remembered=config.state / "newest_revoked.json"
        )
        self._admission = Admission(self._credentials.bearer.consortium, self.job.silos.names, revocations)
        make_folder(config.state, mode=0o700)
        self._journal = Journal(config.state / "journal.sqlite", self.job.digest)
        self._queue = RequestQueue(self.job.silos.names, witness)
        patience = Patience(60 * config.deadlines.training_minutes, 60 * config.deadlines.message_minutes)
        self._observer = _Watching(self.job, config.state, witness)
        self._new_coordinator = partial(
            Coordinator, self.job, self._queue, self._journal, self._observer, public_sum, patience
        )
        self._coordinator = self._new_coordinator()
        self.status = self._observer.status = Status(self.job, lambda: self._coordinator, self._queue)

    def run(self) -> Outcome:
        """Serve the silos until the job is done."""
        with self._serving():
            try:
                return self._until_written()
            finally:
                self._queue.close()

    def _until_written(self) -> Outcome:
        """A disk that takes nothing sends nobody home: the run is played again from its journal until there is room."""
        backoff = Backoff()
        while True:
            try:
                return self._run()
            except (OSError, CannotWrite) as error:
                reason = f"the aggregator cannot write ({error}); free some space or mend access, and the run goes on"
                seconds, self.status.trouble = backoff.seconds(), reason
                self._witness.show("cannot_write", reason=reason, seconds=round(seconds, 1))
                time.sleep(seconds)
                self._observer.begin_again()
                self._coordinator = self._new_coordinator()

    def _run(self) -> Outcome:
        outcome = self._coordinator.run()
        if warning := self._roster.warning:
            outcome = replace(outcome, notes=[warning, *outcome.notes])
        network = load_model(self.job, outcome.image_shape, outcome.classes, outcome.model)
        write_atomically(self._config.state / GLOBAL_MODEL, model_file(self.job.learner, network), mode=0o600)
        write_atomically(self._config.state / OUTCOME_FILE, _summary(outcome), mode=0o600)
        self._witness.record("finished", requests=outcome.dispatcher.number, notes=len(outcome.notes))
        self._witness.show("global_model", path=str(self._config.state / GLOBAL_MODEL))
        return outcome

    def close(self) -> None:
        """Release the files."""
        self._journal.close()

    @contextmanager
    def _serving(self) -> Iterator[None]:
        config, run_id = self._config, self._journal.run_id
        offer = pb.JobOffer(run_id=run_id, job=self.job.model_dump_json(), protocol_version=PROTOCOL_VERSION)
        service = ConsortiumService(offer, self._queue, self._admission, self.status.report, self._witness)
        host = f"[{config.host}]" if ":" in config.host else config.host
        address, silos = f"{host}:{config.port}", self.job.silos.names
        with serving(service, self._credentials, address=address, silos=len(silos)):
            self._witness.record(
                "serves", address=address, run=run_id.hex(), job=self.job.digest.hex(), silos=list(silos)
            )
            yield


class _Watching(Observer):
    """Tells the witness, and keeps every global model where others can look at it.

    What is replayed after a stop is shown again, for whoever looks on only now, but is in the audit log already; what
    came after the last entry of the journal may not be.
    """

    status: Status

    def __init__(self, job: Job, folder: Path, witness: Witness) -> None:
        self._job, self._folder, self._witness = job, folder / "models", witness
        self._shape, self._classes = (0, 0, 0), 0
        self._untold: list[tuple[str, dict[str, Fact]]] | None = []
        """Since the last replayed request; None while nothing is replayed."""

    def _tell(self, event: str, **facts: Fact) -> None:
        if self._untold is None:
            self._witness.record(event, **facts)
        else:
            self._untold.append((event, facts))

    def replayed(self) -> None:
        for event, facts in self._untold or ():
            self._witness.show(event, **facts)
        self._untold = []

    def goes_on(self) -> None:
        untold, self._untold, self.status.trouble = self._untold or [], None, ""
        for event, facts in untold:
            self._witness.record(event, **facts)

    def begin_again(self) -> None:
        """Everything is replayed once more."""
        self._untold = []

    def refused(self, number: int, silo: str, error: str) -> None:
        self._witness.record("refused", number=number, silo=silo, error=error[:LONGEST_TEXT])

    def stage(self, stage: str) -> None:
        self._tell("stage", stage=stage)

    def asked(self, number: int, what: str, silos: Sequence[str], request_digests: Sequence[bytes], size: int) -> None:
        digests = [digest.hex() for digest in request_digests]
        self._witness.record("asks", number=number, what=what, silos=list(silos), requests=digests, request_bytes=size)

    def accepted(self, number: int, silo: str, reply_digest: bytes, size: int) -> None:
        self._witness.record("accepts", number=number, silo=silo, reply=reply_digest.hex(), reply_bytes=size)

    def kept(self, number: int, silo: str, reply_digest: bytes, size: int) -> None:
        self._witness.record("kept", number=number, silo=silo, reply=reply_digest.hex(), reply_bytes=size)

    def silent(self, number: int, silos: Sequence[str]) -> None:
        self._witness.record("goes_on_without", number=number, silos=list(silos))

    def enrolled(self, image_shape: Shape, classes: int) -> None:
        self._shape, self._classes = image_shape, classes

    def fitting(self, step: int, steps: int) -> None:
        if step % 10 == 9 or step + 1 == steps:
            self._witness.show("fitting", done=step + 1, steps=steps)

    def spent(self, silo: str, epsilon: float) -> None:
        self.status.epsilon[silo] = epsilon
        self._tell("spent", silo=silo, epsilon_at_most=epsilon)

    def model(self, stage: str, model: Model) -> None:
        network = load_model(self._job, self._shape, self._classes, model)
        make_folder(self._folder, mode=0o700)
        path, content = self._folder / f"{stage}.safetensors", model_file(self._job.learner, network)
        if not path.exists() or path.read_bytes() != content:
            write_atomically(path, content, mode=0o600)
        self._tell("model", stage=stage, path=path.name)


def _roster_for(job: Job, path: Path) -> Roster:
    """The roster in this file; `ConfigError` where it lacks a silo of the job, whom no other silo would believe."""
    roster = read_roster(path)
    if strangers := set(job.silos.names) - set(roster.identities):
        raise ConfigError(
            f"{path} has no key of {', '.join(sorted(strangers))}, whom the job names; take the roster and the job of "
            "one provisioning"
        )
    return roster


def _summary(outcome: Outcome) -> bytes:
    document = {
        "image_shape": outcome.image_shape,
        "classes": outcome.classes,
        "parameters": outcome.model.size,
        "notes": outcome.notes,
        "traffic": outcome.dispatcher.traffic(),
    }
    return (json.dumps(document, indent=2) + "\n").encode()
