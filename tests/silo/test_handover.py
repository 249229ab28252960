"""What a script and its silo's serving thread hand to each other, and how each of them is let go."""

from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
import pytest

from siloseal.federation.averages.config import AverageJob
from siloseal.federation.averages.mean import Mean
from siloseal.federation.averages.structure import Structure
from siloseal.federation.errors import RunError, SessionMismatch, SiloRefused
from siloseal.silo.handover import Abandoned, Contribution, Handover

JOB = AverageJob.model_validate(
    {"name": "a", "silos": {"names": ["north", "east", "south"]}, "secure_sum": {"kind": "secagg"}, "averages": 3}
)
GIVEN = Contribution(Structure.of(["'a' of float32 (1,)"], 1), np.array([0.5, 1.0]))


def mean(round: int) -> Mean:
    return Mean(round, np.array([0.5], dtype=np.float32), ("north", "east"), 1e-6)


def started(call: object) -> Future[object]:
    """What the call returns, from a thread of its own that may wait."""
    pool = ThreadPoolExecutor(1)
    future: Future[object] = pool.submit(call)  # type: ignore[call-overload]
    pool.shutdown(wait=False)
    return future


def test_a_script_gives_what_it_has_and_gets_the_average() -> None:
    handover = Handover()
    call = started(lambda: handover.average(GIVEN))
    assert handover.take() is GIVEN
    assert handover.take() is GIVEN, "the same average may be asked for again"
    handover.hear(mean(0))
    found = call.result()
    assert isinstance(found, Mean)
    assert (found.round, handover.rounds) == (0, 1)


def test_what_was_given_for_one_average_is_not_taken_for_the_next() -> None:
    handover = Handover()
    call = started(lambda: handover.average(GIVEN))
    handover.take()
    with handover._changed:  # the script, which is told the average here, has not run on yet
        handover.hear(mean(0))
        handover.leave()
        assert handover.take() is None
    call.result()


def test_an_average_that_was_told_before_changes_nothing() -> None:
    handover = Handover()
    handover.hear(mean(3))
    handover.hear(mean(2))
    handover.hear(mean(3))
    assert handover.rounds == 4
    assert handover.last is not None
    assert handover.last.round == 3


def test_a_script_that_was_away_gets_the_newest_average() -> None:
    handover = Handover()
    call = started(lambda: handover.average(GIVEN))
    handover.take()
    handover.hear(mean(5))
    found = call.result()
    assert isinstance(found, Mean)
    assert found.round == 5


def test_the_end_of_the_run_reaches_a_script_that_waits_and_one_that_asks_later() -> None:
    handover, refused = Handover(), SiloRefused("no")
    call = started(lambda: handover.average(GIVEN))
    handover.take()
    handover.end(refused)
    handover.end(RunError("later"))
    assert call.exception() is refused
    with pytest.raises(SiloRefused):
        handover.average(GIVEN)
    with pytest.raises(SiloRefused):
        handover.job()


@pytest.mark.parametrize("close", [Handover.leave, Handover.abandon])
def test_a_closed_session_gives_nothing(close: object) -> None:
    handover = Handover()
    close(handover)  # type: ignore[operator]
    with pytest.raises(RunError):
        handover.average(GIVEN)


def test_a_script_that_failed_ends_the_serving_thread_with_no_refusal() -> None:
    handover = Handover()
    waiting = started(handover.take)
    handover.abandon()
    assert isinstance(waiting.exception(), Abandoned)


def test_another_run_than_the_first_ends_the_script_and_takes_nothing() -> None:
    handover = Handover()
    handover.join(JOB, run="1", last=None)
    call = started(lambda: handover.average(GIVEN))
    assert handover.take() is GIVEN
    with pytest.raises(SessionMismatch):
        handover.join(JOB, run="2", last=mean(2))
    assert isinstance(call.exception(), SessionMismatch)
    assert handover.rounds == 0, "the averages of the other run are not those of this one"
    with pytest.raises(SessionMismatch):
        handover.take()


def test_the_same_run_is_joined_again_and_goes_on() -> None:
    handover = Handover()
    handover.join(JOB, run="1", last=None)
    call = started(lambda: handover.average(GIVEN))
    assert handover.take() is GIVEN
    handover.join(JOB, run="1", last=None)
    assert handover.take() is GIVEN
    handover.join(JOB, run="1", last=mean(0))
    found = call.result()
    assert isinstance(found, Mean)
    assert (found.round, handover.rounds) == (0, 1)
