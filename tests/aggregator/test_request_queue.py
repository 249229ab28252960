"""Requests that wait for their silos, and replies that come back, by threads as the server has them."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any

import pytest

from siloseal.aggregator.request_queue import RequestQueue
from siloseal.federation.errors import MessageError, RunError, SiloRefused, WrongRound
from siloseal.federation.run_events.aggregator import RepliesAwaited
from siloseal.federation.run_events.stream import RunEvent

SILOS = ("north", "east", "south")
PATIENCE_SECONDS = 30
AN_HOUR = 3600.0


def in_thread(work: Callable[..., Any], *args: Any) -> Future[Any]:
    """A daemon, so that one which waits forever does not keep the tests from ending."""
    future: Future[Any] = Future()

    def run() -> None:
        try:
            future.set_result(work(*args))
        except BaseException as error:  # noqa: BLE001 (the test sees it)
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return future


class Office:
    """A request queue with what happens around it. It hears the queue's events, too."""

    def __init__(self) -> None:
        self.room = RequestQueue(SILOS, self.hear)
        self.accepted: list[str] = []
        self.accept: Callable[[str, bytes], object] = lambda silo, reply: self.accepted.append(silo)
        self.events: list[RunEvent] = []
        self.heard = threading.Event()

    def hear(self, event: RunEvent) -> None:
        self.events.append(event)
        self.heard.set()

    def ask(self, number: int = 1, *, deadline: float = AN_HOUR, fewest: int = 3, largest: int = 100) -> Future[None]:
        """The coordinator asks everyone."""
        requests = {silo: f"{number} to {silo}".encode() for silo in SILOS}

        def ask() -> None:
            accept = self.accept
            self.room.ask(
                requests,
                deadline_seconds=deadline,
                fewest=fewest,
                largest=largest,
                accept=lambda s, r: accept(s, r) and None,
            )

        return in_thread(ask)

    def attend(self, silo: str, instance: bytes = b"1", alive: Callable[[], bool] = lambda: True) -> Iterator[bytes]:
        return self.room.requests_for(silo, instance, alive)

    def asked(self, **facts: Any) -> Future[None]:
        """As `ask`; the requests are there when this returns, because somebody has seen one."""
        asking = self.ask(**facts)
        next(self.attend("south"))
        return asking

    def answer(self, *silos: str) -> None:
        for silo in silos:
            self.room.deliver(silo, b"reply")


@pytest.fixture
def office() -> Iterator[Office]:
    office = Office()
    yield office
    office.room.close()


def done(asking: Future[None]) -> None:
    asking.result(PATIENCE_SECONDS)


