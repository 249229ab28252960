"""Requests that wait for their silos, and replies that come back: the engine of a deployment.

Silos dial in whenever they like. The coordinator leaves its requests here and waits; the threads that serve silos take
them from here and bring the replies. A reply is on the disk before its silo gets a receipt.
"""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from siloseal.federation.errors import MessageError, RunError, SiloRefused, SiloSealError, WrongRound
from siloseal.federation.printable import printable
from siloseal.federation.records.audit import LONGEST_TEXT
from siloseal.federation.run_events.aggregator import RepliesAwaited
from siloseal.federation.run_events.stream import Subscriber
from siloseal.federation.transport.engine import Accept


@dataclass
class Presence:
    """One silo, as seen from here."""

    instance: bytes = b""
    """Instance of the process that attends; empty if none does."""
    end: Callable[[], object] = lambda: None
    """Function that ends the attendance, should its process begin another."""
    last_seen: float = 0.0
    trouble: str = ""
    attendance: int = 0
    """Number that counts up: of two attendances of one process, the older is what a cut connection left behind."""
    taken: int = 0
    """Number of the last step whose request this attendance has been given."""


@dataclass
class _Asking:
    """One step of the coordinator."""

    number: int
    pending: dict[str, bytes]
    largest: int
    """Size of the largest reply that can be right, in bytes."""
    accept: Accept
    accepted: int = 0
    busy: set[str] = field(default_factory=set)
    """Silos whose reply is being written down: nobody goes on before that is done."""
    failure: SiloSealError | None = None


class RequestQueue:
    """An `Engine` whose silos come to it."""

    def __init__(self, silos: tuple[str, ...], publish: Subscriber) -> None:
        self.silos = {silo: Presence() for silo in silos}
        self._publish = publish
        self._changed = threading.Condition()
        self._asking: _Asking | None = None
        self._askings = 0
        self._closed = False

    def ask(
        self, requests: Mapping[str, bytes], *, deadline_seconds: float, fewest: int, largest: int, accept: Accept
    ) -> None:
        """Leave the requests for their silos, and wait."""
        deadline = time.monotonic() + deadline_seconds
        with self._changed:
            self._askings += 1
            self._asking = asking = _Asking(self._askings, dict(requests), largest, accept)
            self._changed.notify_all()
            announced = False
            while asking.pending and asking.failure is None:
                left = deadline - time.monotonic()
                if left <= 0 and not asking.busy and asking.accepted >= fewest:
                    break
                needed = fewest - asking.accepted
                if left <= 0 and not announced and needed > 0:
                    announced = True
                    self._publish(RepliesAwaited(tuple(sorted(asking.pending)), needed, past_deadline=True))
                self._changed.wait(left if left > 0 else None)
            while asking.busy:
                self._changed.wait()
            self._asking = None
            if asking.failure is not None:
                raise asking.failure

    def requests_for(
        self, silo: str, instance: bytes, alive: Callable[[], bool], end: Callable[[], object] = lambda: None
    ) -> Iterator[bytes]:
        """The silo's requests, one after the other, for as long as it attends and nobody replaces it.

        An attendance that is replaced may hang in a request that nobody reads, so it is ended from outside.
        """
        presence = self.silos[silo]
        if not instance:
            raise MessageError(f"{silo} attends without its process's number; both sides must run the same version")
        with self._changed:
            if presence.instance not in (b"", instance):
                raise RunError(
                    f"another process attends as {silo}; stop one of the two. If it was this one before its connection "
                    "was cut, it is forgotten within a minute"
                )
            earlier = presence.end if presence.instance else lambda: None
            presence.instance, presence.last_seen, presence.taken = instance, time.time(), 0
            presence.attendance += 1
            attendance, presence.end = presence.attendance, end
            self._changed.notify_all()  # the one that this replaces is over
        earlier()
        try:
            while (request := self._next(presence, silo, attendance, alive)) is not None:
                yield request
        finally:
            with self._changed:
                if presence.attendance == attendance:
                    presence.instance, presence.last_seen = b"", time.time()

    def _next(self, presence: Presence, silo: str, attendance: int, alive: Callable[[], bool]) -> bytes | None:
        with self._changed:
            while alive() and presence.attendance == attendance and not self._closed:
                asking = self._asking
                if asking is not None and silo in asking.pending and presence.taken < asking.number:
                    presence.taken = asking.number
                    return asking.pending[silo]
                self._changed.wait()
        return None

    def see(self, silo: str) -> None:
        """Note that the silo is there, even if it is busy."""
        self.silos[silo].last_seen = time.time()

    def largest_reply(self, silo: str) -> int:
        """Size in bytes of the largest reply that the request can need; `WrongRound` unless the silo owes a reply."""
        with self._changed:
            return self._asking_of(silo).largest

    def deliver(self, silo: str, reply: bytes) -> None:
        """Bring a reply."""
        presence = self.silos[silo]
        with self._changed:
            presence.last_seen = time.time()
            asking = self._asking_of(silo)
            if silo in asking.busy:  # perhaps to fail for want of room: only a new connection is asked again
                raise RunError(f"a reply of {silo} is being written down just now; dial again in a moment")
            asking.busy.add(silo)
        try:
            asking.accept(silo, reply)
        except SiloRefused as refusal:
            asking.failure = refusal
        else:
            presence.trouble = ""
            with self._changed:
                asking.accepted += 1
                del asking.pending[silo]
        finally:
            with self._changed:
                asking.busy.discard(silo)
                self._changed.notify_all()

    def _asking_of(self, silo: str) -> _Asking:
        if self._asking is None or silo not in self._asking.pending:
            raise WrongRound(
                f"{silo} is not being asked: its reply came already, or too late; it goes on with the next request"
            )
        return self._asking

    def note_trouble(self, silo: str, error: Exception) -> None:
        """Keep what was refused from the silo last, for the status, until a good reply comes."""
        words = f"{type(error).__name__}: {error}"[:LONGEST_TEXT]
        self.silos[silo].trouble = printable(words)  # it may quote the silo

    def wake(self) -> None:
        """Wake up whoever waits: something that `alive` looks at has changed."""
        with self._changed:
            self._changed.notify_all()

    def is_pending(self, silo: str) -> bool:
        """Whether the silo owes a reply."""
        with self._changed:
            return self._asking is not None and silo in self._asking.pending

    def close(self) -> None:
        """Give out no more requests: whoever attends is sent home."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
