"""Passes of equal numbers of rows, so that no unit's gradient depends on how many others were sampled.

A matrix product of three rows may end in other last bits than one of four, and a network may amplify a last bit
without limit: its weights come from outside. Then one unit more would change the gradients of all others, which no clip
norm bounds. So every pass of a job has the same number of rows, and places without a unit are filled with rows that
weigh nothing. Rows of an odd length lie otherwise in memory at every place, which may matter, too: then a unit's own
number says in which of a few lanes it lies, and others move by whole strides only. Whether that is enough on this
machine, `Probe.keeps_rows_apart` tries before anything is charged.
"""

from collections.abc import Iterator

import torch
from torch import Tensor, nn

from siloseal.models.learner import LabelledRows, Rows
from siloseal.silo.training.clipping.way import PASS_ROWS

FEWEST_ROWS = 8
"""Fewest rows of a pass that is shared: products of one to three rows are often computed in another way."""

DENSE_PASS_COST, PASS_COST = 100, 3
"""What a pass costs beside its rows, in rows, where all weights are those of linear layers, and elsewhere.

Measured: about 100 for an MLP, which takes up each weight for one product a row. Transformers and convolutions use a
weight in many places: 1 to 6. Their passes of more than 64 rows are slower, too: what they keep leaves the cache.
"""

STRIDES = (1, 4, 16)
"""Numbers of lanes that are tried: rows four places apart, in single precision, lie at addresses 16 bytes apart."""


def rows_of_a_pass(module: nn.Module, expected_batch: float) -> int:
    """The number of rows of every pass: a constant of the job, which does not depend on any sample.

    It is the power of two with the least work: a batch of B rows takes about B / s + 1/2 passes of s rows, and each of
    them costs its rows and what a pass costs besides.
    """
    with_weights = (part for part in module.modules() if any(True for _ in part.parameters(recurse=False)))
    cost = DENSE_PASS_COST if all(isinstance(part, nn.Linear) for part in with_weights) else PASS_COST

    def work(size: int) -> float:
        return max(1.0, expected_batch / size + 0.5) * (size + cost)

    return min((1 << power for power in range(FEWEST_ROWS.bit_length() - 1, PASS_ROWS.bit_length())), key=work)


def equal_passes(
    rows: LabelledRows, size: int, *, units: Tensor | None = None, stride: int = 1
) -> Iterator[tuple[Rows, Tensor]]:
    """The rows in passes of this size, each with the mask (size,) of those that count. No rows take no pass.

    `units` are the rows' own numbers, their places if not given. A row lies where its number, modulo the stride, says:
    a unit more or less moves others by whole strides. Places without a row are filled with rows of the same batch, so
    that whatever takes these rows takes some of them twice.
    """
    count = len(rows.labels)
    if not count:
        return
    places = _places(torch.arange(count) if units is None else units.cpu(), stride)
    passes = -(-(int(places.max()) + 1) // size)
    chosen = torch.arange(passes * size) % count
    counted = torch.zeros(passes * size, dtype=torch.bool)
    chosen[places], counted[places] = torch.arange(count), True
    for start in range(0, passes * size, size):
        part = slice(start, start + size)
        there = chosen[part].to(rows.labels.device)
        yield Rows(rows.inputs[there], rows.labels[there]), counted[part].to(rows.labels.device)


def _places(units: Tensor, stride: int) -> Tensor:
    """A place for each unit: the next one, of those that its number leaves it, behind units of smaller numbers."""
    places = torch.empty_like(units)
    for lane in range(stride):
        members = torch.nonzero(units % stride == lane).flatten()
        places[members] = lane + stride * torch.arange(len(members))
    return places
