"""The most that each silo can have spent, as far as the aggregator can tell. Audit log, status and report show it.

A release that costs something by itself is charged in a silo's ledger when its sum begins, and everyone can compute
that cost from the job. Steps of a training are charged while the silo trains, and only the silo knows how many there
were.
"""

from collections import defaultdict
from collections.abc import Iterable

from siloseal.federation.analytics.any_job import AnyJob
from siloseal.federation.analytics.guarantee import guarantee_in
from siloseal.federation.errors import MessageError
from siloseal.federation.job.releases import Release
from siloseal.federation.job.sections.privacy import NoPrivacy
from siloseal.federation.privacy.accounting import Accountant
from siloseal.federation.run_events.aggregator import BudgetSpent
from siloseal.federation.run_events.stream import Subscriber

ROUNDING = 1e-9
"""Share of the budget by which a silo's figure may exceed it, as floating-point numbers are rounded."""


class Spending:
    """The spending of all silos in one run. Each figure is published before the sum that it covers begins."""

    def __init__(self, job: AnyJob, publish: Subscriber) -> None:
        self._privacy, self._publish = job.privacy, publish
        self._guarantee = None if isinstance(job.privacy, NoPrivacy) else guarantee_in(job)
        self._charged = defaultdict[str, Accountant](Accountant)
        """Costs of the releases that each silo was asked into, in the order in which its ledger is charged."""
        self._least = defaultdict[str, float](float)
        """Epsilon below which each silo's ledger cannot stand, by what it said and was charged."""

    def check(self, silo: str, epsilon: float) -> None:
        """`MessageError` unless a silo's ledger can stand at this epsilon: no ledger goes beyond its budget."""
        budget = 0.0 if isinstance(self._privacy, NoPrivacy) else self._privacy.epsilon
        if not 0 <= epsilon <= budget * (1 + ROUNDING):  # NaN must not pass
            raise MessageError(
                f"{silo} says that it has spent epsilon {epsilon:g}, expected a number from 0 to its budget of "
                f"{budget:g}; both sides must run the same version"
            )

    def report(self, silo: str, epsilon: float) -> None:
        """Believe what a silo says that its ledger stands at after a training. It has rounded up.

        No ledger falls: what the silo said before, or was charged for sums, stays the least that is published. Only the
        whole budget, of a silo that was silent, gives way to what it says itself.
        """
        self._raise_to(silo, epsilon)

    def miss(self, silos: Iterable[str]) -> None:
        """Count the whole budget of silos that were silent when asked to train: they may have trained, and paid."""
        if not isinstance(self._privacy, NoPrivacy):
            for silo in silos:
                self._publish(BudgetSpent(silo, self._privacy.epsilon))

    def charge(self, release: Release, silos: Iterable[str]) -> None:
        """Count what a release costs the silos that are about to be asked into its sum, as a guarantee states it."""
        if release.event is None or self._guarantee is None or isinstance(self._privacy, NoPrivacy):
            return
        for silo in silos:
            self._charged[silo].add(release.event)
            self._raise_to(silo, self._guarantee.stated(self._charged[silo].epsilon(self._privacy.delta)))

    def _raise_to(self, silo: str, epsilon: float) -> None:
        self._least[silo] = max(self._least[silo], epsilon)
        self._publish(BudgetSpent(silo, self._least[silo]))