class TestReplies:
    def test_end_a_step_when_the_last_one_is_there(self, office: Office) -> None:
        asking = office.ask()
        for silo in SILOS:
            assert next(office.attend(silo)) == f"1 to {silo}".encode()
        office.answer("north", "south")
        assert [silo for silo in SILOS if office.room.is_pending(silo)] == ["east"]
        office.answer("east")
        done(asking)
        assert office.accepted == ["north", "south", "east"]

    def test_are_enough_past_the_deadline_if_enough_have_come(self, office: Office) -> None:
        asking = office.asked(deadline=0.05, fewest=2)
        office.answer("north", "east")
        done(asking)
        assert office.accepted == ["north", "east"]

    def test_that_are_too_few_past_the_deadline_are_waited_for_and_an_event_says_how_many(self, office: Office) -> None:
        asking = office.asked(deadline=0.05, fewest=2)
        assert office.heard.wait(PATIENCE_SECONDS)
        assert office.events == [RepliesAwaited(("east", "north", "south"), needed=2, past_deadline=True)]
        office.answer("north")
        assert not asking.done()
        office.answer("east")
        done(asking)
        assert len(office.events) == 1

    def test_that_come_too_late_are_refused(self, office: Office) -> None:
        asking = office.asked(deadline=0.05, fewest=1)
        office.answer("north")
        done(asking)
        with pytest.raises(WrongRound, match=r"^east"):
            office.answer("east")
        assert office.accepted == ["north"]

    def test_may_be_as_large_as_the_request_under_way_can_need(self, office: Office) -> None:
        with pytest.raises(WrongRound):
            office.room.largest_reply("north")
        for number, largest in ((1, 200), (2, 50_000)):
            asking = office.asked(number=number, largest=largest)
            assert office.room.largest_reply("north") == largest
            office.answer("north")
            with pytest.raises(WrongRound):
                office.room.largest_reply("north")
            office.answer("east", "south")
            done(asking)

    def test_that_come_twice_or_unasked_are_refused(self, office: Office) -> None:
        with pytest.raises(WrongRound, match=r"^east"):
            office.answer("east")
        office.asked()
        office.answer("east")
        with pytest.raises(WrongRound, match=r"^east"):
            office.answer("east")
        assert office.accepted == ["east"]
        assert office.room.silos["east"].trouble == ""

    def test_that_are_not_accepted_leave_the_silo_pending_until_a_good_one_comes(self, office: Office) -> None:
        errors: list[Exception] = [MessageError("NaN"), RunError("no room"), OSError("no room at all")]

        def accept(silo: str, reply: bytes) -> None:
            if errors:
                raise errors[0]

        office.accept = accept
        asking = office.asked(fewest=1)
        while errors:
            with pytest.raises(type(errors[0])):
                office.answer("north")
            office.room.note_trouble("north", errors[0])
            assert office.room.is_pending("north")
            del errors[0]
        office.answer(*SILOS)
        done(asking)
        assert office.room.silos["north"].trouble == ""

    def test_being_written_down_are_waited_for_past_the_deadline(self, office: Office) -> None:
        begun, go_on = threading.Event(), threading.Event()

        def accept(silo: str, reply: bytes) -> None:
            if silo == "east":
                begun.set()
                go_on.wait(PATIENCE_SECONDS)
            office.accepted.append(silo)

        office.accept = accept
        asking = office.asked(deadline=0.05, fewest=1)
        slow = in_thread(office.answer, "east")
        assert begun.wait(PATIENCE_SECONDS)
        office.answer("north")
        with pytest.raises(RunError, match=" east "):
            office.answer("east")
        assert not asking.done()
        go_on.set()
        done(slow)
        done(asking)
        assert office.accepted == ["north", "east"]

    def test_that_refuse_end_the_step_at_once_with_the_silos_words(self, office: Office) -> None:
        def accept(silo: str, reply: bytes) -> None:
            raise SiloRefused("east refused: too much epsilon")

        office.accept = accept
        asking = office.asked()
        office.answer("east")
        with pytest.raises(SiloRefused, match=r"^east refused: "):
            asking.result(PATIENCE_SECONDS)


class TestAnAttendance:
    def test_gets_each_request_once(self, office: Office) -> None:
        requests = office.attend("north")
        for number in (1, 2, 3):
            asking = office.ask(number)
            assert next(requests) == f"{number} to north".encode()
            office.answer(*SILOS)
            done(asking)

    def test_gets_a_request_again_after_a_connection_that_was_lost(self, office: Office) -> None:
        office.ask()
        first = office.attend("north")
        assert next(first) == next(office.attend("north")) == b"1 to north"

    def test_is_replaced_by_a_newer_one_of_the_same_process_which_alone_is_served(self, office: Office) -> None:
        old = office.attend("north")
        begun = office.ask(1)
        assert next(old) == b"1 to north"
        waiting = in_thread(next, old, None)
        new = office.attend("north")
        assert next(new) == b"1 to north"
        assert waiting.result(PATIENCE_SECONDS) is None
        assert office.room.silos["north"].instance == b"1"
        office.answer(*SILOS)
        done(begun)
        office.ask(2)
        assert next(new) == b"2 to north"

    def test_of_another_process_is_turned_away_until_the_first_leaves(self, office: Office) -> None:
        first = office.attend("north", b"1")
        office.ask()
        next(first)
        with pytest.raises(RunError, match="north"):
            next(office.attend("north", b"2"))
        assert office.room.silos["north"].instance == b"1"
        first.close()
        second = office.attend("north", b"2")
        assert next(second) == b"1 to north"
        assert office.room.silos["north"].instance == b"2"

    def test_without_a_process_number_is_refused(self, office: Office) -> None:
        with pytest.raises(MessageError, match=r"^north"):
            next(office.attend("north", b""))

    def test_ends_when_its_connection_does(self, office: Office) -> None:
        alive = threading.Event()
        alive.set()
        requests = office.attend("north", alive=alive.is_set)
        asking = office.ask()
        next(requests)
        waiting = in_thread(next, requests, None)
        office.answer(*SILOS)
        done(asking)
        alive.clear()
        office.room.wake()
        assert waiting.result(PATIENCE_SECONDS) is None
        presence = office.room.silos["north"]
        assert presence.instance == b""
        assert presence.last_seen > 0

    def test_ends_for_everyone_when_the_run_is_over(self, office: Office) -> None:
        attending = [in_thread(next, office.attend(silo), None) for silo in SILOS]
        office.room.close()
        assert [each.result(PATIENCE_SECONDS) for each in attending] == [None, None, None]
        assert next(office.attend("north"), None) is None
