"""What each release of a job is: its noise, its sum and what it costs. Every party computes that from the job."""

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from siloseal.federation.analytics.config import AnalyticsJob
from siloseal.federation.analytics.query import CountingMechanism, NoisyTotal, Progress
from siloseal.federation.analytics.shared_noise import SharedNoise
from siloseal.federation.errors import ConfigError, DomainError
from siloseal.federation.privacy.accounting import epsilon_of, smallest_noise
from siloseal.federation.privacy.events import Event
from siloseal.federation.privacy.mechanisms.counts import NoisyCounts
from siloseal.federation.privacy.mechanisms.tables import LARGEST_VARIANCE
from siloseal.federation.sums.noisy_sum import NoisySum
from siloseal.federation.sums.secure_sum import Sum
from siloseal.federation.sums.session import Session

KEY_BYTES = 32


@dataclass(frozen=True)
class AnalyticsRun:
    """One execution of a job among silos with these identity keys."""

    id: bytes
    """Random bytes that name the execution, drawn by the one process that plays all parties.

    An aggregator on a machine of its own must not draw it: it names the sums, and with them the order of the SecAgg+
    ring. Between machines a beacon belongs here (`siloseal.federation.job.beacon`).
    """
    roster: Mapping[str, bytes]

    def progress(self, number: int) -> Progress:
        """Of the query with this number, before its first release."""
        return Progress(key=hashlib.sha256(b"analytics hash" + self.id + number.to_bytes(8, "big")).digest())


@dataclass(frozen=True)
class Release:
    """One sum of one query."""

    phase: str
    """By which the ledger names it."""
    mechanism: CountingMechanism
    scheme: NoisySum
    session: Session
    event: Event

    def read(self, total: Sum) -> NoisyTotal:
        """What the sum told, and how wide the noise of those who are in it is."""
        return NoisyTotal(total.total.astype(float), self.mechanism.spread(len(total.contributors)))


def next_release(job: AnalyticsJob, run: AnalyticsRun, number: int, progress: Progress) -> Release:
    """The release that follows this progress of the query with this number."""
    query, level = job.queries[number], len(progress.totals)
    mechanism, domain = query.mechanism(shared_noise(job)), query.domain(progress, job.largest_silo)
    scheme = NoisySum(mechanism, job.secure_sum.build())
    identity = b"analytics sum" + run.id + number.to_bytes(8, "big") + level.to_bytes(8, "big")
    session = Session(
        id=hashlib.sha256(identity).digest(),
        roster=job.silos.names,
        domain=domain,
        scheme=scheme.name,
        quorum=job.quorum,
        identities=tuple(run.roster[name] for name in job.silos.names),
        start=hashlib.sha256(job.digest + progress.digest).digest(),
    )
    phase = f"{number + 1}. {query.title}" + (f", release {level + 1}" if query.releases > 1 else "")
    return Release(phase, mechanism, scheme, session, mechanism.event(domain, job.honest))


def planned_events(job: AnalyticsJob, noise: SharedNoise, told: tuple[int, ...] = ()) -> list[Event]:
    """What all releases of all queries cost at most, without the first ones of each that have come in already."""
    events = list[Event]()
    for query, done in zip(job.queries, told or (0,) * len(job.queries), strict=True):
        domain = query.domain(Progress(key=bytes(KEY_BYTES)), job.largest_silo)
        events += [query.mechanism(noise).event(domain, job.honest)] * (query.releases - done)
    return events


def _with_reserve(job: AnalyticsJob, noise: SharedNoise) -> list[Event]:
    """And those that crashes may throw away: the costliest release so many times more."""
    events = planned_events(job, noise)
    costliest = max(set(events), key=lambda event: epsilon_of([event], job.privacy.delta))
    return events + [costliest] * job.privacy.reserve_releases


@lru_cache(maxsize=16)
def shared_noise(job: AnalyticsJob) -> SharedNoise:
    """The least noise, equal for all releases, with which all of them together stay within the job's epsilon.

    Found with the exact events of the integer noise, so nothing has to be added for its being discrete.
    """

    def noise(multiplier: float) -> SharedNoise:
        return SharedNoise(job.mechanism.kind, multiplier, job.honest, job.privacy.records)

    least = smallest_noise(lambda z: _with_reserve(job, noise(z)), epsilon=job.privacy.epsilon, delta=job.privacy.delta)
    return noise(math.ceil(least * 1e6) / 1e6)  # two machines whose logarithms differ in the last bit still agree


def require_feasible(job: AnalyticsJob) -> None:
    """`ConfigError` where a release cannot be drawn or carried: before anyone is charged for it."""
    noise, inner = shared_noise(job), job.secure_sum.build()
    for number, query in enumerate(job.queries):
        mechanism = query.mechanism(noise)
        if isinstance(mechanism, NoisyCounts) and mechanism.noise.variance > LARGEST_VARIANCE:
            raise ConfigError(
                f"queries.{number}: {query.title} needs noise of variance {mechanism.noise.variance:g} in steps of its "
                f"grid, at most {LARGEST_VARIANCE:g} can be drawn; lower its steps, or raise privacy.epsilon"
            )
        domain = query.domain(Progress(key=bytes(KEY_BYTES)), job.largest_silo)
        try:
            NoisySum(mechanism, inner).admit(domain, len(job.silos.names))
        except DomainError as error:
            raise ConfigError(f"queries.{number}: {query.title} does not fit the sum: {error}") from error
