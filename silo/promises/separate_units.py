"""Promises that make clipping bound what one unit does."""

import torch
from torch import Tensor

from siloseal.models.learner import ExampleLearner
from siloseal.silo.data.examples import Examples
from siloseal.silo.promises.trial import Trial, clipped_sum, same_draws
from siloseal.silo.training.gradients import unit_gradients

TOLERANCE = 1e-3
"""Largest relative difference that rounding may make: batches of other sizes are added up in another order."""

DRAWS = 256
MOST_ERRORS = 6.0
"""Standard errors beyond which two means differ: rounding aside, a false alarm in about a billion trials."""

ASKED = 5
"""Number of units in a batch of these checks."""


def one_loss_a_row(trial: Trial) -> str:
    """A finite loss a row, the units' rows first."""
    losses = _losses(trial.learner(), rows := trial.data.select(torch.arange(ASKED)))
    if losses.ndim != 1 or len(losses) < len(rows):
        return f"row_losses() of {len(rows)} rows has shape {tuple(losses.shape)}, expected one number a row"
    if not losses.requires_grad:
        return "row_losses() has no gradient; compute it from private_module, and not under no_grad"
    return "" if torch.isfinite(losses).all() else "row_losses() is not finite on inputs in [0, 1)"


def network_is_clippable(trial: Trial) -> str:
    """The trainer can tell the gradients of single units apart; it refuses the network otherwise."""
    unit_gradients(trial.learner(), trial.data).require_clippable()
    return ""


def units_are_separate(trial: Trial) -> str:
    """Loss and gradient of a unit stay what they are when another one changes or goes."""
    rows, others = (data.select(torch.arange(ASKED)) for data in (trial.data, trial.other))
    last = ASKED - 1
    changed = Examples(
        torch.cat([rows.inputs[:last], others.inputs[last:]]),
        torch.cat([rows.labels[:last], others.labels[last:]]),
        rows.classes,
    )
    kept = [*range(last)]
    before = _losses(learner := trial.learner(), rows)
    after = _losses(twin := trial.learner(), changed)
    if len(before) != len(after):
        return f"row_losses() has {len(before)} entries, and {len(after)} when another unit changes"
    public = [*range(ASKED, len(before))]  # a GAN's fakes, say
    if found := _moved(learner, before, twin, after, [*kept, *public]):
        return f"{found} when another unit of the batch changes; keep the rows apart"
    return _moved_by_number(trial, rows)


def _moved_by_number(trial: Trial, rows: Examples) -> str:
    """What differs in a batch of one unit less."""
    last = len(rows) - 1
    fewer = rows.select(torch.arange(last))
    whole, part = _quiet(trial), _quiet(trial)
    before, after = _losses(whole, rows), _losses(part, fewer)
    if len(before) - len(after) != 1:
        return f"row_losses() has {len(before)} entries for {len(rows)} units, and {len(after)} for {last}"
    why = "when another unit of the batch is gone; it may not depend on how many there are"
    if draws_by_row(trial):
        gap, error = _mean_gap(trial, rows, fewer)
        return f"the mean loss of a row changes by {gap:.3g} {why}" if gap > MOST_ERRORS * error + TOLERANCE else ""
    found = _moved(whole, before, part, after, [*range(last)])
    return f"{found} {why}" if found else ""


def draws_by_row(trial: Trial) -> bool:
    """Whether a row's loss depends on what is drawn for it, as in a variational autoencoder.

    Then batches of two sizes draw otherwise, and can be compared on average only.
    """
    rows = trial.data.select(torch.arange(ASKED))
    one, other = (_losses(_quiet(trial), rows, seed=seed)[:ASKED] for seed in (0, 1))
    return not _close(one, other)


def _mean_gap(trial: Trial, rows: Examples, fewer: Examples) -> tuple[float, float]:
    """The difference of the mean loss of the same rows over many draws, and its standard error."""
    learner, last = _quiet(trial), len(fewer)
    one, other = (
        torch.stack([_losses(learner, batch, seed=seed).detach()[:last].mean() for seed in range(DRAWS)])
        for batch in (rows, fewer)
    )
    return float((one.mean() - other.mean()).abs()), float(((one.var() + other.var()) / DRAWS).sqrt())


def _quiet(trial: Trial) -> ExampleLearner:
    """A copy without dropout, which would draw otherwise for a batch of another size."""
    learner = trial.learner()
    learner.private_module.eval()
    return learner


def clipped_sum_is_bounded(trial: Trial) -> str:
    """A unit moves the clipped sum by the clip norm at most; only equal draws can be compared."""
    if draws_by_row(trial):
        return ""
    learner, everyone = trial.learner(), torch.arange(ASKED)
    norms = [float(_gradient(learner, loss).norm()) for loss in _losses(learner, trial.data.select(everyone))[:ASKED]]
    for clip_norm in (1e-3, max(min(norms), 1e-6), max(*norms, 1e-6)):
        totals = list[Tensor]()
        for sample in (everyone, everyone[:-1]):
            totals.append(clipped_sum(_quiet(trial), trial.data, sample, clip_norm))
        moved = float((totals[0] - totals[1]).norm())
        if not moved <= clip_norm * (1 + TOLERANCE):
            return f"one unit moves the clipped sum by {moved:.3g}, but the clip norm is {clip_norm:.3g}"
    return ""


def empty_batches_work(trial: Trial) -> str:
    """A Poisson sample may be empty; the step is taken all the same."""
    learner, nobody = trial.learner(), torch.arange(0)
    _losses(learner, trial.data.select(nobody))
    total, of_two = (clipped_sum(learner, trial.data, sample, 1.0) for sample in (nobody, torch.arange(2)))
    if total.shape != of_two.shape or not torch.isfinite(total).all():
        return f"the gradient of an empty batch has shape {tuple(total.shape)}, expected {tuple(of_two.shape)}, finite"
    learner.public_step()
    return ""


def _losses(learner: ExampleLearner, rows: Examples, *, seed: int = 0) -> Tensor:
    with same_draws(seed):
        return learner.row_losses(rows)


def _moved(one: ExampleLearner, before: Tensor, other: ExampleLearner, after: Tensor, kept: list[int]) -> str:
    """What differs in the rows that are kept: a loss, or, where a trick hides it there, a gradient."""
    for row in kept:
        if not _close(before[row], after[row]):
            return f"the loss of row {row} goes from {before[row].item():.4g} to {after[row].item():.4g}"
        if not _close(_gradient(one, before[row]), _gradient(other, after[row])):
            return f"the gradient of row {row} changes"
    return ""


def _close(one: Tensor, other: Tensor) -> bool:
    return bool((one - other).norm() <= TOLERANCE * one.norm() + 1e-7)


def _gradient(learner: ExampleLearner, loss: Tensor) -> Tensor:
    trained = [parameter for parameter in learner.private_module.parameters() if parameter.requires_grad]
    parts = torch.autograd.grad(loss, trained, retain_graph=True, materialize_grads=True)
    return torch.cat([part.reshape(-1) for part in parts])
