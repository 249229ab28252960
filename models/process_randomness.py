"""The generators that torch keeps for the whole process: one of the CPU, and one of each other device in use."""

from collections.abc import Iterator
from contextlib import contextmanager
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


@contextmanager
def kept_randomness() -> Iterator[None]:
    """Let the generators go on afterwards as if nothing had been drawn or seeded inside."""
    before = RandomStates.now()
    try:
        yield
    finally:
        before.put_back()
