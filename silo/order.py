"""The request that a silo answers next: one of its own job and run, in order, and no work before everyone agreed."""

from siloseal.federation.errors import MessageError, SessionMismatch, WrongRound
from siloseal.federation.job.phases import Phase
from siloseal.federation.transport.wire import messages_pb2 as pb


def require_next(message: pb.Request, last: pb.LastReply, *, silo: str, job_digest: bytes) -> None:
    """A typed error unless this request may follow the one that was answered last."""
    kind = message.WhichOneof("body")
    if message.job_digest != job_digest:
        raise SessionMismatch("the request belongs to another job than the one this silo agreed to")
    if last.number and message.run_id != last.run_id:
        raise SessionMismatch(
            "the request belongs to another run than the one this silo agreed to: the aggregator's journal.sqlite is "
            "gone or was replaced; restore it from a backup, or begin another run in another folder"
        )
    if message.number <= last.number:
        raise WrongRound(
            f"request {message.number} came after request {last.number} was answered: the aggregator's journal is gone "
            "or older than this silo; restore it, or begin another run"
        )
    if kind is None:
        raise MessageError("the request holds nothing this version knows; update the silo")
    if last.number == 0 and kind != "enrol":
        raise WrongRound(
            f"{silo} has no memory of this run, which is under way: its folder is new or was removed; what it spent "
            "would be forgotten, so restore the folder from a backup or begin another run"
        )
    # Requests 1 to 3 are these, and nothing else comes before all of them, whatever numbers an aggregator leaves out.
    earliest = {"enrol": 1, "begin": 2, "nonces": 3}.get(kind, 4)
    in_place = message.number == earliest or message.number > earliest == 4
    if not in_place or last.number < earliest - 1:
        raise WrongRound(
            "a job begins, once, when this silo has seen that everyone agreed to it, and works when it has everyone's "
            "nonce"
        )


def require_later(phase: Phase, round: int, *, prepared: str, prepared_round: int) -> None:
    """A typed error unless the job has this training after what this silo prepared last: nothing is trained twice.

    A sum is named after the phase and the round that it is over, so one name never stands for two sums.
    """
    order = list(Phase)
    if prepared and (order.index(phase), round) <= (order.index(Phase(prepared)), prepared_round):
        raise WrongRound(
            f"training in {phase}, round {round}, was asked for after {prepared}, round {prepared_round}; each "
            "round of a job is trained once, and in order"
        )
