"""Promises that make clipping bound what one unit does."""

from collections.abc import Iterator

import torch
from torch import Tensor

from siloseal.models.learner import ExampleLearner
from siloseal.silo.data.examples import Examples
from siloseal.silo.promises.foreign_draws import foreign_draws
from siloseal.silo.promises.outcome import NotTried
from siloseal.silo.promises.trial import Trial, clipped_sum, repeatable_gradients, same_draws
from siloseal.silo.training.gradients import unit_gradients

TOLERANCE = 1e-3
"""Largest relative difference that rounding may make: batches of other sizes are added up in another order."""

SAME_SIZE = 1e-4
"""The same in batches of one size, which are added up in the same order."""

DRAWS = 256
MOST_ERRORS = 6.0
"""Standard errors beyond which two means differ: rounding aside, a false alarm in about a billion trials."""

ASKED = 5
"""Number of units in a small batch of these checks; a large one has all units of the trial."""

UNEQUAL_DRAWS = (
    "a row's loss depends on what is drawn for it, so that a sum with one unit less draws otherwise and cannot be "
    "compared; one unit in the place of another was tried, and moves it by twice the clip norm at most"
)


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
    if found := foreign_draws(trial):
        return found
    unit_gradients(trial.learner(), trial.data).require_clippable()
    return ""


def units_are_separate(trial: Trial) -> str:
    """Loss and gradient of a unit stay what they are when any other one changes or goes, in small and large batches."""
    for count in (ASKED, len(trial.data)):
        rows, others = (data.select(torch.arange(count)) for data in (trial.data, trial.other))
        if found := _moved_by_changes(trial, rows, others) or _moved_by_number(trial, rows):
            return found
    return ""


def _moved_by_changes(trial: Trial, rows: Examples, others: Examples) -> str:
    """What differs in some units when others change, inputs and labels both."""
    before = _losses(learner := trial.learner(), rows)
    for changed in _changes(len(rows)):
        after = _losses(twin := trial.learner(), _exchanged(rows, others, changed))
        if len(before) != len(after):
            return f"row_losses() has {len(before)} entries, and {len(after)} when another unit changes"
        kept = torch.ones(len(before), dtype=torch.bool)  # with what follows the rows, as the built-in GAN's fakes
        kept[: len(rows)] = ~changed
        if found := _moved(learner, before, twin, after, kept, tolerance=SAME_SIZE):
            return f"{found} when another unit of a batch of {len(rows)} changes; keep the rows apart"
    return ""


def _changes(count: int) -> Iterator[Tensor]:
    """Masks (count,) of units that change together, such that each unit changes without each other one.

    In a small batch it is one unit after the other. In a large one it is the units whose number has some bit, and then
    those that have it not: any two numbers differ in a bit.
    """
    numbers = torch.arange(count)
    if count <= ASKED:
        yield from (numbers == number for number in range(count))
        return
    for bit in range((count - 1).bit_length()):
        yield from ((numbers >> bit & 1) == side for side in (0, 1))


def _exchanged(rows: Examples, others: Examples, changed: Tensor) -> Examples:
    """The rows with others in the place of those that change: no label stays what it was."""
    inputs, labels = rows.inputs.clone(), rows.labels.clone()
    other = others.labels
    if rows.classes:
        other = torch.where(other == labels, (other + 1) % rows.classes, other)
    inputs[changed], labels[changed] = others.inputs[changed], other[changed]
    return Examples(inputs, labels, rows.classes)


