"""What a silo's policy leaves to one run, counted in examples: a policy promises what one example may cost.

Privacy composes over runs as it does within one: the events of all ledgers are counted together, at the policy's delta.
A job may protect another unit than an example, so its events are turned into those of one example first.
"""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import assert_never

from siloseal.federation.analytics.any_job import AnyJob
from siloseal.federation.analytics.config import RecordLevel
from siloseal.federation.errors import BudgetExceeded
from siloseal.federation.job.sections.privacy import ExampleLevel, NoPrivacy, SiloLevel, TaskLevel
from siloseal.federation.privacy.accounting import epsilon_of
from siloseal.federation.privacy.events import Event, SampledGaussianSteps, exchanged
from siloseal.silo.config import Policy

TOLERANCE = 1 + 1e-9
"""A job at its policy's limit is allowed: two ways to add the same numbers may differ in the last digits."""


@dataclass(frozen=True)
class Spent:
    """What earlier runs have cost one example together."""

    events: tuple[Event, ...] = ()
    unbounded: bool = False
    """Whether one of them opened something without noise: nothing bounds what it reveals."""

    def epsilon_with(self, events: Iterable[Event], delta: float) -> float:
        """Epsilon of the earlier runs and of these further events, for one example."""
        return math.inf if self.unbounded else epsilon_of([*self.events, *events], delta)


NOTHING_SPENT = Spent()


@dataclass(frozen=True)
class Allowance:
    """What a policy leaves to a run beside the silo's other runs. The run's ledger enforces it."""

    policy: Policy
    job: AnyJob
    spent: Spent
    planned: tuple[Event, ...]
    """Events that the run was allowed with. As long as it is charged for these alone, nothing has to be counted."""

    @property
    def epsilon(self) -> float:
        """Epsilon of all runs for one example, once this one is done as planned."""
        return self._epsilon_with(self.planned)

    def require(self, silo: str, charged: Counter[Event]) -> None:
        """`BudgetExceeded` where so many charges of each event, and all earlier runs, cost an example too much.

        What is planned was counted before the run. Steps that a crash repeats are not planned.
        """
        if not _singly(charged) - _singly(Counter(self.planned)):
            return
        epsilon, most = self._epsilon_with(charged.elements()), self.policy.largest_epsilon
        if not epsilon <= most * TOLERANCE:  # NaN must not pass
            raise BudgetExceeded(
                f"{silo}'s runs together would cost one example epsilon {roughly(epsilon, most):.4g}, but "
                f"policy.largest_epsilon in its silo.yaml is {most:g}; the silo stops here. Raise it knowingly, or "
                "plan fewer steps"
            )

    def _epsilon_with(self, events: Iterable[Event]) -> float:
        return self.spent.epsilon_with(events_of_one_example(self.job, events), self.policy.largest_delta)


def events_of_one_example(job: AnyJob, events: Iterable[Event]) -> list[Event]:
    """The events of a job as they concern one example of the silo.

    Where the silo as a whole is protected, what leaves it is one vector with the example and another without it: an
    exchange. Where tasks are, an example that is taken out exchanges its task for another (`silo/data/tasks.py`).
    """
    match job.privacy:
        case SiloLevel() | TaskLevel():
            return [exchanged(event) for event in events]
        case ExampleLevel() | RecordLevel() | NoPrivacy():
            return list(events)
        case _:
            assert_never(job.privacy)


def roughly(epsilon: float, largest: float) -> float:
    """The number rounded up to a twentieth of the most that is allowed.

    To the digit it tells the sampling rate, and so the size of the data.
    """
    return math.ceil(20 * epsilon / largest * (1 - 1e-9)) / 20 * largest if math.isfinite(epsilon) else epsilon


def _singly(events: Counter[Event]) -> Counter[Event]:
    """The same events, steps one by one: a ledger is charged in other portions than a plan has."""
    counts = Counter[Event]()
    for event, times in events.items():
        if isinstance(event, SampledGaussianSteps):
            counts[replace(event, steps=1)] += times * event.steps
        else:
            counts[event] += times
    return counts
