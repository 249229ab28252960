"""The releases of a job of queries, each with the record that moves its counts farthest."""

from collections.abc import Iterator

import numpy as np

from siloseal.federation.analytics.config import AnalyticsJob, AnyQuery
from siloseal.federation.analytics.counting import RangeQuery
from siloseal.federation.analytics.distinct import Distinct
from siloseal.federation.analytics.heavy_hitters import HeavyHitters
from siloseal.federation.analytics.histogram import Histogram
from siloseal.federation.analytics.query import Column, Counts, Progress
from siloseal.federation.analytics.releases import query_release, stage_of
from siloseal.privacy_audit.releases import BASE_RECORDS, ReleaseSubject


def query_subjects(job: AnalyticsJob) -> Iterator[tuple[str, ReleaseSubject]]:
    """Each query with its first release. Later ones of the same query have the same noise and cost."""
    start = Progress(key=bytes(32))
    for number, query in enumerate(job.queries):
        release = query_release(job, number, start)
        if release.mechanism is None or release.event is None:
            continue
        without, move = farthest_record(query, start, job.privacy.records)
        yield (
            stage_of(query, number),
            ReleaseSubject(
                mechanism=release.mechanism,
                domain=release.domain,
                event=release.event,
                releases=query.releases,
                delta=job.privacy.delta,
                honest=job.honest,
                without=without.astype(np.float64),
                move=move.astype(np.float64),
            ),
        )


def farthest_record(query: AnyQuery, start: Progress, records: int) -> tuple[Counts, Counts]:
    """A silo's counts, and how far the records of one unit move them at most; tried on a few likely ones."""
    base = _base(query)
    without = query.count(base, start)
    moves = [query.count(np.concatenate([base, unit]), start) - without for unit in _units(query, records)]
    return without, max(moves, key=lambda move: float(np.linalg.norm(move)))


def _base(query: AnyQuery) -> Column:
    if isinstance(query, RangeQuery):
        return np.full(BASE_RECORDS, (query.low + query.high) / 2)
    return np.array(["base"] * BASE_RECORDS, dtype=object)


def _units(query: AnyQuery, records: int) -> list[Column]:
    """Records of one unit that may move the counts farthest: at the ends of a range, or of a value that counts."""
    match query:
        case RangeQuery(low=low, high=high):
            return [np.full(records, value) for value in (low, high)]
        case Histogram(values=values):
            return [np.array([values[0]] * records, dtype=object)]
        case HeavyHitters(alphabet=alphabet):
            return [np.array([alphabet[0]] * records, dtype=object)]
        case Distinct():
            tries = range(8)  # two values may share a cell
            return [np.array([f"canary {n} {one}" for n in range(records)], dtype=object) for one in tries]
