"""One silo's side of a job: it answers the aggregator's requests, and refuses what the job does not say.

Its state is on the disk before a reply leaves: a request that comes again gets the same bytes again, and a silo that
was killed goes on from its last checkpoint. Training that a crash threw away stays charged in the ledger.
"""

import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from siloseal.federation.analytics.any_job import AnyJob
from siloseal.federation.errors import SiloSealError, WrongRound
from siloseal.federation.job.agreement import Agreement
from siloseal.federation.job.releases import Release, Run
from siloseal.federation.randomness import Randomness
from siloseal.federation.records.identity import Identity
from siloseal.federation.records.storage import Survives
from siloseal.federation.sums.secure_sum import SiloSide
from siloseal.federation.sums.session import Session
from siloseal.federation.transport.wire import messages_pb2 as pb
from siloseal.silo.agreed_session import require_agreed
from siloseal.silo.enrolment import begin, enrol, hear_nonces
from siloseal.silo.ledger import Ledger
from siloseal.silo.messages import GivenReply, ReceivedRequest
from siloseal.silo.order import require_next
from siloseal.silo.refusals import refusal
from siloseal.silo.state import Checkpoint, SiloState
from siloseal.silo.work import SiloWork

NOTHING_DONE = Checkpoint(0, "")
"""Where a silo stands before its first checkpoint."""


