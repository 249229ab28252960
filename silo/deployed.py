"""A silo as a process of its own: it dials the aggregator, does its part, and outlives every interruption."""

import hashlib
import os
import time
from dataclasses import dataclass, replace

from federation.audit import LONGEST_TEXT
from federation.errors import ConfigError, SiloSealError, WrongRound
from federation.identity import Identity
from federation.randomness import Randomness
from federation.roster import read_roster
from federation.transport.patience import Backoff
from federation.wire import messages_pb2 as pb
from federation.wire.codec import decode
from federation.witness import Witness
from silo.client import AggregatorClient, clocks_differ
from silo.config import SiloConfig
from silo.data.loading import load
from silo.participation import Participation, take_part, unended
from silo.training.trainer import TrainingProgress

FAREWELL_SECONDS = 60.0
"""So long a silo that has finished tries to bring its last reply; by then the aggregator has no need of it."""


@dataclass(frozen=True)
class Standing:
    """Where a silo is, for an operator's tools."""

    connected: bool = False
    number: int = 0
    steps_done: int = 0
    steps: int = 0
    epsilon: float = 0.0


class DeployedSilo:
    """What can be seen to be wrong at the start is an error at once; what may pass later is waited for."""

    def __init__(self, config: SiloConfig, *, randomness: Randomness, witness: Witness) -> None:
        self._config, self._randomness, self._witness = config, randomness, witness
        self._instance = os.urandom(16)
        self._identity = Identity.read(config.name, config.identity)
        self._roster = read_roster(config.roster).keys
        if self._roster.get(config.name) != self._identity.public:
            raise ConfigError(
                f"{config.roster} has another key for {config.name} than {config.identity}, or none; both must come "
                "from the same provisioning"
            )
        AggregatorClient(config, self._instance).close()  # certificate and key are there and fit
        self._data, _ = load(config.data)
        self._run: tuple[bytes, Participation] | None = None
        self.standing = Standing()

    def serve(self) -> Participation:
        """Take part until the run is over. After a kill between its last reply and its end there is a farewell, too."""
        backoff, finished_at = Backoff(), float("inf")
        if offer := unended(self._config):
            self._participation(offer)
        while True:
            try:
                reason = self._connected(backoff)
            except (SiloSealError, OSError) as error:
                reason = f"{type(error).__name__}: {error}"
            if self._run is not None and self._run[1].finished:
                finished_at = min(finished_at, time.monotonic())
                if not reason or time.monotonic() - finished_at > FAREWELL_SECONDS:
                    self._witness.record("leaves", run=self._run[0].hex(), epsilon=self._run[1].epsilon)
                    self._run[1].leave()
                    return self._run[1]
            seconds = backoff.seconds()
            self._witness.show("waiting", reason=reason, seconds=round(seconds, 1))
            time.sleep(seconds)

    def close(self) -> None:
        """Release the files."""
        if self._run is not None:
            self._run[1].close()

    def _connected(self, backoff: Backoff) -> str:
        """One connection, from the offer to its end; the reason why there must be another, empty if none."""
        client = AggregatorClient(self._config, self._instance)
        try:
            offer = client.offer()
            run = self._participation(offer)
            self.standing = replace(self.standing, connected=True)
            for request in client.requests(offer.run_id):
                self._answer(client, run, request)
                backoff.reset()
                if run.finished:
                    return ""
        finally:
            self.standing = replace(self.standing, connected=False)
            client.close()
        return "" if run.finished else "the aggregator has hung up; it will be back if the run is not over"

    def _participation(self, offer: pb.JobOffer) -> Participation:
        if self._run is not None and self._run[0] == offer.run_id and not self._run[1].refused:
            return self._run[1]
        self.close()
        self._run = None
        if offer.time and (warning := clocks_differ(offer)):
            self._witness.record("clocks_differ", words=warning)
        run = take_part(
            self._config,
            offer,
            self._data,
            identity=self._identity,
            roster=self._roster,
            randomness=self._randomness,
            on_progress=self._show,
        )
        job_digest = hashlib.sha256(offer.job.encode()).hexdigest()
        if run.refused:
            self._witness.record("refuses", run=offer.run_id.hex(), offer=job_digest, words=run.refused[:LONGEST_TEXT])
        else:
            self._witness.record("takes_part", run=offer.run_id.hex(), offer=job_digest)
        self._run = offer.run_id, run
        return run

    def _answer(self, client: AggregatorClient, run: Participation, request: bytes) -> None:
        message = decode(pb.Request, request)
        what = message.WhichOneof("body") or "nothing"
        self._witness.show("asked", number=message.number, what=what, size=len(request))
        reply = run.answer(request)
        self._witness.record(
            "answers",
            number=message.number,
            what=what,
            answer=decode(pb.Reply, reply).WhichOneof("body"),
            request=hashlib.sha256(request).hexdigest(),
            request_bytes=len(request),
            reply=hashlib.sha256(reply).hexdigest(),
            reply_bytes=len(reply),
            epsilon=run.epsilon,
        )
        self.standing = replace(self.standing, number=message.number, epsilon=run.epsilon or 0.0)
        try:
            client.deliver(reply)
        except WrongRound as error:  # it came too late, or came before: the next request tells how the run goes on
            self._witness.record("not_needed", number=message.number, words=str(error)[:LONGEST_TEXT])
        else:
            self._witness.show("delivered", number=message.number)

    def _show(self, silo: str, progress: TrainingProgress) -> None:
        self.standing = replace(self.standing, steps_done=progress.steps_done, steps=progress.steps)
        metrics = {name: float(value) for name, value in progress.metrics.items()}
        self._witness.show("training", phase=progress.phase, done=progress.steps_done, steps=progress.steps, **metrics)
