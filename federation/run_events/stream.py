"""The union of all events, and the stream that carries them to their subscribers."""

from collections.abc import Callable
from dataclasses import dataclass

from siloseal.federation.run_events.aggregator import AggregatorEvent
from siloseal.federation.run_events.coordination import CoordinationEvent
from siloseal.federation.run_events.experimenter import ExperimenterEvent
from siloseal.federation.run_events.kinds import Internal
from siloseal.federation.run_events.silo import SiloEvent


@dataclass(frozen=True, slots=True)
class PublishedBefore(Internal):
    """An event that a process before this one has recorded.

    It is shown once more, for whoever looks on only now, and is not in the audit log a second time.
    """

    event: AggregatorEvent | CoordinationEvent


@dataclass(frozen=True, slots=True)
class PartySaid(Internal):
    """What one process of several on this machine has published."""

    party: str
    event: AggregatorEvent | CoordinationEvent | SiloEvent | ExperimenterEvent


RunEvent = AggregatorEvent | CoordinationEvent | SiloEvent | ExperimenterEvent | PublishedBefore | PartySaid
Subscriber = Callable[[RunEvent], None]


class EventStream:
    """Hands each event to every subscriber, in their order, in the thread that publishes it.

    An error of a subscriber reaches whoever publishes, and those behind it hear nothing: what the audit log could not
    take has not happened. Several threads may publish at once; each subscriber sees to its own locks.
    """

    def __init__(self, *subscribers: Subscriber) -> None:
        self._subscribers = list(subscribers)

    def subscribe(self, subscriber: Subscriber) -> None:
        """Add a subscriber behind the others."""
        self._subscribers.append(subscriber)

    def publish(self, event: RunEvent) -> None:
        """Hand out one event."""
        for subscriber in self._subscribers:
            subscriber(event)


def unheard(event: RunEvent) -> None:
    """A subscriber for whoever wants to hear nothing."""
