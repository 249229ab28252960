"""Drawing a part of a data set in which every class keeps its share."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


def stratified_split(labels: Tensor, *, count: int, seed: int) -> tuple[Tensor, Tensor]:
    """Indices of `count` examples with the class proportions of the whole, and indices of the rest, both ascending.

    Where targets are measured, or several an example, there are no classes to keep in proportion: any are drawn.
    """
    generator = np.random.default_rng(seed)
    values = labels.numpy() if one_class_each(labels) else np.zeros(len(labels), dtype=np.int64)
    present, sizes = np.unique(values, return_counts=True)
    drawn = np.zeros(len(values), dtype=np.bool_)
    for label, quota in zip(present, _quotas(sizes, count), strict=True):
        members = generator.permutation(np.flatnonzero(values == label))
        drawn[members[:quota]] = True
    return torch.from_numpy(np.flatnonzero(drawn)), torch.from_numpy(np.flatnonzero(~drawn))


def one_class_each(labels: Tensor) -> bool:
    """Whether every example has one class number."""
    return labels.ndim == 1 and not labels.is_floating_point()


def _quotas(sizes: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """`count` places dealt to classes of these sizes by largest remainder, so that they add up exactly.

    Whole numbers throughout: in floats, equal remainders would compare as unequal and favour some classes.
    """
    whole, remainders = np.divmod(sizes * count, sizes.sum())
    largest = np.argsort(-remainders, kind="stable")[: count - int(whole.sum())]
    whole[largest] += 1
    return whole


def class_split(labels: Tensor, *, classes: int, fraction: float, seed: int) -> tuple[Tensor, Tensor]:
    """Indices of the examples of `count` whole classes, at least one and not all, and indices of the rest.

    Drawn among all numbered classes, not only those that occur: silos that number alike hold out the same classes, and
    none trains on what another evaluates with. So where classes are lacking, one part may be empty.
    """
    count = min(max(round(fraction * classes), 1), max(classes - 1, 0))
    chosen = np.random.default_rng(seed).permutation(classes)[:count]
    drawn = np.isin(labels.numpy(), chosen)
    return torch.from_numpy(np.flatnonzero(drawn)), torch.from_numpy(np.flatnonzero(~drawn))
