"""The releases of a job of queries: noise, sum and cost of each. Every party computes them from the job."""

import hashlib
import math
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from siloseal.federation.analytics.config import AnalyticsJob
from siloseal.federation.analytics.noisy_bits import MOST_CONTRAST
from siloseal.federation.analytics.query import NoisyTotal, Progress, Query
from siloseal.federation.analytics.shared_noise import NoiseKind, SharedNoise
from siloseal.federation.errors import ConfigError, DomainError
from siloseal.federation.exact_noise import LARGEST_VARIANCE
from siloseal.federation.job.releases import Content, Release, Run, events_of
from siloseal.federation.privacy.accounting import epsilon_of, smallest_noise
from siloseal.federation.privacy.events import Event, GaussianRelease, NoisyBitsRelease
from siloseal.federation.privacy.mechanisms.counts import NoisyCounts
from siloseal.federation.sums.secure_sum import Sum

_BEFORE = Progress(key=bytes(32))
"""Progress that stands for a query's beginning where its hashes do not matter."""


def progress_of(run: Run, number: int) -> Progress:
    """The progress of the query with this number before its first release. Its hashes differ from run to run."""
    return Progress(key=hashlib.sha256(b"analytics hash" + run.beacon + number.to_bytes(8, "big")).digest())


def query_release(job: AnalyticsJob, number: int, progress: Progress) -> Release:
    """The release that follows this progress of the query with this number."""
    return _release(job, number, progress, shared_noise(job))


def query_releases(job: AnalyticsJob) -> Iterator[Release]:
    """Every release that the queries may take, in order.

    A query may end early, and what its later releases count depends on the totals of the earlier ones. So each has the
    domain of its query's first, which no cost depends on.
    """
    return _releases(job, shared_noise(job))


def _releases(job: AnalyticsJob, noise: SharedNoise) -> Iterator[Release]:
    for number, query in enumerate(job.queries):
        first = _release(job, number, _BEFORE, noise)
        for level in range(query.releases):
            yield replace(first, round=level, entry=_entry(query, number, level))


def _release(job: AnalyticsJob, number: int, progress: Progress, noise: SharedNoise) -> Release:
    query, level = job.queries[number], len(progress.totals)
    mechanism, domain = query.mechanism(noise), query.domain(progress, job.largest_silo)
    return Release(
        phase=stage_of(query, number),
        round=level,
        entry=_entry(query, number, level),
        content=Content.COUNTS,
        inner=job.secure_sum.build(),
        mechanism=mechanism,
        domain=domain,
        roster=job.silos.names,
        quorum=job.quorum,
        event=mechanism.event(domain, job.honest),
    )


def stage_of(query: Query, number: int) -> str:
    """The name of a query among those of a job, which may have two of one title."""
    return f"{number + 1}. {query.title}"


def _entry(query: Query, number: int, level: int) -> str:
    return stage_of(query, number) + (f", release {level + 1}" if query.releases > 1 else "")


def start_of(job: AnalyticsJob, progress: Progress) -> bytes:
    """A digest of the totals of a query's earlier releases, so that silos which were shown different ones notice."""
    return hashlib.sha256(job.digest + progress.digest).digest()


def read_total(job: AnalyticsJob, number: int, summed: Sum) -> NoisyTotal:
    """The noised total of a release, with the width of the noise of those who are in it."""
    mechanism = job.queries[number].mechanism(shared_noise(job))
    return NoisyTotal(summed.total.astype(float), mechanism.spread(len(summed.contributors)))


def spreads_of(job: AnalyticsJob, number: int) -> list[float]:
    """Every width that the noise of a total can have: one for each number of silos that may be in it."""
    mechanism = job.queries[number].mechanism(shared_noise(job))
    return [mechanism.spread(silos) for silos in range(job.quorum, len(job.silos.names) + 1)]


def planned_epsilon(job: AnalyticsJob) -> float:
    """The most that all queries together cost."""
    return epsilon_of(events_of(query_releases(job)), job.privacy.delta)


@lru_cache(maxsize=16)
def shared_noise(job: AnalyticsJob) -> SharedNoise:
    """The least noise with which all releases together stay within the job's epsilon, of the kind that needs less.

    Found with the exact events of the integer noise, so nothing has to be added for its being discrete.
    """
    asked = job.mechanism.kind
    kinds: tuple[NoiseKind, ...] = ("skellam", "ddg") if asked == "least" else (asked,)
    found = [(_least_multiplier(job, kind), kind) for kind in kinds]
    multiplier, kind = min(found, key=lambda each: each[0])  # Skellam where both need the same: its sums are Skellam
    return SharedNoise(kind, multiplier, _largest_contrast(job, kind, multiplier), job.honest, job.privacy.records)


def _least_multiplier(job: AnalyticsJob, kind: NoiseKind) -> float:
    """The least multiplier, equal for all counts, where releases of bits get the share of the budget that counts get.

    They stand for Gaussian releases of that multiplier here, which leaves something of their share.
    """

    def events(multiplier: float) -> list[Event]:
        noise = SharedNoise(kind, multiplier, MOST_CONTRAST, job.honest, job.privacy.records)
        share = GaussianRelease(multiplier)
        return [share if isinstance(event, NoisyBitsRelease) else event for event in events_of(_releases(job, noise))]

    return _rounded_up(smallest_noise(events, epsilon=job.privacy.epsilon, delta=job.privacy.delta))


def _largest_contrast(job: AnalyticsJob, kind: NoiseKind, multiplier: float) -> float:
    """The largest contrast of bits, beside counts with this multiplier: bits use all that the counts leave.

    A job that asks for bits alone spends its whole epsilon on them. Where no query asks for bits, any contrast will do.
    """

    def contrast(noise: float) -> float:
        return math.floor(min(math.tanh(1 / noise), MOST_CONTRAST) * 1e9) / 1e9

    def events(noise: float) -> list[Event]:
        shared = SharedNoise(kind, multiplier, contrast(noise), job.honest, job.privacy.records)
        return events_of(_releases(job, shared))

    return contrast(_rounded_up(smallest_noise(events, epsilon=job.privacy.epsilon, delta=job.privacy.delta)))


def _rounded_up(noise: float) -> float:
    """The noise in millionths, so that two machines whose logarithms differ in the last bit still agree."""
    return math.ceil(noise * 1e6) / 1e6


def require_feasible(job: AnalyticsJob) -> None:
    """`ConfigError` where a release cannot be drawn or carried: before anyone is charged for it."""
    noise = shared_noise(job)
    for number, query in enumerate(job.queries):
        release = _release(job, number, _BEFORE, noise)
        mechanism = release.mechanism
        if isinstance(mechanism, NoisyCounts) and mechanism.noise.variance > LARGEST_VARIANCE:
            raise ConfigError(
                f"queries.{number}: {query.title} needs noise of variance {mechanism.noise.variance:g} in steps of its "
                f"grid, at most {LARGEST_VARIANCE:g} can be drawn; lower its steps, or raise privacy.epsilon"
            )
        try:
            release.scheme.admit(release.domain, len(release.roster))
        except DomainError as error:
            raise ConfigError(f"queries.{number}: {query.title} does not fit the sum: {error}") from error
