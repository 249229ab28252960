"""A filter between the coordinator and a deployed aggregator's events: what a restart replays is not recorded again."""

from siloseal.federation.run_events.aggregator import BudgetSpent, ModelKept, StageBegan
from siloseal.federation.run_events.coordination import ReplayEnded, RequestReplayed, RunBegan
from siloseal.federation.run_events.stream import PublishedBefore, RunEvent, Subscriber


class ReplayFilter:
    """A subscriber that passes a coordinator's events on.

    What is replayed after a stop is shown again, for whoever looks on only now, but is in the audit log already. What
    came after the last entry of the journal may not be: it is recorded, once more perhaps, when the run goes on.
    """

    def __init__(self, publish: Subscriber) -> None:
        self._publish = publish
        self._held: list[StageBegan | BudgetSpent | ModelKept] | None = []
        """Events since the last replayed request; None while nothing is replayed."""

    def hear(self, event: RunEvent) -> None:
        """Pass on an event, or hold it back until it is known whether it was published before."""
        match event:
            case RunBegan():
                self._held = []
                self._publish(event)
            case RequestReplayed():
                for held in self._held or ():
                    self._publish(PublishedBefore(held))
                self._held = []
                self._publish(event)
            case ReplayEnded():
                unpublished, self._held = self._held or [], None
                self._publish(event)
                for held in unpublished:
                    self._publish(held)
            case StageBegan() | BudgetSpent() | ModelKept() if self._held is not None:
                self._held.append(event)
            case _:
                self._publish(event)
