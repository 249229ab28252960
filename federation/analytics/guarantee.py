"""Whom the noise of a job of queries protects, and who is trusted for it."""

from siloseal.federation.analytics.any_job import AnyJob
from siloseal.federation.analytics.config import AnalyticsJob
from siloseal.federation.analytics.releases import planned_epsilon
from siloseal.federation.job.guarantee import guarantee_of
from siloseal.federation.privacy.guarantee import Guarantee

_NOISES = {"skellam": "Skellam noise", "ddg": "discrete Gaussian noise"}


def analytics_guarantee(job: AnalyticsJob) -> Guarantee:
    """The words around the epsilon of a job of queries."""
    kinds = {"random bits" if query.kind == "distinct" else _NOISES[job.mechanism.kind] for query in job.queries}
    person = job.privacy.person
    return Guarantee(
        "one record" if person is None else f"one person's records in a silo, {person.records} of which count",
        f"{' and '.join(sorted(kinds))}, split over the silos; trusts the aggregator with nothing and counts on the "
        f"noise of {job.honest} honest silos of {len(job.silos.names)}",
        public="",
        over="all queries",
        planned=planned_epsilon(job),
    )


def guarantee_in(job: AnyJob) -> Guarantee:
    """The guarantee of a private job of either kind."""
    return analytics_guarantee(job) if isinstance(job, AnalyticsJob) else guarantee_of(job)
