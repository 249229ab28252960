"""The learner's own randomness in an audit: the attacker knows it, and others' draws do not shift with the canary.

Training noise and samples stay the trainer's own, and secret. All else that a learner draws, such as the instance
noise on a batch, hides nothing that the ledger counts on, so the worst case is an attacker who knows it.
"""

import numpy as np
from numpy.typing import NDArray

from siloseal.federation.randomness import SecureRandomness


class KnownRandomness:
    """Draws that repeat after each `begin`. A longer draw begins with the shorter one, whoever else is in a batch.

    So the canary, which is the last row, changes nobody else's draw: a step with it and one without it differ by its
    clipped gradient alone, as the accounting takes for granted.
    """

    def __init__(self, seed: int = 0) -> None:
        self._seed, self._draws = seed, 0

    def begin(self, stretch: str) -> None:
        """Repeat all draws from the first one on."""
        self._draws = 0

    def bits(self, count: int) -> bytes:
        return self._generator().bytes(count)

    def uniforms(self, count: int) -> NDArray[np.float64]:
        return self._generator().random(count)

    def normals(self, count: int) -> NDArray[np.float32]:
        return self._generator().standard_normal(count, dtype=np.float32)

    def _generator(self) -> np.random.Generator:
        self._draws += 1
        return np.random.default_rng([self._seed, self._draws])


class StepDraws(SecureRandomness):
    """What a network draws in a step, dropout's masks: fresh for each step, and the same for all that is recomputed.

    The canary is the last row, so that nobody else's draw depends on whether it is there.
    """

    def __init__(self) -> None:
        self.drawn: bytes | None = None
        """The bytes of the step so far; None if it drew nothing."""

    def begin(self, stretch: str) -> None:
        """Forget the draws of the step before."""
        self.drawn = None

    def bits(self, count: int) -> bytes:
        """The same bytes until the next step begins: a step asks once."""
        self.drawn = self.drawn or super().bits(count)
        return self.drawn
