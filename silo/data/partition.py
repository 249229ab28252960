"""Dealing one data set to several silos, for simulations. A real silo has its own data and needs none of this."""

from typing import assert_never

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from siloseal.federation.errors import ConfigError, DataError
from siloseal.federation.job.sections.partition import (
    BY_CLASS,
    ByClass,
    Dirichlet,
    DisjointClasses,
    Files,
    Iid,
    PartitionSpec,
    Sizes,
)
from siloseal.silo.data.stratify import one_class_each

Indices = NDArray[np.int64]

_DRAWS = 200  # of Dirichlet proportions, before a partition with the demanded smallest silo counts as out of reach


def partition(labels: Tensor, silos: int, spec: PartitionSpec, seed: int) -> list[Tensor]:
    """Each silo's indices into `labels`, ascending. Every example goes to exactly one silo, and no silo stays empty."""
    if silos < 1:
        raise ConfigError(f"found {silos} silos, expected at least 1; correct the number of silos")
    if isinstance(spec, BY_CLASS) and not one_class_each(labels):
        raise DataError(
            f"silos.partition.kind is {spec.kind}, which deals by class, but the targets are measured, or several an "
            "example; choose iid or sizes"
        )
    generator = np.random.default_rng(seed)
    parts = _deal(labels.numpy(), silos, spec, generator)
    smallest = min(len(part) for part in parts)
    if smallest == 0:
        raise DataError(
            f"{len(labels)} examples leave one of {silos} silos empty; use more examples, fewer silos or a milder skew"
        )
    return [torch.from_numpy(np.sort(part)) for part in parts]


def _deal(labels: Indices, silos: int, spec: PartitionSpec, generator: np.random.Generator) -> list[Indices]:
    match spec:
        case Iid():
            return _cut(generator.permutation(len(labels)), np.full(silos, 1.0 / silos))
        case Sizes():
            if len(spec.fractions) != silos:
                raise ConfigError(
                    f"sizes lists {len(spec.fractions)} fractions for {silos} silos, expected one each; "
                    "correct fractions or the number of silos"
                )
            return _cut(generator.permutation(len(labels)), np.array(spec.fractions))
        case Dirichlet():
            return _label_skewed(labels, silos, spec, generator)
        case ByClass():
            return _few_classes(labels, silos, spec.classes_per_silo, generator)
        case DisjointClasses():
            return _whole_classes(labels, silos, generator)
        case Files():
            raise ConfigError("silos.partition.kind is files, but these data are one set; choose how it is dealt")
        case _:
            assert_never(spec)


def _cut(indices: Indices, fractions: NDArray[np.float64]) -> list[Indices]:
    """Consecutive runs in these proportions. Rounding the cumulated bounds, not the lengths, loses no example."""
    bounds = np.rint(np.cumsum(fractions)[:-1] * len(indices)).astype(np.int64)
    return np.split(indices, np.minimum(bounds, len(indices)))


def _label_skewed(labels: Indices, silos: int, spec: Dirichlet, generator: np.random.Generator) -> list[Indices]:
    """Label skew as in Hsu et al. 2019; proportions are drawn until every silo has enough examples to train on."""
    by_class = _members_by_class(labels, generator)
    for _ in range(_DRAWS):
        pieces = [_cut(members, generator.dirichlet(np.full(silos, spec.alpha))) for members in by_class]
        parts = _gather(pieces, silos)
        if min(len(part) for part in parts) >= spec.smallest:
            return parts
    raise DataError(
        f"{_DRAWS} draws with alpha {spec.alpha:g} gave no partition of {len(labels)} examples in which each of "
        f"{silos} silos has {spec.smallest}; raise alpha, lower smallest, or use fewer silos or more examples"
    )


def _few_classes(labels: Indices, silos: int, held: int, generator: np.random.Generator) -> list[Indices]:
    """Classes dealt around a circle, `held` in a row to each silo: no class has two holders more than another."""
    by_class = _members_by_class(labels, generator)
    classes = len(by_class)
    if held > classes or silos * held < classes:
        raise DataError(
            f"{silos} silos with {held} classes each cannot cover {classes} classes, expected between "
            f"{-(-classes // silos)} and {classes} classes a silo; change classes_per_silo"
        )
    circle = generator.permutation(classes)
    holders: list[list[int]] = [[] for _ in range(classes)]
    for place in range(silos * held):
        holders[circle[place % classes]].append(place // held)
    pieces = [_to_holders(members, who, silos) for members, who in zip(by_class, holders, strict=True)]
    return _gather(pieces, silos)


def _whole_classes(labels: Indices, silos: int, generator: np.random.Generator) -> list[Indices]:
    """Shuffled classes cut into runs of equal length: no silo has two classes more than another."""
    present = np.unique(labels)
    if len(present) < silos:
        raise DataError(
            f"{len(present)} classes cannot be dealt whole to {silos} silos, expected at least one class each; "
            "use fewer silos, or a partition that shares classes"
        )
    shuffled = generator.permutation(present)
    return [np.flatnonzero(np.isin(labels, mine)) for mine in np.array_split(shuffled, silos)]


def _to_holders(members: Indices, who: list[int], silos: int) -> list[Indices]:
    if len(members) < len(who):
        raise DataError(
            f"a class of {len(members)} examples cannot be shared by {len(who)} silos; "
            "lower classes_per_silo, or use more examples"
        )
    pieces = [members[:0]] * silos
    for silo, piece in zip(who, np.array_split(members, len(who)), strict=True):
        pieces[silo] = piece
    return pieces


def _members_by_class(labels: Indices, generator: np.random.Generator) -> list[Indices]:
    return [generator.permutation(np.flatnonzero(labels == label)) for label in np.unique(labels)]


def _gather(pieces_by_class: list[list[Indices]], silos: int) -> list[Indices]:
    """Each silo's examples, from each class's pieces. The empty piece serves a data set without examples."""
    empty = np.empty(0, dtype=np.int64)
    return [np.concatenate([empty, *(pieces[silo] for pieces in pieces_by_class)]) for silo in range(silos)]
