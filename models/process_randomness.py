"""The generators that torch keeps for the whole process: one of the CPU, and one of each other device in use.

Silos of a simulation share them, each in a thread. While one of them seeds a generator, or looks whether something was
drawn, dropout in another thread must wait.
"""

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class RandomStates:
    """The states of all generators at one time."""

    cpu: Tensor
    cuda: list[Tensor]
    mps: list[Tensor]

    @classmethod
    def now(cls) -> "RandomStates":
        """The states as they are. A GPU that nothing has used is not asked, since asking would begin to use it."""
        cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else []  # type: ignore[no-untyped-call]
        mps = [torch.mps.get_rng_state()] if torch.backends.mps.is_available() else []
        return cls(torch.get_rng_state(), cuda, mps)

    def equals(self, other: "RandomStates") -> bool:
        """Whether nothing was drawn or seeded between the two."""
        one, two = ([states.cpu, *states.cuda, *states.mps] for states in (self, other))
        return len(one) == len(two) and all(map(torch.equal, one, two))

    def put_back(self) -> None:
        """Let the generators go on from here."""
        torch.set_rng_state(self.cpu)
        for number, state in enumerate(self.cuda):
            torch.cuda.set_rng_state(state, number)
        for state in self.mps:
            torch.mps.set_rng_state(state)


class _ReadersAndWriter:
    """A lock that many threads hold together, or one alone. Whoever holds it alone may take it again, in both ways."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._together = 0
        self._waiting = 0
        """Threads that wait to be alone. They come first: others would never leave them a moment."""
        self._alone: int | None = None
        self._times = 0

    @contextmanager
    def together(self) -> Iterator[None]:
        if self._alone == threading.get_ident():
            yield
            return
        with self._changed:
            self._changed.wait_for(lambda: self._alone is None and not self._waiting)
            self._together += 1
        try:
            yield
        finally:
            with self._changed:
                self._together -= 1
                self._changed.notify_all()

    @contextmanager
    def alone(self) -> Iterator[None]:
        with self._changed:
            if self._alone != threading.get_ident():
                self._waiting += 1
                try:
                    self._changed.wait_for(lambda: self._alone is None and not self._together)
                    self._alone = threading.get_ident()
                finally:
                    self._waiting -= 1
            self._times += 1
        try:
            yield
        finally:
            with self._changed:
                self._times -= 1
                if not self._times:
                    self._alone = None
                self._changed.notify_all()


_lock = _ReadersAndWriter()


def drawing(*, watched: bool = False) -> AbstractContextManager[None]:
    """For a training pass, in which dropout may draw: other threads may draw, too, but none seeds meanwhile.

    Where it is `watched` whether something was drawn, no other thread draws.
    """
    return _lock.alone() if watched else _lock.together()


@contextmanager
def kept_randomness() -> Iterator[None]:
    """Let the generators go on afterwards as if nothing had been drawn or seeded inside; no other thread draws then."""
    with _lock.alone():
        before = RandomStates.now()
        try:
            yield
        finally:
            before.put_back()
