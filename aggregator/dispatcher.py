"""How the aggregator asks the silos: numbered requests, journalled replies, counted bytes."""

import hashlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from siloseal.aggregator.asking import SMALL_BYTES, Asking, Check
from siloseal.aggregator.journal import Journal
from siloseal.federation.analytics.any_job import AnyJob
from siloseal.federation.errors import MessageError, ProtocolError, SiloRefused, WrongRound
from siloseal.federation.job.releases import Release, Run
from siloseal.federation.printable import printable
from siloseal.federation.run_events.aggregator import (
    ReplyAccepted,
    ReplyKept,
    RequestRefused,
    RequestSent,
    SilosSilent,
    StageBegan,
)
from siloseal.federation.run_events.coordination import BytesCounted, NoteTaken, ReplayEnded, RequestReplayed
from siloseal.federation.run_events.stream import Subscriber
from siloseal.federation.sums.driving import drive
from siloseal.federation.sums.secure_sum import Sum
from siloseal.federation.transport.engine import Engine
from siloseal.federation.transport.wire import messages_pb2 as pb
from siloseal.federation.transport.wire.error_codes import error_of
from siloseal.federation.transport.wire.version import PROTOCOL_VERSION

LONGEST_REFUSAL = 2000


@dataclass(frozen=True)
class Patience:
    """How long silos may stay silent before the run goes on without them, if it can."""

    training_seconds: float = 24 * 3600.0
    message_seconds: float = 1800.0