class Silo:
    """A silo in one job. Requests come in rising numbers; each is answered once, and re-sent after that."""

    def __init__(
        self,
        job: AnyJob,
        work: SiloWork,
        folder: Path,
        *,
        identity: Identity,
        roster: Mapping[str, bytes],
        ledger: Ledger | None,
        randomness: Randomness,
        survives: Survives = Survives.POWER_CUT,
    ) -> None:
        self.name, self.ledger, self.work = identity.name, ledger, work
        self.job, self._folder, self._identity, self._roster = job, folder, identity, roster
        self._job_digest = job.digest
        self._randomness, self._state = randomness, SiloState(folder, survives)
        self._side: tuple[bytes, SiloSide] | None = None
        self._interrupted = False
        self._one_at_a_time = threading.Lock()
        self.at = NOTHING_DONE

    def resume(self) -> None:
        """Take up what an interrupted run left."""
        self.at = self._state.load() or NOTHING_DONE
        self._state.require_whole(self.at, self._charges())
        self.work.load_state(self.at.tensors)
        self._interrupted = False

    def answer(self, data: bytes) -> bytes:
        """The reply to one request, as bytes. What cannot be read is refused like what is not allowed."""
        return self.reply(ReceivedRequest.read(data, silo=self.name)).data

    def reply(self, request: ReceivedRequest) -> GivenReply:
        """The reply to one request. What the silo refuses is a reply too, with the reason in words."""
        with self._one_at_a_time:
            if self._interrupted:
                self.resume()
            try:
                return self._answer(request)
            except BaseException:  # a full disk: nothing left the silo, which goes on from what is on the disk
                self._side, self._interrupted = None, True
                raise

    def _answer(self, request: ReceivedRequest) -> GivenReply:
        message, digest = request.message, request.digest
        body = request.reply_of(self.name)
        try:
            if request.unreadable is not None:
                raise request.unreadable
            last = self._state.load_reply()
            if (message.number, digest) == (last.number, last.request_digest):
                self._state.mark_answered(last.number)
                return GivenReply.again(last.reply)
            require_next(message, last, silo=self.name, job_digest=self._job_digest)
            self._randomness.begin(f"request {message.number}")
            self._handle(message, body, last)
        except SiloSealError as error:
            self._keep_side()
            return self._refuse(error, body)
        reply = GivenReply.encode(body)
        kept = pb.LastReply(number=message.number, request_digest=digest, reply=reply.data, run_id=message.run_id)
        kept.draw.CopyFrom(last.draw)
        self._state.save_reply(self._with_side(kept))
        return reply

    def _refuse(self, error: SiloSealError, reply: pb.Reply) -> GivenReply:
        reply.refusal.CopyFrom(refusal(error, self._folder / "refusals.log"))
        return GivenReply.encode(reply)

    def _with_side(self, last: pb.LastReply) -> pb.LastReply:
        if self._side is not None:
            last.session_digest, last.side = self._side[0], self._side[1].state()
        return last

    def _keep_side(self) -> None:
        """Keep the side of a sum. One that ended with a refusal stays ended: a restart gives nobody a second try."""
        if self._side is not None:
            self._state.save_reply(self._with_side(self._state.load_reply()))

    def close(self) -> None:
        """Release the ledger."""
        if self.ledger is not None:
            self.ledger.close()

    def _handle(self, message: pb.Request, reply: pb.Reply, last: pb.LastReply) -> None:
        kind = message.WhichOneof("body")
        if kind != "sum" and self._side is not None:
            self._side[1].forget()
            self._side = None
        match kind:
            case "enrol":
                enrolled = enrol(self._agreement(message), self._identity, last.draw, self._randomness)
                self.work.describe(enrolled)
                reply.enrolled.CopyFrom(enrolled)
            case "begin":
                reply.begun.CopyFrom(begin(self._agreement(message), self._identity, message.begin, last.draw))
            case "nonces":
                reply.ready.CopyFrom(hear_nonces(self._agreement(message), message.nonces, last.draw))
            case "sum":
                reply.sum = self._sum(message.number, message.sum, last)
            case "finish":
                self.work.finish(message.finish)
                reply.finished.CopyFrom(pb.Finished())
            case _:
                reply.prepared.CopyFrom(self.work.prepare(message, self, self._run(last)))

    def _agreement(self, message: pb.Request) -> Agreement:
        roster = {name: self._roster[name] for name in self.job.silos.names}
        return Agreement(message.run_id, self._job_digest, roster)

    def _run(self, last: pb.LastReply) -> Run:
        return Run(last.draw.beacon, self._roster)

    def _sum(self, number: int, request: pb.Sum, last: pb.LastReply) -> bytes:
        session = Session.from_wire(request.session)
        if self._side is None or self._side[0] != session.digest:
            self._side = session.digest, self._join(number, session, last)
            self._randomness.begin(f"request {number}")
        return self._side[1].answer(request.message)

    def _join(self, number: int, session: Session, last: pb.LastReply) -> SiloSide:
        """Take part in a sum, once for what was prepared: sums over different participants would differ by one silo.

        After a crash the silo goes on from what it kept of its side. Before the first reply was stored, and so before
        anything left, the same request comes again: what was charged for it then pays for the reply that leaves now.
        """
        if not self.at.prepared:
            raise WrongRound("nothing was prepared for a sum; the aggregator must ask for work first")
        release = self.work.release(self.at)
        require_agreed(session, release, self._run(last), self.at.start)
        if last.side and last.session_digest == session.digest:
            side = self._contribute(release, session)
            side.restore(last.side)
            return side
        repeated = (self.at.session, self.at.sum_number) == (session.digest, number)
        if self.at.session and not repeated:
            raise WrongRound("what was prepared went into a sum already; each contribution is summed once")
        if release.event is not None and self.ledger is not None:
            # A crash may have come between the charge and the checkpoint that says so: then the ledger is one ahead.
            paid = repeated and (self.at.paid or len(self.ledger.charges) > self.at.charges)
            self._note(replace(self.at, session=session.digest, sum_number=number, paid=paid))
            if not paid:
                self.ledger.charge(release.event, phase=release.entry)
            self._note(replace(self.at, paid=True))  # with the charge counted, so that losing it is noticed
        else:
            self._note(replace(self.at, session=session.digest, sum_number=number))
        return self._contribute(release, session)

    def _contribute(self, release: Release, session: Session) -> SiloSide:
        self._randomness.begin(f"contribution of request {self.at.number}")
        return release.scheme.silo(session, self._identity, self.work.vector(self.at), self._randomness)

    def save(self, checkpoint: Checkpoint) -> None:
        """Write a checkpoint to the disk, with the work's own state and the number of charges so far."""
        checkpoint = replace(checkpoint, charges=self._charges(), tensors=self.work.state())
        self._state.save(checkpoint)
        self.at = checkpoint

    def _note(self, checkpoint: Checkpoint) -> None:
        """Write what has become of the last checkpoint, whose tensors stay, with the number of charges so far."""
        checkpoint = replace(checkpoint, charges=self._charges())
        self._state.note(checkpoint)
        self.at = checkpoint

    def _charges(self) -> int:
        return 0 if self.ledger is None else len(self.ledger.charges)
