"""How long to wait before the next try."""

import random

FIRST_SECONDS, LONGEST_SECONDS = 0.5, 30.0


class Backoff:
    """Doubling waits with jitter: silos that lost the same aggregator do not all come back at the same moment."""

    def __init__(self) -> None:
        self._next = FIRST_SECONDS

    def seconds(self) -> float:
        """The next wait: between half of the current step and all of it."""
        wait = self._next * random.uniform(0.5, 1.0)  # noqa: S311 (nothing to guess)
        self._next = min(2 * self._next, LONGEST_SECONDS)
        return wait

    def reset(self) -> None:
        """Begin with short waits again, because a try has worked."""
        self._next = FIRST_SECONDS
