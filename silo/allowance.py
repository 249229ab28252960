"""What a silo's policy leaves to one run, counted in examples: a policy promises what one example may cost.

Privacy composes over runs as it does within one: the events of all ledgers are counted together, at the policy's delta.
A job may protect another unit than an example, so its events are turned into those of one example first.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import assert_never

from siloseal.federation.analytics.any_job import AnyJob
from siloseal.federation.analytics.config import OnePerson, RecordLevel
from siloseal.federation.errors import BudgetExceeded, UncountableEvent
from siloseal.federation.job.sections.privacy import ExampleLevel, NoPrivacy, SiloLevel, TaskLevel
from siloseal.federation.privacy.accounting import epsilon_of, renyi_epsilon_of
from siloseal.federation.privacy.epsilon import delta_text
from siloseal.federation.privacy.events import Event, SampledGaussianSteps, exchanged
from siloseal.silo.config import Policy

TOLERANCE = 1 + 1e-9
"""A job at its policy's limit is allowed: two ways to add the same numbers may differ in the last digits."""

ROUNDED_UP = " (rounded up on purpose)"
"""What is said of numbers that `roughly` has made of others."""

Count = Callable[[Iterable[Event], float], float]
"""A way to count epsilon of events together, at a delta."""


@dataclass(frozen=True)
class Spent:
    """What some runs have cost one example together."""

    events: tuple[Event, ...] = ()
    unbounded: str = ""
    """Reason why nothing bounds what one of them reveals, which others may read; empty if all can be counted."""

    def plus(self, other: "Spent") -> "Spent":
        """Both together."""
        return Spent((*self.events, *other.events), self.unbounded or other.unbounded)

    def epsilon(self, delta: float, count: Count = epsilon_of) -> float:
        """Epsilon of the runs for one example."""
        return math.inf if self.unbounded else count(self.events, delta)


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
        return self.together(self.planned).epsilon(self.policy.largest_delta)

    def together(self, events: Iterable[Event]) -> Spent:
        """What these events of the run and all earlier runs cost one example."""
        return self.spent.plus(cost_of_one_example(self.job, events))

    def require(self, silo: str, charged: Counter[Event]) -> None:
        """`BudgetExceeded` where so many charges of each event, and all earlier runs, cost an example too much.

        What is planned was counted before the run. Steps that a crash repeats are not planned.
        """
        if not _singly(charged) - _singly(Counter(self.planned)):
            return
        together = self.together(charged.elements())
        most, delta = self.policy.largest_epsilon, self.policy.largest_delta
        if together.epsilon(delta, renyi_epsilon_of) <= most * TOLERANCE:
            return  # cheap, and never below the tightest count, which decides where this would refuse
        if not (epsilon := together.epsilon(delta)) <= most * TOLERANCE:  # NaN must not pass
            rounded = ROUNDED_UP if math.isfinite(epsilon) else ""
            raise BudgetExceeded(
                f"{silo}'s runs together would cost one example epsilon {roughly(epsilon, most):.4g}{rounded} at delta "
                f"{delta_text(delta)} (policy.largest_delta), but policy.largest_epsilon in its silo.yaml is {most:g}; "
                "the silo stops here. Raise it knowingly, or plan fewer steps"
            )


def cost_of_one_example(job: AnyJob, events: Iterable[Event]) -> Spent:
    """What these events of a job cost one example of the silo. Where no theorem says it, nothing bounds it."""
    try:
        return Spent(tuple(_events_of_one_example(job, events)))
    except UncountableEvent:  # its words have the event's numbers, which are nobody else's
        return Spent(
            unbounded="a release has too little noise for the theorem that would count an example in it, which "
            "exchanges the protected unit for another; its job should use more noise, a finer grid (more bits), or "
            "another mechanism"
        )


def epsilon_of_one_example(job: AnyJob, events: Iterable[Event]) -> float | None:
    """Epsilon of one example at the job's delta, as policies count it; infinite where nothing bounds it.

    It is None where an example is the protected unit already, or privacy is off.
    """
    match job.privacy:
        case ExampleLevel() | RecordLevel(person=None) | NoPrivacy():
            return None
        case SiloLevel() | TaskLevel() | RecordLevel():
            return cost_of_one_example(job, events).epsilon(job.privacy.delta)
        case _:
            assert_never(job.privacy)


def _events_of_one_example(job: AnyJob, events: Iterable[Event]) -> list[Event]:
    """The events of a job as they concern one example of the silo.

    Where the silo as a whole is protected, what leaves it is one vector with the example and another without it: an
    exchange. Where tasks are, an example that is taken out exchanges its task for another (`silo/data/tasks.py`). Where
    the first record of each person counts, the person's next one takes its place. Where k >= 2 records of a person
    count, the noise is for k times what one moves, and exchanging one of them moves twice that at most.
    """
    match job.privacy:
        case SiloLevel() | TaskLevel() | RecordLevel(person=OnePerson(records=1)):
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
