"""The request that a silo answers next. Every other one is refused with a typed error."""

from itertools import product

import pytest

from siloseal.federation.errors import MessageError, SessionMismatch, SiloSealError, WrongRound
from siloseal.federation.job.phases import Phase
from siloseal.federation.transport.wire import messages_pb2 as pb
from siloseal.silo.order import require_later, require_next

JOB, RUN = b"job".ljust(32), b"run".ljust(32)
BODIES = {
    "enrol": pb.Enrol(), "begin": pb.Begin(), "nonces": pb.Nonces(), "train": pb.Train(), "kernel_mean": pb.KernelMean(),
    "query": pb.Query(), "sum": pb.Sum(), "finish": pb.Finish(),
}  # fmt: skip
WORK = [kind for kind in BODIES if kind not in ("enrol", "begin", "nonces")]


def ask(kind: str, number: int, last: int, *, job: bytes = JOB, run: bytes = RUN) -> None:
    """Require that this request may follow the last one that was answered; 0 for none."""
    body = {kind: BODIES[kind]} if kind else {}
    request = pb.Request(number=number, job_digest=job, run_id=run, **body)
    answered = pb.LastReply(number=last, run_id=RUN if last else b"")
    require_next(request, answered, silo="north", job_digest=JOB)


def test_a_run_goes_in_order_and_may_leave_out_numbers_once_everyone_agreed() -> None:
    for number, kind in enumerate(("enrol", "begin", "nonces"), start=1):
        ask(kind, number, number - 1)
    for kind, number in product(WORK, (4, 5, 900)):
        ask(kind, number, 3)
    ask("sum", 12, 7)


@pytest.mark.parametrize("kind", WORK)
@pytest.mark.parametrize("last", [0, 1, 2])
def test_no_number_leads_to_work_before_everyone_agreed(kind: str, last: int) -> None:
    for number in (last + 1, 4, 9):
        with pytest.raises(WrongRound):
            ask(kind, number, last)


@pytest.mark.parametrize(("kind", "place"), [("enrol", 1), ("begin", 2), ("nonces", 3)])
def test_each_step_of_the_beginning_has_one_place(kind: str, place: int) -> None:
    for last, number in product(range(6), range(1, 9)):
        if (last, number) != (place - 1, place):
            with pytest.raises(WrongRound):
                ask(kind, number, last)


@pytest.mark.parametrize("number", [1, 4, 7])
def test_a_request_that_is_not_newer_than_the_last_is_refused(number: int) -> None:
    with pytest.raises(WrongRound):
        ask("train", number, 7)


@pytest.mark.parametrize(
    ("changes", "error"),
    [({"job": b"other".ljust(32)}, SessionMismatch), ({"run": b"other".ljust(32)}, SessionMismatch)],
    ids=["another job", "another run"],
)
def test_a_request_of_another_job_or_run_is_refused(changes: dict[str, bytes], error: type[SiloSealError]) -> None:
    with pytest.raises(error):
        ask("train", 5, 4, **changes)


def test_a_request_without_content_is_refused() -> None:
    with pytest.raises(MessageError):
        ask("", 5, 4)


ROUNDS = [(Phase.WARM_START, 0), (Phase.PHASE_1, 0), (Phase.PHASE_2, 1), (Phase.PHASE_2, 2), (Phase.FEDAVG, 1)]


@pytest.mark.parametrize(("before", "after"), list(product(range(len(ROUNDS)), repeat=2)))
def test_each_round_is_trained_once_and_after_all_that_were(before: int, after: int) -> None:
    (prepared, prepared_round), (phase, number) = ROUNDS[before], ROUNDS[after]
    if after > before:
        require_later(phase, number, prepared=prepared, prepared_round=prepared_round)
    else:
        with pytest.raises(WrongRound):
            require_later(phase, number, prepared=prepared, prepared_round=prepared_round)


def test_anything_may_come_first() -> None:
    for phase, number in ROUNDS:
        require_later(phase, number, prepared="", prepared_round=0)
