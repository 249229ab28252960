"""Random numbers that a learner draws from elsewhere than torch.

The trainer compares runs of a network that draw the same from torch. What is drawn elsewhere differs from run to run,
and looks as if the network mixed examples.
"""

import torch
from torch import Tensor

from siloseal.silo.promises.trial import Trial, same_draws

ROWS = 5
ADVICE = "draw from torch's, whose draws are repeated where runs are compared"


def foreign_draws(trial: Trial) -> str:
    """Where `row_losses` draws from, other than torch; empty if nowhere."""
    first = _losses(trial)
    if not _equal(first, _losses(trial)):
        return f"row_losses() draws random numbers from a generator of its own, which differs from run to run; {ADVICE}"
    if not _equal(first, _losses(trial, numpy_seed=1)):
        return f"row_losses() draws random numbers from numpy's generator; {ADVICE}"
    if not _equal(first, _losses(trial, python_seed=1)):
        return f"row_losses() draws random numbers from the generator of Python's random; {ADVICE}"
    return ""


def _losses(trial: Trial, *, numpy_seed: int = 0, python_seed: int = 0) -> Tensor:
    learner = trial.learner()
    with same_draws(0, numpy_seed=numpy_seed, python_seed=python_seed):
        return learner.row_losses(trial.data.select(torch.arange(ROWS))).detach()


def _equal(one: Tensor, other: Tensor) -> bool:
    return torch.allclose(one, other, rtol=1e-5, atol=1e-7, equal_nan=True)