class Dispatcher:
    """Asks all silos of a step at once and gives their replies, each asked once in the run's life."""

    def __init__(self, job: AnyJob, engine: Engine, journal: Journal, patience: Patience, publish: Subscriber) -> None:
        self.stage = "enrolment"
        self.asked = ""
        """What the request under way asks for."""
        self.number = 0
        """Number of the request under way."""
        self.notes = list[str]()
        self._job, self._engine, self._journal = job, engine, journal
        self._patience, self._publish = patience, publish
        self._replayed: list[ReplyKept | SilosSilent] | None = []
        """What to publish of the last request that the journal had, when the run goes on; None once it did."""

    @property
    def run_id(self) -> bytes:
        """The id of the run, the same for its whole life."""
        return self._journal.run_id

    def ask(
        self,
        bodies: Mapping[str, pb.Request],
        *,
        fewest: int | None = None,
        largest_sum: int = 0,
        check: Check = lambda *_: None,
    ) -> dict[str, pb.Reply]:
        """The silos' replies: all of them, or past the deadline `fewest` at least; silent silos are noted.

        A reply may carry a message of a sum, of at most `largest_sum` bytes, and a little beside it; no more is read.
        A refusal ends the run with the silo's own words. What `check` refuses is not accepted.
        """
        self.number += 1
        self.asked = next(body.WhichOneof("body") or "" for body in bodies.values())
        requests = self._encode(bodies)
        asking = Asking(self.number, self.asked, requests, largest_sum + SMALL_BYTES, check)
        ended = self._recall(asking)
        if asking.missing and not ended:
            self._send(asking, fewest=len(requests) if fewest is None else fewest)
        if asking.missing:
            self.note(
                f"{', '.join(asking.missing)} stayed silent past the deadline of request {self.number} ({self.stage}, "
                f"{self.asked}); the run went on with {', '.join(sorted(asking.replies))}"
            )
        return asking.replies

    def _recall(self, asking: Asking) -> bool:
        """Take the replies that the journal has; whether the run went on without the others before it stopped."""
        known = self._journal.replies(self.number, asking.digests)
        for silo, data in known.items():
            try:
                asking.replies[silo] = asking.read(silo, data)
            except ProtocolError as error:
                raise self._journal.damaged(
                    f"the reply of {silo} to request {self.number} is not as it was written"
                ) from error
            self._count(silo, asking.requests[silo], data)
        ended = bool(asking.missing) and self._journal.has_ended(self.number)
        if self._replayed is not None and (known or ended):
            self._replay(known, list(asking.missing) if ended else [])
        return ended

    def _send(self, asking: Asking, *, fewest: int) -> None:
        """Ask those who have not answered yet. Who is silent past the deadline stays so, after a restart too."""
        self.go_on()
        missing = asking.missing
        size = sum(len(request) for request in missing.values())
        sent = tuple(digest.hex() for digest in sorted(set(asking.digests.values())))
        self._publish(RequestSent(self.number, self.asked, tuple(missing), sent, size))
        self._engine.ask(
            missing,
            deadline_seconds=self._patience.training_seconds
            if self.asked in ("train", "average")  # a script trains before it answers
            else self._patience.message_seconds,
            fewest=max(0, fewest - len(asking.replies)),
            largest=asking.largest,
            accept=partial(self._accept, asking),
        )
        if asking.missing:
            self._journal.end(self.number)
            self._publish(SilosSilent(self.number, tuple(asking.missing)))

    def _accept(self, asking: Asking, silo: str, data: bytes) -> None:
        """Journal a reply that can be right; `SiloRefused` where the silo will not do what it was asked."""
        reply = asking.read(silo, data)
        if reply.WhichOneof("body") == "refusal":
            self._publish(RequestRefused(self.number, silo, error_of(reply.refusal.code).__name__))
            raise SiloRefused(f"{silo} refused: {printable(reply.refusal.message[:LONGEST_REFUSAL])}")
        try:
            asking.check(silo, reply)
        except WrongRound as error:  # it answers this request, so it is not late, but wrong
            raise MessageError(str(error)) from error
        if silo not in asking.replies:
            self._journal.record(self.number, silo, asking.digests[silo], data)
            self._count(silo, asking.requests[silo], data)
            asking.replies[silo] = reply
        elif asking.replies[silo] != reply:
            # The first is in the journal, but its silo had no receipt: there was no room for a line of the audit log.
            raise MessageError(f"{silo} answered request {self.number} a second time, and differently")
        self._publish(ReplyAccepted(self.number, silo, hashlib.sha256(data).hexdigest(), len(data)))

    def _replay(self, known: Mapping[str, bytes], silent: list[str]) -> None:
        """The journal has this request: all before it was published then, and its last events may have to be again."""
        self._publish(RequestReplayed(self.number, self.asked))
        self._replayed = [
            ReplyKept(self.number, silo, hashlib.sha256(reply).hexdigest(), len(reply)) for silo, reply in known.items()
        ]
        if silent:
            self._replayed.append(SilosSilent(self.number, tuple(silent)))

    def go_on(self) -> None:
        """All that the journal had is replayed. A kill may have come between its last entries and their events."""
        if self._replayed is not None:
            self._publish(ReplayEnded())
        for event in self._replayed or ():
            self._publish(event)
        self._replayed = None

    def enter(self, stage: str) -> None:
        """Begin a stage of the job: bytes count for it, and whoever looks on hears of it."""
        self.stage = stage
        self._publish(StageBegan(stage))

    def computed(self, name: str, compute: Callable[[], bytes]) -> bytes:
        """A result of the aggregator's own, computed once in the run's life."""

        def anew() -> bytes:
            self.go_on()
            return compute()

        return self._journal.result(name, anew)

    def note(self, text: str) -> None:
        """Keep something that a reader of the result has to know."""
        self.notes.append(text)
        self._publish(NoteTaken(text))

    def sum(self, release: Release, run: Run, present: Collection[str], start: bytes = b"") -> Sum:
        """One secure sum over what the last request prepared. Who is on the roster and not `present` is not asked.

        `start` names the public state that everyone started from.
        """
        session, scheme = release.session(run, start), release.scheme
        wire = session.to_wire()
        scheme.admit(session.domain, len(session.roster))
        side = scheme.aggregator(session)

        def ask(messages: Mapping[str, bytes]) -> Mapping[str, bytes]:
            bodies = {
                message: pb.Request(sum=pb.Sum(session=wire, message=message)) for message in set(messages.values())
            }
            asked = {silo: bodies[message] for silo, message in messages.items() if silo in present}
            replies = self.ask(
                asked,
                fewest=side.fewest,
                largest_sum=side.largest,
                check=lambda silo, reply: side.check(silo, reply.sum),
            )
            return {silo: reply.sum for silo, reply in replies.items()}

        summed = drive(side, ask)
        if release.mechanism is None:
            return summed
        # What was decoded is kept: after a crash the aggregator would add other noise, and two totals tell more than
        # one; and another machine's matrix products may differ in the last bit, which silos take for another request.
        kept = self._journal.result(f"total of sum {self.number}", summed.total.astype("<f8").tobytes)
        return replace(summed, total=np.frombuffer(kept, dtype="<f8"))

    def _encode(self, bodies: Mapping[str, pb.Request]) -> dict[str, bytes]:
        encoded = dict[int, bytes]()  # silos that are asked the same share the bytes: a sum's messages can be large
        for body in bodies.values():
            if id(body) not in encoded:
                body.number, body.job_digest, body.run_id = self.number, self._job.digest, self.run_id
                body.protocol_version = PROTOCOL_VERSION
                encoded[id(body)] = body.SerializeToString(deterministic=True)
        return {silo: encoded[id(body)] for silo, body in bodies.items()}

    def _count(self, silo: str, request: bytes, reply: bytes) -> None:
        self._publish(BytesCounted(self.stage, silo, sent_bytes=len(reply), received_bytes=len(request)))
