"""What a restarted aggregator records: nothing that was recorded before the last entry of its journal."""

import pytest

from siloseal.aggregator.replay import ReplayFilter
from siloseal.federation.run_events.aggregator import BudgetSpent, ReplyAccepted, StageBegan, WritingFailed
from siloseal.federation.run_events.coordination import ReplayEnded, RequestReplayed, RunBegan
from siloseal.federation.run_events.stream import PublishedBefore, RunEvent

WARM, FIRST, SPENT = StageBegan("warm_start"), StageBegan("phase_1"), BudgetSpent("north", 1.0)
ACCEPTED, TROUBLE = ReplyAccepted(5, "north", "digest", 1), WritingFailed("full", 0.1)


class Passed:
    def __init__(self, *events: RunEvent) -> None:
        self.events = list[RunEvent]()
        self.filter = ReplayFilter(self.events.append)
        self.hear(*events)

    def hear(self, *events: RunEvent) -> None:
        for event in events:
            self.filter.hear(event)


def test_in_a_new_run_what_was_held_until_its_first_request_is_published_in_order() -> None:
    assert Passed(RunBegan(), WARM, SPENT).events == [RunBegan()]
    passed = Passed(RunBegan(), WARM, SPENT, ReplayEnded(), FIRST, ACCEPTED)
    assert passed.events == [RunBegan(), ReplayEnded(), WARM, SPENT, FIRST, ACCEPTED]


def test_what_came_before_a_replayed_request_is_shown_and_what_came_after_the_last_is_published() -> None:
    replayed = RequestReplayed(3, "train")
    passed = Passed(RunBegan(), WARM, replayed, SPENT, FIRST, ReplayEnded(), ACCEPTED)
    assert passed.events == [RunBegan(), PublishedBefore(WARM), replayed, ReplayEnded(), SPENT, FIRST, ACCEPTED]


def test_a_run_that_is_played_again_holds_back_anew() -> None:
    passed = Passed(RunBegan(), ReplayEnded(), WARM, TROUBLE)
    passed.events.clear()
    passed.hear(RunBegan(), WARM, RequestReplayed(3, "train"))
    assert passed.events == [RunBegan(), PublishedBefore(WARM), RequestReplayed(3, "train")]


def test_what_could_not_be_recorded_is_held_again_when_the_run_is_played_again() -> None:
    recorded, room = list[RunEvent](), list[bool]()

    def record(event: RunEvent) -> None:
        if isinstance(event, StageBegan) and not room:
            raise OSError("no space left on device")
        recorded.append(event)

    replay = ReplayFilter(record)
    for event in (RunBegan(), WARM):
        replay.hear(event)
    with pytest.raises(OSError, match="no space"):
        replay.hear(ReplayEnded())
    room.append(True)
    for event in (RunBegan(), WARM, ReplayEnded()):
        replay.hear(event)
    assert recorded == [RunBegan(), ReplayEnded(), RunBegan(), ReplayEnded(), WARM]
