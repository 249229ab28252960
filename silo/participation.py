"""A silo's part in one run of a deployment: the job as it was offered, checked, agreed to and kept.

What is kept in the run's folder decides after a restart: another job under the same run is refused.
"""

import traceback
from collections.abc import Iterable, Mapping
from pathlib import Path

from pydantic import ValidationError

from siloseal.federation.analytics.any_job import AnyJob, job_from_json, load_any_job
from siloseal.federation.config.loading import to_yaml
from siloseal.federation.errors import LedgerDamaged, MessageError, SessionMismatch, SiloSealError
from siloseal.federation.job.agreement import RUN_ID_BYTES
from siloseal.federation.privacy.guarantee import NO_GUARANTEE
from siloseal.federation.randomness import Randomness
from siloseal.federation.records.identity import Identity
from siloseal.federation.records.storage import make_folder, write_atomically
from siloseal.federation.run_events.stream import Subscriber
from siloseal.federation.transport.wire import consortium_pb2
from siloseal.federation.transport.wire import messages_pb2 as pb
from siloseal.federation.transport.wire.codec import decode
from siloseal.federation.transport.wire.errors_pb2 import ErrorCode
from siloseal.silo.config import SiloConfig
from siloseal.silo.data.own import Records
from siloseal.silo.earlier_runs import JOB_FILE
from siloseal.silo.handover import Handover
from siloseal.silo.joining import join
from siloseal.silo.messages import GivenReply, ReceivedRequest
from siloseal.silo.refusals import refusal
from siloseal.silo.runtime import Silo
from siloseal.silo.state import SiloState
from siloseal.silo.statement import spent_of_policy, statement_of


class Participation:
    """Answers the requests of one run: with the silo's work, or with the reason why it takes no part."""

    def __init__(self, name: str, run: Path, silo: Silo | None, refusal: pb.Refusal, words: str) -> None:
        self._name, self._run, self._silo, self._refusal = name, run, silo, refusal
        self.refused = words
        """Reason why the silo takes no part, in full; empty if it does."""
        self.finished = silo is not None and has_finished(run)

    def answer(self, request: ReceivedRequest) -> GivenReply:
        """The reply to one request. Agreements of another run, which everyone may have signed, do not count in this."""
        if self._silo is None:
            return self._refuse(request, self._refusal)
        if request.unreadable is None and request.message.run_id.hex() != self._run.name:
            words = "the request belongs to another run than the offer"
            return self._refuse(request, pb.Refusal(code=ErrorCode.SESSION_MISMATCH, message=words))
        answer = self._silo.reply(request)
        if answer.kind == "begun":  # everyone is in this run now: no sum of an earlier one goes on
            for run in _others(self._run):
                SiloState(run).abandon()
        self.finished = answer.kind == "finished"
        return answer

    def _refuse(self, request: ReceivedRequest, why: pb.Refusal) -> GivenReply:
        reply = request.reply_of(self._name)
        reply.refusal.CopyFrom(why)
        return GivenReply.encode(reply)

    @property
    def epsilon(self) -> float | None:
        """Epsilon that the ledger stands at; None without a ledger."""
        ledger = None if self._silo is None else self._silo.ledger
        return None if ledger is None else ledger.epsilon

    @property
    def statement(self) -> str:
        """The guarantee, in a line that a person can quote."""
        if self._silo is None:
            return f"{self._name}: {NO_GUARANTEE}"
        return statement_of(self._silo.job, self._name, self._silo.ledger)

    @property
    def spent_of_policy(self) -> str | None:
        """How much of its policy all runs of the silo have spent, exactly: for its own terminal."""
        return None if self._silo is None else spent_of_policy(self._silo.job, self._silo.ledger)

    def leave(self) -> None:
        """Note that the silo has done its part, and that its process ends by itself."""
        SiloState(self._run).leave()

    def close(self) -> None:
        """Release the files."""
        if self._silo is not None:
            self._silo.close()


