"""A silo as a process of its own: it dials the aggregator, does its part, and outlives every interruption."""

import hashlib
import math
import os
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress

from siloseal.federation.errors import ConfigError, RunError, SiloSealError, WrongRound
from siloseal.federation.randomness import Randomness
from siloseal.federation.records.audit import LONGEST_TEXT
from siloseal.federation.records.identity import Identity
from siloseal.federation.records.roster import read_roster
from siloseal.federation.run_events.silo import (
    ClocksDiffer,
    ConnectionChanged,
    DialDelayed,
    JobAccepted,
    JobRefused,
    ReplyDelivered,
    ReplyNotNeeded,
    RequestAnswered,
    RequestReceived,
    RunLeft,
)
from siloseal.federation.run_events.stream import Subscriber
from siloseal.federation.transport.backoff import Backoff
from siloseal.federation.transport.wire import consortium_pb2 as pb
from siloseal.silo.client import AggregatorClient, clocks_differ
from siloseal.silo.config import SiloConfig
from siloseal.silo.data.own import load_own
from siloseal.silo.handover import Handover
from siloseal.silo.messages import ReceivedRequest
from siloseal.silo.participation import Participation, require_kept, take_part, unended

FAREWELL_SECONDS = 60.0
"""Time for which a silo that has finished tries to bring its last reply; by then the aggregator has no need of it."""


IN_TOUCH_SECONDS = 20.0


