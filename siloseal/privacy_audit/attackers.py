"""Attackers on a training step. Each makes one guess a step; whatever it is, the bound on its success holds."""

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from siloseal.privacy_audit.guesses import coin
from siloseal.privacy_audit.low_bits import MOST_ENTRIES, unreachable
from siloseal.privacy_audit.stepping import Step

Attacker = Callable[[Step], bool]
"""Function from a step to the guess whether the canary is in the data set. It may keep what it saw in earlier steps."""

ALONG_CANARY, REUSED_NOISE, LOW_BITS = "along the canary", "reused noise", "low bits"

MOST_KEPT, KEPT_ENTRIES = 4096, 8
"""Number of earlier steps whose noise is kept, and number of entries that are kept of each."""
CLOSE = 0.01
"""Distance, in deviations, within which two noises are taken for one: what is read from an optimizer is rounded.

Eight entries of fresh noise come so close to one of 4,096 others with a probability below 1e-14.
"""


def along_canary(step: Step) -> bool:
    """Say yes if the noised sum went more than half of the canary's way: the likelihood ratio of normal noise."""
    move = step.sums.move
    return bool(torch.dot(step.noised_sum - step.sums.without, move) > 0.5 * torch.dot(move, move))


class ReusedNoise:
    """An attacker who looks for the step's noise in earlier steps: noise that is used again leaves the canary bare.

    It keeps the entries of the noise that the canary moves most, and guesses along the canary if there is no match.
    """

    def __init__(self, noise_std: float) -> None:
        self._close = CLOSE * noise_std
        self._places: Tensor | None = None
        self._kept: NDArray[np.float32] = np.full((KEPT_ENTRIES, MOST_KEPT), np.inf, np.float32)  # a step a column
        self._seen = 0

    def __call__(self, step: Step) -> bool:
        """Say whether the rest is nearer to an earlier noise with the canary subtracted than without."""
        if self._places is None:  # the canary's gradient is the same in every step
            self._places = step.sums.move.abs().topk(min(KEPT_ENTRIES, len(step.sums.move))).indices
        rest, move = (step.noised_sum - step.sums.without)[self._places], step.sums.move[self._places]
        absent, present = self._nearest(rest), self._nearest(rest - move)
        self._kept[: len(self._places), self._seen % MOST_KEPT] = step.noise[self._places].numpy()
        self._seen += 1
        return present < absent if min(absent, present) < self._close else along_canary(step)

    def _nearest(self, noise: Tensor) -> float:
        """The distance to the nearest noise that is kept, in the entry that is farthest."""
        return float(np.abs(self._kept[: len(noise)] - noise.numpy()[:, None]).max(axis=0).min())


def low_bits(noise_std: float) -> Attacker:
    """Say yes if fewer entries are out of the noise's reach with the canary than without; toss a coin if as many."""

    def guess(step: Step) -> bool:
        places = torch.nonzero(step.sums.move).flatten()[:MOST_ENTRIES]
        released, without = step.noised_sum[places], step.sums.without[places]
        absent = unreachable(released, without, noise_std)
        present = unreachable(released, without + step.sums.move[places], noise_std)
        return coin() if absent == present else present < absent

    return guess
