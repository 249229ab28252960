"""The generators that torch keeps for the whole process: one of the CPU, and one of each other device in use.

Silos of a simulation share them, each in a thread. While one of them seeds a generator, draws in secret, or looks
whether something was drawn, dropout in another thread must wait.
"""

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor

from siloseal.federation.errors import RunError
from siloseal.federation.randomness import Randomness

SEED_BYTES = 8
TWISTER_PLACE, TWISTER_WORDS = 24, 624
"""Where the CPU's generator keeps the words of its Mersenne Twister, 32 bits of each eight bytes, behind its seed."""

LARGEST_OFFSET = 2**60
"""Bound of the places at which CUDA's streams begin: torch takes 64 bits, and a step must not run over their end."""


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

    @classmethod
    def fresh(cls, randomness: Randomness) -> "RandomStates":
        """States that nobody knows, of the generators that are in use, from one draw.

        As wide as torch allows: all 19,937 bits of the CPU's, a seed of 64 bits and an offset of 58 for each CUDA
        device, and a seed of 64 bits for MPS.
        """
        devices = len(torch.cuda.default_generators) if torch.cuda.is_initialized() else 0  # type: ignore[no-untyped-call]
        mps = torch.backends.mps.is_available()
        twister = SEED_BYTES + 4 * TWISTER_WORDS
        drawn = randomness.bits(twister + 2 * SEED_BYTES * devices + SEED_BYTES * mps)
        numbers = [int.from_bytes(drawn[at : at + SEED_BYTES]) for at in range(twister, len(drawn), SEED_BYTES)]
        cuda = [_cuda_state(number, *numbers[2 * number : 2 * number + 2]) for number in range(devices)]
        return cls(
            _cpu_state(drawn[:twister]),
            cuda,
            [torch.Generator(device="mps").manual_seed(numbers[-1]).get_state()] if mps else [],
        )

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


def _cpu_state(drawn: bytes) -> Tensor:
    """A state of the CPU's generator whose seed and words are these, as it is before the words are first mixed."""
    state = torch.Generator().manual_seed(0).get_state()
    words = torch.frombuffer(bytearray(drawn[SEED_BYTES:]), dtype=torch.uint8).view(TWISTER_WORDS, 4)
    state[:SEED_BYTES] = torch.frombuffer(bytearray(drawn[:SEED_BYTES]), dtype=torch.uint8)
    state[TWISTER_PLACE : TWISTER_PLACE + 8 * TWISTER_WORDS].view(TWISTER_WORDS, 8)[:, :4] = words
    return state


def _cuda_state(device: int, seed: int, offset: int) -> Tensor:
    generator = torch.Generator(device=f"cuda:{device}").manual_seed(seed)
    generator.set_offset(offset % LARGEST_OFFSET // 4 * 4)  # torch takes multiples of four
    return generator.get_state()


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


@contextmanager
def secret_randomness(randomness: Randomness) -> Iterator[None]:
    """Let everything inside draw from fresh states that nobody knows; afterwards the generators go on as before.

    No other thread draws then. Whoever seeds a generator inside gets a `RunError`: its draws would be known.
    """
    with kept_randomness():
        fresh = RandomStates.fresh(randomness)
        fresh.put_back()
        yield
        if not torch.equal(torch.get_rng_state()[:SEED_BYTES], fresh.cpu[:SEED_BYTES]):
            raise RunError(
                "torch's generator was seeded in a private step, so that its draws are known, and the guarantee counts "
                "on secret ones; leave out torch.manual_seed: the trainer seeds every step anew"
            )