class DeployedSilo:
    """A silo's process. What is wrong at the start is an error at once; what may pass later is waited for."""

    def __init__(
        self,
        config: SiloConfig,
        *,
        randomness: Randomness,
        publish: Subscriber,
        past_runs: Iterable[str] = (),
        script: Handover | None = None,
    ) -> None:
        """`past_runs` are those that the silo has ever taken part in, by its audit log.

        With a `script`, the silo averages what that hands over, and does not read its records.
        """
        self._config, self._randomness, self._publish = config, randomness, publish
        self._past_runs = set(past_runs)
        require_kept(config.state, self._past_runs)
        self._instance = os.urandom(16)
        self._identity = Identity.read(config.name, config.identity)
        self._roster = read_roster(config.roster).keys
        if self._roster.get(config.name) != self._identity.public:
            raise ConfigError(
                f"{config.roster} has another key for {config.name} than {config.identity}, or none; both must come "
                "from the same provisioning"
            )
        AggregatorClient(config, self._instance).close()  # certificate and key are there and fit
        self._data = load_own(config) if script is None else script
        self._stopped = threading.Event()
        self._client: AggregatorClient | None = None
        self._run: tuple[bytes, Participation] | None = None
        self._delivered = False
        """Whether the aggregator has confirmed the last reply."""

    def serve(self) -> Participation:
        """Take part until the run is over. After a kill between its last reply and its end there is a farewell, too.

        `RunError` where another thread has stopped it before that.
        """
        backoff, farewell = Backoff(), math.inf
        while not self._stopped.is_set():
            try:
                if self._run is None and (offer := unended(self._config)) is not None:
                    self._participation(offer)
                reason = self._connected(backoff)
            except (SiloSealError, OSError) as error:
                reason = f"{type(error).__name__}: {error}"
            if self._run is None or not self._run[1].finished:
                farewell = math.inf
            else:
                farewell = min(farewell, time.monotonic() + FAREWELL_SECONDS)
                with suppress(OSError):  # no room for a line: later
                    if not reason or time.monotonic() > farewell:
                        return self._leave(*self._run, reason)
            seconds, left = backoff.seconds(), farewell - time.monotonic()
            seconds = min(seconds, left + 0.01) if left > 0 else seconds
            if not self._stopped.is_set():
                self._publish(DialDelayed(reason, round(seconds, 1)))
            self._stopped.wait(seconds)
        raise RunError(f"{self._config.name} was stopped before the run was over; the same run goes on when it is back")

    def stop(self) -> None:
        """Let `serve` end as soon as it can: the silo falls silent. Any thread may call it."""
        self._stopped.set()
        if (client := self._client) is not None:
            client.close()

    def close(self) -> None:
        """Release the files."""
        if self._run is not None:
            self._run[1].close()

    def _leave(self, run_id: bytes, run: Participation, reason: str) -> Participation:
        self._publish(RunLeft(run_id.hex(), run.epsilon, self._delivered, reason[:LONGEST_TEXT]))
        run.leave()
        return run

    def _connected(self, backoff: Backoff) -> str:
        """One connection, from the offer to its end; the reason why there must be another, empty if none."""
        self._client = client = AggregatorClient(self._config, self._instance)
        try:
            if self._stopped.is_set():  # before there was a connection to close
                return "it was stopped"
            offer = client.offer()
            if self._is_past(offer):
                return ""
            run = self._participation(offer)
            self._publish(ConnectionChanged(connected=True))
            for data in client.requests(offer.run_id):
                self._answer(client, run, ReceivedRequest.read(data, silo=self._config.name))
                backoff.reset()
                if run.finished:
                    return ""
        finally:
            self._publish(ConnectionChanged(connected=False))
            client.close()
        if run.finished:
            return ""
        why = f"; this silo refused the job: {run.refused.partition('; ')[0]}" if run.refused else ""
        return f"the aggregator has hung up; it will be back if the run is not over{why}"

    def _is_past(self, offer: pb.JobOffer) -> bool:
        """Whether the offer is of a run after the one that a script has finished: it serves one, and leaves now."""
        if self._run is None or not isinstance(self._data, Handover):
            return False
        return self._run[1].finished and self._run[0] != offer.run_id

    def _participation(self, offer: pb.JobOffer) -> Participation:
        if self._run is not None and self._run[0] == offer.run_id and not self._run[1].refused:
            return self._run[1]
        self._drop_run()
        require_kept(self._config.state, self._past_runs)
        if offer.time and (warning := clocks_differ(offer)):
            self._publish(ClocksDiffer(warning))
        run = take_part(
            self._config,
            offer,
            self._data,
            identity=self._identity,
            roster=self._roster,
            randomness=self._randomness,
            publish=self._publish,
        )
        self._run = offer.run_id, run
        job_digest = hashlib.sha256(offer.job.encode()).hexdigest()
        try:
            if run.refused:
                words = run.refused[:LONGEST_TEXT]
                self._publish(JobRefused(offer.run_id.hex(), job_digest, words))
            else:
                self._publish(JobAccepted(offer.run_id.hex(), job_digest))
                self._past_runs.add(offer.run_id.hex())
        except BaseException:  # nothing is done in a run that the log does not name
            self._drop_run()
            raise
        return run

    def _drop_run(self) -> None:
        self.close()
        self._run = None

    def _answer(self, client: AggregatorClient, run: Participation, request: ReceivedRequest) -> None:
        number, what = request.message.number, request.kind
        self._publish(RequestReceived(number, what, request.size))
        try:
            with _in_touch(client):
                reply = run.answer(request)
        except RunError:  # files that do not fit together: the next connection says so to the aggregator
            self._drop_run()
            raise
        self._delivered = False
        self._publish(
            RequestAnswered(
                number,
                what,
                answer=reply.kind,
                request=request.digest.hex(),
                request_bytes=request.size,
                reply=hashlib.sha256(reply.data).hexdigest(),
                reply_bytes=len(reply.data),
                epsilon=run.epsilon,
            )
        )
        try:
            client.deliver(reply.data)
        except WrongRound as error:  # it came too late, or came before: the next request tells how the run goes on
            self._publish(ReplyNotNeeded(number, str(error)[:LONGEST_TEXT]))
        else:
            self._delivered = True
            self._publish(ReplyDelivered(number))


@contextmanager
def _in_touch(client: AggregatorClient) -> Iterator[None]:
    """Keep in touch while the silo works, for days perhaps, so that a restarted aggregator sees that it is there."""
    over = threading.Event()

    def call() -> None:
        while not over.wait(IN_TOUCH_SECONDS):
            with suppress(SiloSealError, OSError):
                client.offer()

    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
