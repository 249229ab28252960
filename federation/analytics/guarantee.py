"""Whom the noise of a job of queries protects, and who is trusted for it."""

from typing import assert_never

from siloseal.federation.analytics.any_job import AnyJob
from siloseal.federation.analytics.config import AnalyticsJob
from siloseal.federation.analytics.releases import planned_epsilon, shared_noise
from siloseal.federation.averages.config import AverageJob
from siloseal.federation.errors import UncountableEvent
from siloseal.federation.job.guarantee import NOISES, guarantee_of, split_noise_words
from siloseal.federation.job.job import Job
from siloseal.federation.privacy.guarantee import Guarantee


def analytics_guarantee(job: AnalyticsJob) -> Guarantee:
    """The words around the epsilon of a job of queries."""
    chosen = NOISES[shared_noise(job).kind]
    kinds = {"random-bit" if query.kind == "distinct" else chosen for query in job.queries}
    person, exposure = job.privacy.person, job.secure_sum.build().exposure
    return Guarantee(
        "one record" if person is None else f"one person's records in a silo, {person.records} of which count",
        split_noise_words(
            " and ".join(sorted(kinds)), honest=job.honest, asked=len(job.silos.names), assumes=[exposure.assumes]
        ),
        public="",
        over="all queries",
        planned=planned_epsilon(job),
    )


def guarantee_in(job: AnyJob) -> Guarantee:
    """The guarantee of a private job: one that trains, or one of queries."""
    match job:
        case AnalyticsJob():
            return analytics_guarantee(job)
        case Job():
            return guarantee_of(job)
        case AverageJob():
            raise UncountableEvent("an average opens without noise, so nothing here can say what it costs")
        case _:
            assert_never(job)
