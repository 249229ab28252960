"""A silo's part in one run of a deployment: the job as it was offered, checked, agreed to and kept.

What is kept in the run's folder decides after a restart: another job under the same run is refused.
"""

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path

from pydantic import ValidationError

from federation.config.job import Job
from federation.config.loading import load_config, to_yaml
from federation.errors import MessageError, SessionMismatch, SiloSealError
from federation.identity import Identity
from federation.randomness import Randomness
from federation.storage import make_folder, write_atomically
from federation.wire import messages_pb2 as pb
from federation.wire.codec import decode
from models.building import initial_model
from silo.config import SiloConfig
from silo.data.labelled_images import LabelledImages
from silo.policy import JOB_FILE, check_policy, spent_in
from silo.public_start import require_not_own
from silo.refusals import refusal
from silo.runtime import Silo
from silo.training.trainer import TrainingProgress

RUN_ID_BYTES = 32


class Participation:
    """Answers the requests of one run: with the silo's work, or with the reason why it takes no part."""

    def __init__(self, silo: Silo | None, name: str, refused: pb.Refusal, words: str) -> None:
        self._silo, self._name, self._refused = silo, name, refused
        self.refused = words
        """Why the silo takes no part, in full; empty if it does."""
        self.finished = False

    def answer(self, request: bytes) -> bytes:
        """The reply to one request."""
        if self._silo is None:
            reply = pb.Reply(silo=self._name, request_digest=hashlib.sha256(request).digest(), refusal=self._refused)
            reply.number = decode(pb.Request, request).number
            return reply.SerializeToString(deterministic=True)
        answer = self._silo.answer(request)
        self.finished = decode(pb.Reply, answer).WhichOneof("body") == "finished"
        return answer

    @property
    def epsilon(self) -> float | None:
        """What the ledger stands at; None without one."""
        ledger = None if self._silo is None else self._silo.ledger
        return None if ledger is None else ledger.epsilon

    @property
    def statement(self) -> str:
        """The guarantee, in a line that a person can quote."""
        ledger = None if self._silo is None else self._silo.ledger
        return f"{self._name}: no guarantee; the job has no privacy" if ledger is None else ledger.statement()

    def close(self) -> None:
        """Release the files."""
        if self._silo is not None:
            self._silo.close()


def take_part(
    config: SiloConfig,
    offer: pb.JobOffer,
    data: LabelledImages,
    *,
    identity: Identity,
    roster: Mapping[str, bytes],
    randomness: Randomness,
    on_progress: Callable[[str, TrainingProgress], None],
) -> Participation:
    """Look at the offer, and take part or refuse. A refusal says why, and leaves no trace that would bind the silo."""
    if len(offer.run_id) != RUN_ID_BYTES:
        raise MessageError(f"a run's number has {len(offer.run_id)} bytes, expected {RUN_ID_BYTES}")
    folder = config.state / "runs" / offer.run_id.hex()
    try:
        job = _agreed_job(folder, offer)
        _require_known(job, config, roster)
        if job.warm_start.kind == "public":
            require_not_own(job.warm_start, own=config.data)
        others = [run for run in sorted(folder.parent.glob("*")) if run != folder and (run / JOB_FILE).exists()]
        length = initial_model(job, data.image_shape, data.classes).size
        spent = spent_in(others, config.name)
        check_policy(config.policy, job, silo=config.name, model_length=length, spent=spent)
        silo = Silo(
            job,
            data,
            folder,
            labels=range(data.classes) if config.classes is None else config.classes,
            identity=identity,
            roster=roster,
            randomness=randomness,
            on_progress=on_progress,
        )
        try:
            silo.resume()
            write_atomically(folder / JOB_FILE, to_yaml(job).encode(), mode=0o600)
        except BaseException:
            silo.close()
            raise
    except SiloSealError as error:
        make_folder(config.state, mode=0o700)
        words = f"{type(error).__name__}: {error}"
        return Participation(None, config.name, refusal(error, config.state / "refusals.log"), words)
    return Participation(silo, config.name, pb.Refusal(), "")


def _agreed_job(folder: Path, offer: pb.JobOffer) -> Job:
    try:
        job = Job.model_validate_json(offer.job)
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in problem["loc"])
        raise MessageError(
            f"the offered job is not one for this version ({where}: {problem['msg']}); run the same on both sides"
        ) from error
    if (folder / JOB_FILE).exists() and load_config(Job, folder / JOB_FILE).digest != job.digest:
        raise SessionMismatch(
            "the aggregator offers another job than the one that this silo agreed to in this run; a changed job needs "
            "a new run"
        )
    return job


def _require_known(job: Job, config: SiloConfig, roster: Mapping[str, bytes]) -> None:
    if config.name not in job.silos.names:
        raise SessionMismatch(f"{config.name} is not among the job's silos, {', '.join(job.silos.names)}")
    if strangers := set(job.silos.names) - set(roster):
        raise SessionMismatch(
            f"the job names {', '.join(sorted(strangers))}, whom this silo's roster does not know; provision again"
        )
