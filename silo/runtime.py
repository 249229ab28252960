"""One silo's side of a job: it answers the aggregator's requests, and refuses what the job does not say.

Its state is on the disk before a reply leaves: a request that comes again gets the same bytes again, and a silo that
was killed goes on from its last checkpoint. Training that a crash threw away stays charged in the ledger.
"""

import hashlib
import math
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import torch

from siloseal.federation.errors import (
    DataError,
    SiloSealError,
    WrongRound,
)
from siloseal.federation.job.agreement import Agreement
from siloseal.federation.job.contributions import require_precision, start_of
from siloseal.federation.job.job import Job
from siloseal.federation.job.phases import PHASE_1, requested_steps
from siloseal.federation.job.planning import plan_silo
from siloseal.federation.job.sections.privacy import SiloLevel, UnitLevel
from siloseal.federation.randomness import Randomness
from siloseal.federation.records.identity import Identity
from siloseal.federation.records.storage import write_atomically
from siloseal.federation.sums.secure_sum import SecureSum, SiloSide
from siloseal.federation.sums.session import Session
from siloseal.federation.transport.wire import messages_pb2 as pb
from siloseal.federation.transport.wire import sums_pb2
from siloseal.federation.transport.wire.codec import decode
from siloseal.models.building import build_learner, model_file, shared_classes, vector_lengths
from siloseal.silo.contribution import SKETCH, Prepared
from siloseal.silo.data.labelled_images import LabelledImages
from siloseal.silo.data.units import units_of
from siloseal.silo.enrolment import begin, enrol, hear_nonces
from siloseal.silo.ledger import open_ledger
from siloseal.silo.order import require_later, require_next
from siloseal.silo.received import received_clip_norm, received_model
from siloseal.silo.refusals import refusal
from siloseal.silo.state import Checkpoint, SiloState
from siloseal.silo.training.trainer import Privacy, PrivateTrainer, TrainingProgress


