"""One silo in a job of queries: its table, its ledger, and its part in each sum. It charges before it sends."""

from pathlib import Path

from siloseal.federation.analytics.config import AnalyticsJob
from siloseal.federation.analytics.query import Column, Progress, Query
from siloseal.federation.analytics.releases import AnalyticsRun, next_release, planned_events, shared_noise
from siloseal.federation.errors import BudgetExceeded, ConfigError, WrongRound
from siloseal.federation.job.guarantee import Guarantee
from siloseal.federation.privacy.accounting import epsilon_of
from siloseal.federation.randomness import Randomness
from siloseal.federation.records.identity import Identity
from siloseal.federation.sums.secure_sum import SiloSide
from siloseal.silo.data.tables import Table
from siloseal.silo.ledger import Budget, Ledger

_NOISES = {"skellam": "Skellam noise", "ddg": "discrete Gaussian noise"}


def guarantee_of(job: AnalyticsJob) -> Guarantee:
    """Whom the noise protects, and who is trusted for it."""
    kinds = {"random bits" if query.kind == "distinct" else _NOISES[job.mechanism.kind] for query in job.queries}
    person = job.privacy.person
    return Guarantee(
        "one record" if person is None else f"one person's records in a silo, {person.records} of which count",
        f"{' and '.join(sorted(kinds))}, split over the silos; trusts the aggregator with nothing and counts on the "
        f"noise of {job.honest} honest silos of {len(job.silos.names)}",
    )


class AnalyticsSilo:
    """What can be refused is refused when it is made: columns, sizes, and a budget that cannot pay for all queries."""

    def __init__(
        self,
        job: AnalyticsJob,
        table: Table,
        folder: Path,
        *,
        identity: Identity,
        run: AnalyticsRun,
        randomness: Randomness,
        told: tuple[int, ...] = (),
    ) -> None:
        """`told` counts the releases of each query that came in before an interruption: they are not asked again."""
        self._job, self._identity, self._run, self._randomness = job, identity, run, randomness
        if (person := job.privacy.person) is not None:
            table = table.first_of_each(person.column, person.records)
        _check_size(job, identity.name, len(table))
        self._columns = [_column(query, table) for query in job.queries]
        self._joined = set[tuple[int, int]]()
        self._side: SiloSide | None = None
        budget = Budget(job.privacy.epsilon, job.privacy.delta)
        self.ledger = Ledger(folder / "ledger.jsonl", silo=identity.name, budget=budget, guarantee=guarantee_of(job))
        try:
            self._require_budget(told)
        except BaseException:
            self.close()
            raise

    def join(self, number: int, progress: Progress) -> None:
        """Charge the next release of the query with this number, then count and noise. Each release happens once."""
        release = next_release(self._job, self._run, number, progress)
        if (step := (number, len(progress.totals))) in self._joined:
            raise WrongRound(f"{self._identity.name} has answered {release.phase} already; it answers nothing twice")
        self._joined.add(step)
        self.ledger.charge(release.event, phase=release.phase)
        counts = self._job.queries[number].count(self._columns[number], progress)
        contribution = counts.astype(float)
        self._side = release.scheme.silo(release.session, self._identity, contribution, self._randomness)

    def answer(self, message: bytes) -> bytes:
        """The reply to the next message of the sum that it joined last."""
        if self._side is None:
            raise WrongRound(f"{self._identity.name} has joined no sum yet")
        return self._side.answer(message)

    def close(self) -> None:
        """Release the ledger's file, and forget the last sum."""
        self.ledger.close()
        if self._side is not None:
            self._side.forget()

    def _require_budget(self, told: tuple[int, ...]) -> None:
        """A run that could not pay for its last query would waste what the first ones cost."""
        charged = [charge.event for charge in self.ledger.charges]
        planned = planned_events(self._job, shared_noise(self._job), told)
        epsilon = epsilon_of([*charged, *planned], self._job.privacy.delta)
        if not epsilon <= self._job.privacy.epsilon:
            raise BudgetExceeded(
                f"{self._identity.name} has spent epsilon {self.ledger.epsilon:.3f} of {self._job.privacy.epsilon:g} "
                f"in a run that was interrupted, and what is left of it would make {epsilon:.3f}: the release that was "
                "under way is lost and stays paid. Plan for that with privacy.reserve_releases, in another folder "
                "(--out), if the silos agree to spend as much once more"
            )


def _check_size(job: AnalyticsJob, silo: str, records: int) -> None:
    if records > job.largest_silo:
        raise ConfigError(f"{silo} holds more records than largest_silo, {job.largest_silo}; raise it in the job")
    if job.privacy.delta * records >= 1:
        raise ConfigError(
            f"privacy.delta is {job.privacy.delta:g}, but {silo} holds so many records that this lets a mechanism "
            "publish somebody's record outright; use less than 1 / records"
        )


def _column(query: Query, table: Table) -> Column:
    return table.numbers(query.column) if query.numeric else table.texts(query.column)
