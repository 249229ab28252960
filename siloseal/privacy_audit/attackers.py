"""Attackers on a training step. Each makes one guess a step; whatever it is, the bound on its success holds."""

from collections.abc import Callable

import torch

from siloseal.privacy_audit.guesses import coin
from siloseal.privacy_audit.low_bits import MOST_ENTRIES, unreachable
from siloseal.privacy_audit.stepping import Step

Attacker = Callable[[Step, Step | None], bool]
"""Function from a step, and the one before it with its coin, to the guess whether the canary is in the data set."""

ALONG_CANARY, REUSED_NOISE, LOW_BITS = "along the canary", "reused noise", "low bits"


def along_canary(step: Step, before: Step | None) -> bool:
    """Say yes if the noised sum went more than half of the canary's way: the likelihood ratio of normal noise."""
    move = step.sums.move
    return bool(torch.dot(step.noised_sum - step.sums.without, move) > 0.5 * torch.dot(move, move))


def reused_noise(step: Step, before: Step | None) -> bool:
    """Subtract the noise of the step before first: noise that is used twice cancels, and leaves the canary bare."""
    if before is None:
        return coin()
    move = step.sums.move
    return bool(torch.dot(step.noised_sum - before.noise - step.sums.without, move) > 0.5 * torch.dot(move, move))


def low_bits(noise_std: float) -> Attacker:
    """Say yes if fewer entries are out of the noise's reach with the canary than without; toss a coin if as many."""

    def guess(step: Step, before: Step | None) -> bool:
        places = torch.nonzero(step.sums.move).flatten()[:MOST_ENTRIES]
        released, without = step.noised_sum[places], step.sums.without[places]
        absent = unreachable(released, without, noise_std)
        present = unreachable(released, without + step.sums.move[places], noise_std)
        return coin() if absent == present else present < absent

    return guess
