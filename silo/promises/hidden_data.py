"""Promises that nothing but the clipped gradient sees data."""

from collections.abc import Mapping

import torch
from torch import Tensor

from siloseal.models.learner import ExampleLearner
from siloseal.silo.data.examples import Examples
from siloseal.silo.promises.trial import Trial, clipped_sum, differing, everything_of, repeatable_gradients, same_draws

STEPS = 3
STEP_SIZE = 0.01


def losses_change_nothing(trial: Trial) -> str:
    """Looking at data leaves every parameter and every buffer as it was."""
    learner = trial.learner()
    before = _networks(learner)
    with same_draws():
        learner.row_losses(trial.data)
    changed = differing(before, _networks(learner))
    return f"row_losses() changes {changed}; data may do nothing but make the gradient" if changed else ""


def only_the_gradient_sees_data(trial: Trial) -> str:
    """Two learners that saw other data, but got the same gradients, cannot be told apart in any bit."""
    shown = [_after_equal_gradients(trial.learner(), data) for data in (trial.data, trial.other)]
    changed = differing(*shown)
    if not changed:
        return ""
    return f"with other data and the same gradients, {changed} differ: data reach them past clipping and noise"


def _after_equal_gradients(learner: ExampleLearner, data: Examples) -> dict[str, Tensor]:
    """What the learner shows after steps in which it sees the data, and gets public vectors for its gradients."""
    generator, gradients = torch.Generator().manual_seed(1), repeatable_gradients(learner, data)
    for step in range(STEPS):
        clipped_sum(gradients, torch.arange(4) + 4 * step, 1.0)
        with torch.no_grad():
            for parameter in learner.private_module.parameters():
                if parameter.requires_grad:
                    parameter.sub_(STEP_SIZE * torch.randn(parameter.shape, generator=generator))
        with same_draws(step):
            learner.public_step()
    return everything_of(learner)


def _networks(learner: ExampleLearner) -> Mapping[str, Tensor]:
    """Parameters and buffers. The learner's own record may change: its stream of fakes has moved on, say."""
    tensors = everything_of(learner).items()
    return {name: tensor for name, tensor in tensors if not name.startswith(("state()", "public_metrics()"))}