class Silo:
    """A silo in one job. Requests come in rising numbers; each is answered once, and re-sent after that."""

    def __init__(
        self,
        job: Job,
        data: LabelledImages,
        folder: Path,
        *,
        labels: Sequence[int],
        identity: Identity,
        roster: Mapping[str, bytes],
        randomness: Randomness,
        on_progress: Callable[[str, TrainingProgress], None],
    ) -> None:
        self.name, self._job, self._data, self._folder = identity.name, job, data, folder
        self._identity, self._roster, self._randomness, self._on_progress = identity, roster, randomness, on_progress
        if undeclared := data.label_set() - set(labels):
            raise DataError(f"{self.name} holds classes {sorted(undeclared)} that it does not declare; declare them")
        self._units = units_of(job, data, randomness)
        self._plan = plan_silo(job, self.name, len(self._units), vector_lengths(job, data.image_shape, data.classes))
        require_precision(job, self.name, len(self._units))
        self._learner = build_learner(
            job,
            data.image_shape,
            data.classes,
            labels=labels,
            expected_batch=self._plan.sampling_rate * len(self._units),
            randomness=randomness,
        )
        self._state = SiloState(folder)
        self.ledger = open_ledger(job, self.name, folder, worked_before=self._state.exists())
        try:
            self._trainer = PrivateTrainer(
                self._learner,
                self._units,
                sampling_rate=self._plan.sampling_rate,
                optimizer=job.optimizer,
                privacy=self._privacy(),
                randomness=randomness,
            )
        except BaseException:
            self.close()
            raise
        self._side: tuple[bytes, SiloSide] | None = None
        self._interrupted = False
        self._one_at_a_time = threading.Lock()
        self._at = Checkpoint(0, "", tensors=self._trainer.state())

    def resume(self) -> None:
        """Take up what an interrupted run left."""
        self._at = self._state.load() or self._at
        charges = 0 if self.ledger is None else len(self.ledger.charges)
        self._state.require_whole(self._at, charges)
        self._trainer.load_state(self._at.tensors)
        self._interrupted = False

    def answer(self, request: bytes) -> bytes:
        """The reply to one request. What the silo refuses is a reply too, with the reason in words."""
        with self._one_at_a_time:
            if self._interrupted:
                self.resume()
            try:
                return self._answer(request)
            except BaseException:  # a full disk: nothing left the silo, which goes on from what is on the disk
                self._side, self._interrupted = None, True
                raise

    def _answer(self, request: bytes) -> bytes:
        digest = hashlib.sha256(request).digest()
        body = pb.Reply(silo=self.name, request_digest=digest)
        try:
            message = decode(pb.Request, request)
            body.number = message.number
            last = self._state.load_reply()
            if (message.number, digest) == (last.number, last.request_digest):
                self._state.mark_answered(last.number)
                return last.reply
            require_next(message, last, silo=self.name, job_digest=self._job.digest)
            self._randomness.begin(f"request {message.number}")
            self._handle(message, body, last)
        except SiloSealError as error:
            self._keep_side()
            body.refusal.CopyFrom(refusal(error, self._folder / "refusals.log"))
            return body.SerializeToString(deterministic=True)
        reply = body.SerializeToString(deterministic=True)
        kept = pb.LastReply(number=message.number, request_digest=digest, reply=reply, run_id=message.run_id)
        kept.draw.CopyFrom(last.draw)
        self._state.save_reply(self._with_side(kept))
        return reply

    def _with_side(self, last: pb.LastReply) -> pb.LastReply:
        if self._side is not None:
            last.session_digest, last.side = self._side[0], self._side[1].state()
        return last

    def _keep_side(self) -> None:
        """A sum that ended with a refusal stays ended: nobody gets a second try after a restart."""
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
                enrolled.image_shape.extend(self._data.image_shape)
                enrolled.classes = shared_classes(self._job, self._data.classes)
                reply.enrolled.CopyFrom(enrolled)
            case "begin":
                reply.begun.CopyFrom(begin(self._agreement(message), self._identity, message.begin, last.draw))
            case "nonces":
                reply.ready.CopyFrom(hear_nonces(self._agreement(message), message.nonces, last.draw))
            case "kernel_mean":
                self._sketch(message.number, last.draw.beacon)
                reply.prepared.CopyFrom(pb.Prepared())
            case "train":
                reply.prepared.CopyFrom(self._train(message.number, message.train))
            case "sum":
                reply.sum = self._sum(message.number, message.sum, last)
            case "finish":
                self._learner.load(self._received(message.finish.model))
                self._keep_model("global.safetensors")
                reply.finished.CopyFrom(pb.Finished())

    def _agreement(self, message: pb.Request) -> Agreement:
        roster = {name: self._roster[name] for name in self._job.silos.names}
        return Agreement(message.run_id, self._job.digest, roster)

    def _sketch(self, number: int, beacon: bytes) -> None:
        """The kernel mean comes first in a job, and once: a second one would be a second release."""
        self._prepared(beacon).features()
        if self._at.prepared and self._at.number != number:
            raise WrongRound("the job has one kernel mean, before everything else")
        self._save(Checkpoint(number, SKETCH))

    def _train(self, number: int, train: pb.Train) -> pb.Prepared:
        """Train from the common start, or from the checkpoint where a crash interrupted just this request."""
        steps = requested_steps(self._job, self.name, len(self._units), train.phase, train.round)
        clip_norm = received_clip_norm(self._job, train.clip_norm)
        if self._at.number != number:
            require_later(train, prepared=self._at.prepared, round=self._at.round)
            start = self._received(train.model)
            self._learner.load(start)
            kept = start if isinstance(self._job.privacy, SiloLevel) else None
            begun = Checkpoint(number, train.phase, train.round, start_of(train), clip_norm=clip_norm, start_model=kept)
            self._save(begun)
        elif (self._at.prepared, self._at.round, self._at.clip_norm) != (train.phase, train.round, clip_norm):
            raise WrongRound(f"request {number} came again, with other training than at first")

        def on_chunk(progress: TrainingProgress) -> None:
            self._save(replace(self._at, steps_done=progress.steps_done))
            self._randomness.begin(f"request {number}, step {progress.steps_done}")
            self._on_progress(self.name, progress)

        self._randomness.begin(f"request {number}, step {self._at.steps_done}")
        outcome = self._trainer.train(steps, phase=train.phase, done=self._at.steps_done, on_chunk=on_chunk)
        if train.phase == PHASE_1:
            self._keep_model("trained.safetensors")
        spent = 0.0 if self.ledger is None else self.ledger.spent_roughly()
        return pb.Prepared(stopped_by_budget=outcome.stopped_by_budget, epsilon_spent=spent)

    def _sum(self, number: int, request: pb.Sum, last: pb.LastReply) -> bytes:
        session = Session.from_wire(request.session)
        if self._side is None or self._side[0] != session.digest:
            self._side = session.digest, self._join(number, session, last)
            self._randomness.begin(f"request {number}")
        return self._side[1].answer(request.message)

    def _join(self, number: int, session: Session, last: pb.LastReply) -> SiloSide:
        """Take part in a sum, once for what was prepared: sums over different crowds would differ by one silo.

        After a crash the silo goes on from what it kept of its side. Before the first reply was stored, and so before
        anything left, the same request comes again: what was charged for it then pays for the reply that leaves now.
        """
        prepared = self._prepared(last.draw.beacon)
        scheme = prepared.scheme(session)
        if last.side and last.session_digest == session.digest:
            side = self._contribute(scheme, session, prepared)
            side.restore(last.side)
            return side
        repeated = (self._at.session, self._at.sum_number) == (session.digest, number)
        if self._at.session and not repeated:
            raise WrongRound("what was prepared went into a sum already; each contribution is summed once")
        event = prepared.event(session.quorum)
        if event is not None and self.ledger is not None:
            # A crash may have come between the charge and the checkpoint that says so: then the ledger is one ahead.
            paid = repeated and (self._at.paid or len(self.ledger.charges) > self._at.charges)
            self._save(replace(self._at, session=session.digest, sum_number=number, paid=paid))
            if not paid:
                self.ledger.charge(event, phase=prepared.phase)
            self._save(replace(self._at, paid=True))  # with the charge counted, so that losing it is noticed
        else:
            self._save(replace(self._at, session=session.digest, sum_number=number))
        return self._contribute(scheme, session, prepared)

    def _contribute(self, scheme: SecureSum, session: Session, prepared: Prepared) -> SiloSide:
        self._randomness.begin(f"contribution of request {self._at.number}")
        return scheme.silo(session, self._identity, prepared.vector(), self._randomness)

    def _prepared(self, beacon: bytes) -> Prepared:
        at = self._at
        return Prepared(
            job=self._job,
            silo=self.name,
            roster=self._roster,
            data=self._data,
            units=len(self._units),
            learner=self._learner,
            what=at.prepared,
            round=at.round,
            beacon=beacon,
            start=at.start,
            start_model=at.start_model,
            clip_norm=at.clip_norm,
        )

    def _received(self, array: sums_pb2.Array) -> torch.Tensor:
        return received_model(array, length=self._learner.vector().numel(), largest=self._job.largest_weight)

    def _keep_model(self, name: str) -> None:
        content = model_file(self._job.learner, self._learner.shared_model)
        write_atomically(self._folder / name, content, mode=0o600)

    def _save(self, checkpoint: Checkpoint) -> None:
        charges = 0 if self.ledger is None else len(self.ledger.charges)
        checkpoint = replace(checkpoint, charges=charges, tensors=self._trainer.state())
        self._state.save(checkpoint)
        self._at = checkpoint

    def _privacy(self) -> Privacy | None:
        if self.ledger is None or not isinstance(self._job.privacy, UnitLevel):
            return None
        # A silo that no round asks has no noise planned. Should it be made to train, the ledger refuses infinite noise.
        return Privacy(self._job.privacy.clip_norm, self._plan.step_noise or math.inf, self.ledger)
