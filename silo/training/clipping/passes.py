"""Passes of equal numbers of rows, so that no unit's gradient depends on how many others were sampled.

A matrix product of three rows may end in other last bits than one of four, and a network may amplify a last bit
without limit: its weights come from outside. Then one unit more would change the gradients of all others, which no clip
norm bounds. So every pass of a job has the same number of rows, and the last is filled up with rows that weigh nothing.
Whether that is enough on this machine, `Probe.keeps_rows_apart` tries before anything is charged.
"""

from collections.abc import Iterator

import torch
from torch import Tensor

from siloseal.models.learner import LabelledRows, Rows
from siloseal.silo.training.clipping.way import PASS_ROWS

FEWEST_ROWS = 8
"""Fewest rows of a pass that is shared: products of one to three rows are often computed in another way."""


def rows_of_a_pass(expected_batch: float) -> int:
    """The number of rows of every pass: a constant of the job, which does not depend on any sample.

    It is a power of two. A batch takes a few passes, so that what the last one is filled up with costs little.
    """
    size = FEWEST_ROWS
    while size < PASS_ROWS and 2 * size < expected_batch:
        size *= 2
    return size


def equal_passes(rows: LabelledRows, size: int) -> Iterator[tuple[Rows, Tensor]]:
    """The rows in passes of this size, each with the mask (size,) of those that count. No rows take no pass.

    The last pass is filled up with rows of its own: whatever takes these rows takes them twice.
    """
    count = len(rows.labels)
    for start in range(0, count, size):
        places = torch.arange(start, start + size, device=rows.labels.device)
        if start + size <= count:
            part = Rows(rows.inputs[start : start + size], rows.labels[start : start + size])
        else:
            chosen = start + (places - start) % (count - start)
            part = Rows(rows.inputs[chosen], rows.labels[chosen])
        yield part, places < count
