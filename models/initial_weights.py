"""Initial weights that every party can repeat, because they follow from the job's public seed."""

from collections.abc import Callable, Mapping
from typing import TypeVar

import torch
from torch import Tensor
from torch.nn.parameter import is_lazy

from siloseal.federation.errors import ConfigError
from siloseal.models.process_randomness import kept_randomness

Built = TypeVar("Built")


def seeded(seed: int, build: Callable[[], Built]) -> Built:
    """Build something with layers that draw their weights from the process's generator, which is seeded meanwhile."""
    with kept_randomness():
        torch.default_generator.manual_seed(seed)  # `torch.manual_seed` keeps a stack trace for GPUs that may come
        return build()


def require_same_start(one: Mapping[str, Tensor], other: Mapping[str, Tensor], *, name: str) -> None:
    """`ConfigError` where two networks that were built with one seed differ.

    Every party builds the network for itself. What training changes, the aggregator sends; frozen parts, buffers and
    the shape of it all would differ from party to party, and an aggregator that goes on after a stop would go on from
    another start.
    """
    for key in dict.fromkeys([*one, *other]):
        first, second = one.get(key), other.get(key)
        if first is not None and is_lazy(first):
            raise ConfigError(
                f"{name} built a network whose {key} gets its size, and its first weights, with the first batch; give "
                "the layer its size: Linear in place of LazyLinear, say"
            )
        if first is None or second is None or not _same(first, second):
            raise ConfigError(
                f"{name} built two networks with one seed, and they differ in {key}; draw numbers from torch alone, "
                "whose generator the job seeds, and not from numpy, random or the clock"
            )


def _same(one: Tensor, other: Tensor) -> bool:
    return one.shape == other.shape and bool(((one == other) | ((one != one) & (other != other))).all())
