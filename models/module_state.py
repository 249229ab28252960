"""The part of a user's own module that is averaged: as one vector, and back into the module.

All floating-point entries of its `state_dict` are averaged, parameters and buffers alike. Buffers of other types, such
as a count of batches, and states that are no tensors stay as they are. A parameter of another type must be excluded by
name.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from siloseal.federation.averages.structure import Structure
from siloseal.federation.errors import ConfigError, DomainError


@dataclass(frozen=True)
class Entry:
    """One entry of a `state_dict` that is averaged."""

    name: str
    dtype: torch.dtype
    shape: tuple[int, ...]

    @property
    def line(self) -> str:
        """The entry in words, without line breaks: all silos must have the same."""
        return f"{self.name!r} of {str(self.dtype).removeprefix('torch.')} {self.shape}"


@dataclass(frozen=True)
class ModuleState:
    """What of a module is averaged, and what is not."""

    entries: tuple[Entry, ...]
    kept: tuple[str, ...]
    """Names of the entries that stay as they are: those that were excluded, and buffers that cannot be averaged."""

    @property
    def structure(self) -> Structure:
        """What all silos must have in common."""
        return Structure.of([entry.line for entry in self.entries], sum(_size(entry) for entry in self.entries))

    @property
    def rounding(self) -> float:
        """Largest relative error of a value that is rounded to the type of its entry."""
        return max(torch.finfo(entry.dtype).eps for entry in self.entries)


def state_of(module: nn.Module, exclude: Sequence[str] = ()) -> ModuleState:
    """What of the module is averaged, without entries whose names fit a pattern such as "head.*"."""
    state, parameters = module.state_dict(), dict(module.named_parameters(remove_duplicate=False))
    if idle := [pattern for pattern in exclude if not any(fnmatchcase(name, pattern) for name in state)]:
        raise ConfigError(
            f"exclude names {', '.join(idle)}, which fits no entry of the module's state_dict; its entries begin with "
            f"{', '.join(list(state)[:5]) or 'none'}"
        )
    entries, kept = list[Entry](), list[str]()
    for name, value in state.items():
        if any(fnmatchcase(name, pattern) for pattern in exclude):
            kept.append(name)
        elif isinstance(value, Tensor) and value.is_floating_point():
            entries.append(_entry(name, value))
        elif name in parameters:
            raise ConfigError(
                f"parameter {name} is of {value.dtype}, expected a floating-point type; exclude it by name"
            )
        else:
            kept.append(name)
    if not sum(_size(entry) for entry in entries):
        raise ConfigError("the module has nothing to average: no floating-point entry of its state_dict is left")
    return ModuleState(tuple(entries), tuple(kept))


def to_vector(module: nn.Module, state: ModuleState, *, largest: float) -> NDArray[np.float64]:
    """All values that are averaged, in order; `DomainError` for NaN, infinity or a magnitude above `largest`."""
    values = module.state_dict()
    parts = [values[entry.name].detach().to("cpu", torch.float64).reshape(-1).numpy() for entry in state.entries]
    for entry, part in zip(state.entries, parts, strict=True):
        found = float(np.abs(part).max(initial=0.0))  # NaN if there is one
        if not np.isfinite(found):
            raise DomainError(
                f"{entry.name} holds NaN or infinity, which no average can have; lower a learning rate, or exclude the "
                "entry by name"
            )
        if found > largest:
            raise DomainError(
                f"{entry.name} reaches {found:g}, but the job's largest_weight is {largest:g}; raise that for all "
                "silos, or exclude the entry by name"
            )
    return np.concatenate(parts)


def load_vector(module: nn.Module, state: ModuleState, vector: NDArray[np.float32]) -> None:
    """Put an average into the module, in place; what is not averaged stays."""
    if len(vector) != state.structure.length:
        raise ConfigError(
            f"the average has {len(vector)} values, but the module {state.structure.length}; give the module that is "
            "averaged, with the same exclude"
        )
    values, start = module.state_dict(), 0
    for entry in state.entries:
        end = start + _size(entry)
        part = torch.from_numpy(vector[start:end].astype(np.float64))
        values[entry.name] = part.reshape(entry.shape).to(values[entry.name].device, entry.dtype)
        start = end
    module.load_state_dict(values)


def _entry(name: str, value: Tensor) -> Entry:
    if value.is_meta or value.layout is not torch.strided or nn.parameter.is_lazy(value):
        raise ConfigError(f"{name} has no values in a plain tensor; run the module once, or exclude the entry by name")
    return Entry(name, value.dtype, tuple(value.shape))


def _size(entry: Entry) -> int:
    return int(np.prod(entry.shape, dtype=np.int64))
