"""One silo's place in a run of averages, as its own script sees it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from torch import nn

from siloseal.federation.averages.mean import Mean
from siloseal.federation.averages.releases import require_precision
from siloseal.federation.config.quoting import quoted
from siloseal.federation.errors import ConfigError, DomainError
from siloseal.federation.job.weighting import weigh
from siloseal.federation.whole_numbers import is_whole
from siloseal.models.module_state import ModuleState, load_vector, state_of, to_vector
from siloseal.silo.handover import Contribution, Handover


@dataclass(frozen=True)
class SealedAverage:
    """What is known of one average, the same at every silo that was there.

    >>> import torch
    >>> def train(session):
    ...     module = torch.nn.Linear(2, 1)
    ...     return siloseal.sealed_average(module, weight=1000, session=session)
    >>> average = siloseal.simulate_silos(train, ["north", "east", "south"])["north"]
    >>> average.number, average.contributors, average.averaged, average.error_bound < 1e-4
    (1, ('east', 'north', 'south'), ('weight', 'bias'), True)
    """

    number: int
    """Number of the average in its run, from 1."""
    contributors: tuple[str, ...]
    """Silos whose modules are in the average."""
    error_bound: float
    """Largest difference between a value of the module and the exact weighted average."""
    averaged: tuple[str, ...]
    """Names of the entries of the module's `state_dict` that are averages now."""
    kept: tuple[str, ...]
    """Names of the entries that stayed as they were at this silo."""


class AveragingSession:
    """One silo's place among those that average together. `siloseal.sealed_average` takes it.

    >>> names = siloseal.simulate_silos(lambda session: session.silo, ["north", "east", "south"])
    >>> names["east"]
    'east'
    """

    def __init__(self, silo: str, handover: Handover) -> None:
        self._silo, self._handover = silo, handover

    @property
    def silo(self) -> str:
        """The name of this silo."""
        return self._silo

    @property
    def averages(self) -> int:
        """Number of averages that are over in this run: more than 0 in a script that was killed and started again."""
        self._handover.job()
        return self._handover.rounds

    def restore(self, module: nn.Module, *, exclude: Sequence[str] | str = ()) -> int:
        """Put the last average into the module, if there is one, and return the number of averages that are over.

        A script that was killed calls it when it is started again: `for epoch in range(session.restore(module), 10)`.
        """
        rounds = self.averages
        if (last := self._handover.last) is not None:
            load_vector(module, state_of(module, patterns(exclude)), last.values)
        return rounds

    def average(self, module: nn.Module, *, weight: int, exclude: Sequence[str] | str) -> SealedAverage:
        """What `siloseal.sealed_average` does. What is wrong with the module is an error before anything is given."""
        state, job = state_of(module, patterns(exclude)), self._handover.job()
        _require_weight(weight, job.largest_silo)
        require_precision(job, weight)
        vector = to_vector(module, state, largest=job.largest_weight)
        given = Contribution(state.structure, weigh(vector, weight=weight, largest=job.largest_silo))
        mean = self._handover.average(given)
        load_vector(module, state, mean.values)
        return _known(mean, state)


def _require_weight(weight: int, largest: int) -> None:
    if not is_whole(weight) or weight < 1:
        raise ConfigError(
            f"weight is {quoted(weight)}, expected a whole number from 1, such as the number of examples; a silo that "
            "has nothing to give leaves the session, if the run's `fewest` can do without it"
        )
    if weight > largest:
        raise DomainError(
            f"weight is {quoted(weight)}, but no silo's weight may be above largest_silo, {largest}; raise that for "
            "all silos, or divide all weights by one number"
        )


def _known(mean: Mean, state: ModuleState) -> SealedAverage:
    rounding = state.rounding * float(np.abs(mean.values).max(initial=0.0))
    names = tuple(entry.name for entry in state.entries)
    return SealedAverage(mean.round + 1, mean.contributors, mean.error_bound + rounding, names, state.kept)


def patterns(exclude: Sequence[str] | str) -> Sequence[str]:
    """The patterns that a caller gave, one or several."""
    found = [exclude] if isinstance(exclude, str) else exclude
    if not isinstance(found, Sequence) or not all(isinstance(pattern, str) for pattern in found):
        raise ConfigError(f"exclude is {exclude!r}, expected one or several patterns of names, such as 'head.*'")
    return found