def take_part(
    config: SiloConfig,
    offer: consortium_pb2.JobOffer,
    data: Records | Handover,
    *,
    identity: Identity,
    roster: Mapping[str, bytes],
    randomness: Randomness,
    publish: Subscriber,
) -> Participation:
    """Look at the offer, and take part or refuse. A refusal says why, and leaves no trace that would bind the silo."""
    if len(offer.run_id) != RUN_ID_BYTES:
        raise MessageError(f"a run's number has {len(offer.run_id)} bytes, expected {RUN_ID_BYTES}")
    folder = config.state / "runs" / offer.run_id.hex()
    try:
        job = _agreed_job(folder, offer)
        silo = join(
            job,
            config,
            data,
            folder,
            other_runs=_others(folder),
            identity=identity,
            roster=roster,
            randomness=randomness,
            publish=publish,
        )
        _bind(silo, job, folder)
    except SiloSealError as error:
        words = f"{type(error).__name__}: {error}"
        return Participation(config.name, folder, None, refusal(error, _log_in(config)), words)
    except OSError:
        raise  # it may pass
    except Exception as error:
        if (folder / JOB_FILE).exists():
            raise  # it was good once: this is the silo's own trouble
        # A new offer may be hostile: whatever it makes fail ends in a refusal, and not the process.
        refused = refusal(error, _log_in(config), "".join(traceback.format_exception(error)))
        return Participation(config.name, folder, None, refused, refused.message)
    return Participation(config.name, folder, silo, pb.Refusal(), "")


def _bind(silo: Silo, job: AnyJob, folder: Path) -> None:
    """Take up what an interrupted run left, and keep the job, which is the only one in this run from here on."""
    try:
        silo.resume()
        write_atomically(folder / JOB_FILE, to_yaml(job).encode(), mode=0o600)
    except BaseException:
        silo.close()
        raise


def require_kept(state: Path, past_runs: Iterable[str]) -> None:
    """Refuse where a past run's folder is gone: what it has spent would be spent again."""
    for run in sorted(past_runs):
        if not (state / "runs" / run / JOB_FILE).exists():
            raise LedgerDamaged(
                f"{state / 'runs' / run} or its {JOB_FILE} is gone, but the audit log says that the silo took part in "
                "that run: what it spent there is not known; restore the folder from a backup"
            )


def unended(config: SiloConfig) -> consortium_pb2.JobOffer | None:
    """The offer of the run whose last reply this silo gave, but was killed before it could end by itself.

    With another run beside it that it has not left either, one of the two is still to come.
    """
    runs = [run for run in _agreed(config.state / "runs") if not SiloState(run).has_left()]
    try:
        if len(runs) == 1 and has_finished(runs[0]):
            job = load_any_job(runs[0] / JOB_FILE).model_dump_json()
            return consortium_pb2.JobOffer(run_id=bytes.fromhex(runs[0].name), job=job)
    except SiloSealError:
        return None  # a damaged run keeps nobody from the next; to go on with it is refused when it is offered
    return None


def has_finished(run: Path) -> bool:
    """Whether the silo has given its last reply in the run of this folder."""
    last = SiloState(run).load_reply()
    return bool(decode(pb.Reply, last.reply).WhichOneof("body") == "finished")


def _others(run: Path) -> list[Path]:
    """The folders of the silo's other runs."""
    return [other for other in _agreed(run.parent) if other != run]


def _agreed(runs: Path) -> list[Path]:
    """The folders of runs whose job the silo agreed to."""
    return [run for run in sorted(runs.glob("*")) if (run / JOB_FILE).exists()]


def _agreed_job(folder: Path, offer: consortium_pb2.JobOffer) -> AnyJob:
    try:
        job = job_from_json(offer.job)
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in problem["loc"])
        raise MessageError(
            f"the offered job is not one for this version ({where}: {problem['msg']}); run the same on both sides"
        ) from error
    if (folder / JOB_FILE).exists() and load_any_job(folder / JOB_FILE).digest != job.digest:
        raise SessionMismatch(
            "the aggregator offers another job than the one that this silo agreed to in this run; a changed job needs "
            "a new run"
        )
    return job


def _log_in(config: SiloConfig) -> Path:
    make_folder(config.state, mode=0o700)
    return config.state / "refusals.log"
