"""Silos of one process that rest in their folders until they are asked.

A thousand silos need not be in memory at once: a round asks some of them, and whatever a silo must remember is in its
folder before its reply leaves. So a silo is opened when a request comes, as after a restart, and the one that was asked
longest ago makes room for it.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from siloseal.federation.errors import RunError
from siloseal.silo.runtime import Silo

MOST_AWAKE = 128
"""Number of silos that stay in memory: above what a round of a large simulation asks, as a rule."""


class RestingSilos:
    """Silos by name, of which at most `most` are in memory between requests. Any thread may ask."""

    def __init__(self, open_one: Callable[[str], Silo], *, most: int = MOST_AWAKE) -> None:
        self._open_one, self._most = open_one, most
        self._asked = dict[str, Silo]()
        """Silos that answer at the moment."""
        self._awake = dict[str, Silo]()
        """Other silos in memory, the one asked longest ago first."""
        self._closed = False
        self._lock = threading.Lock()

    @contextmanager
    def awake(self, name: str) -> Iterator[Silo]:
        """The silo, opened if it rests. Whoever has it is alone with it (`RestingSilo`)."""
        with self._lock:
            if self._closed:
                raise RunError(f"{name} was asked after the run had ended; run the same command again")
            known = self._awake.pop(name, None)
            silo = self._asked[name] = known or self._open_one(name)
        if known is None:
            self._resume(silo)
        try:
            yield silo
        finally:
            self._rest(silo)

    def close(self) -> None:
        """Release what the silos in memory hold, of those too that still answer: nobody waits for them."""
        with self._lock:
            self._closed = True
            for silo in (*self._asked.values(), *self._awake.values()):
                silo.close()

    def _resume(self, silo: Silo) -> None:
        """Take up what the silo's folder holds. A silo that cannot is closed, and opened anew when asked again."""
        try:
            silo.resume()
        except BaseException:
            with self._lock:
                self._asked.pop(silo.name).close()
            raise

    def _rest(self, silo: Silo) -> None:
        with self._lock:
            self._awake[silo.name] = self._asked.pop(silo.name)
            if len(self._awake) > self._most:
                self._awake.pop(next(iter(self._awake))).close()


class RestingSilo:
    """One of them, which answers one request at a time."""

    def __init__(self, name: str, silos: RestingSilos) -> None:
        self._name, self._silos, self._one_at_a_time = name, silos, threading.Lock()

    def answer(self, request: bytes) -> bytes:
        """The reply to one request."""
        with self.awake() as silo:
            return silo.answer(request)

    @contextmanager
    def awake(self) -> Iterator[Silo]:
        """The silo itself, which does not rest meanwhile."""
        with self._one_at_a_time, self._silos.awake(self._name) as silo:
            yield silo