def _moved_by_number(trial: Trial, rows: Examples) -> str:
    """What differs in a batch of one unit less."""
    last = len(rows) - 1
    fewer = rows.select(torch.arange(last))
    whole, part = _quiet(trial), _quiet(trial)
    before, after = _losses(whole, rows), _losses(part, fewer)
    if len(before) - len(after) != 1:
        return f"row_losses() has {len(before)} entries for {len(rows)} units, and {len(after)} for {last}"
    why = f"when another unit of a batch of {len(rows)} is gone; it may not depend on how many there are"
    if draws_by_row(trial):
        gap, error = _mean_gap(trial, rows, fewer)
        return f"the mean loss of a row changes by {gap:.3g} {why}" if gap > MOST_ERRORS * error + TOLERANCE else ""
    kept = torch.ones(last, dtype=torch.bool)
    found = _moved(whole, before[:last], part, after[:last], kept, tolerance=TOLERANCE)
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


def clipped_sum_is_bounded(trial: Trial) -> str | NotTried:
    """A unit moves the clipped sum by the clip norm at most; only equal draws can be compared."""
    learner, everyone = trial.learner(), torch.arange(ASKED)
    norms = [float(_gradient(learner, loss).norm()) for loss in _losses(learner, trial.data.select(everyone))[:ASKED]]
    # Where rows draw, one that goes shifts what the others draw. One in its place does not: it is one that goes and one
    # that comes, which is twice the bound.
    drawn = draws_by_row(trial)
    other = torch.cat([everyone[:-1], torch.tensor([ASKED])]) if drawn else everyone[:-1]
    of_each = [(sample, repeatable_gradients(_quiet(trial), trial.data)) for sample in (everyone, other)]
    for clip_norm in (1e-3, max(min(norms), 1e-6), max(*norms, 1e-6)):
        bound = 2 * clip_norm if drawn else clip_norm
        whole, changed = (clipped_sum(gradients, sample, clip_norm) for sample, gradients in of_each)
        if not (moved := float((whole - changed).norm())) <= bound * (1 + TOLERANCE):
            return f"one unit moves the clipped sum by {moved:.3g}, but the clip norm is {clip_norm:.3g}"
    return NotTried(UNEQUAL_DRAWS) if drawn else ""


def empty_batches_work(trial: Trial) -> str:
    """A Poisson sample may be empty; the step is taken all the same."""
    learner, nobody = trial.learner(), torch.arange(0)
    _losses(learner, trial.data.select(nobody))
    gradients = repeatable_gradients(learner, trial.data)
    total, of_two = (clipped_sum(gradients, sample, 1.0) for sample in (nobody, torch.arange(2)))
    if total.shape != of_two.shape or not torch.isfinite(total).all():
        return f"the gradient of an empty batch has shape {tuple(total.shape)}, expected {tuple(of_two.shape)}, finite"
    learner.public_step()
    return ""


def _losses(learner: ExampleLearner, rows: Examples, *, seed: int = 0) -> Tensor:
    with same_draws(seed):
        return learner.row_losses(rows)


def _moved(
    one: ExampleLearner, before: Tensor, other: ExampleLearner, after: Tensor, kept: Tensor, *, tolerance: float
) -> str:
    """What differs in the rows that are kept: a loss, or, where a trick hides it there, a gradient.

    Gradients are compared in one sum with random weights, in which no two changes cancel but by chance.
    """
    for row in kept.nonzero().flatten().tolist():
        if not _close(before[row], after[row], tolerance):
            return f"the loss of row {row} goes from {before[row].item():.4g} to {after[row].item():.4g}"
    weights = kept * (torch.rand(len(kept), generator=torch.Generator().manual_seed(4)) + 0.5)
    first, second = _gradient(one, before @ weights), _gradient(other, after @ weights)
    return "" if _close(first, second, tolerance) else "the gradient of another row changes"


def _close(one: Tensor, other: Tensor, tolerance: float = TOLERANCE) -> bool:
    return bool((one - other).norm() <= tolerance * one.norm() + 1e-7)


def _gradient(learner: ExampleLearner, loss: Tensor) -> Tensor:
    trained = [parameter for parameter in learner.private_module.parameters() if parameter.requires_grad]
    parts = torch.autograd.grad(loss, trained, retain_graph=True, materialize_grads=True)
    return torch.cat([part.reshape(-1) for part in parts])
