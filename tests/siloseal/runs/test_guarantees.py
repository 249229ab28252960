"""What a report says that a run's sums rest on."""

import math
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from siloseal.federation.analytics.config import AnalyticsJob
from siloseal.federation.analytics.releases import query_releases
from siloseal.federation.job.job import Job
from siloseal.federation.job.weighting import weighted_domain
from siloseal.models.building import vector_lengths
from siloseal.runs.guarantees import _range, _sums, baseline_warnings, query_parameters, training_releases

JOINT_KEY = {"kind": "ckks_joint_key"}
FINISHED = SimpleNamespace(parameters=3000, shape=(1, 8, 8), classes=10)
ROW = "statistical distance of all sums"


def rows_of(job: Job) -> dict[str, str]:
    return _sums(training_releases(job, FINISHED))  # type: ignore[arg-type]  # all of a run that it looks at


def exponent(row: str) -> float:
    return float(row.removeprefix("2^").split(":")[0])


@pytest.mark.parametrize("rounds", [1, 8])
def test_statistical_distances_add_up_over_the_sums_of_a_run(small_job: Callable[..., Job], rounds: int) -> None:
    """The joint-key sum's is a session's: one of phase 1, and one of each tuning round."""
    schedule = {"kind": "two_phase", "batch": 48, "local_steps": 5, "tuning_rounds": rounds, "tuning_sum": JOINT_KEY}
    job = small_job(warm_start={"kind": "none"}, secure_sum=JOINT_KEY, schedule=schedule)
    length = vector_lengths(job, FINISHED.shape, FINISHED.classes).model
    domain = weighted_domain(length, job.largest_weight)
    one = job.secure_sum.build().statistical_distance(domain, len(job.silos.names))
    assert 0 < one <= 2.0**-40
    assert exponent(rows_of(job)[ROW]) == pytest.approx(math.log2((1 + rounds) * one), abs=0.06)


def test_the_default_sum_adds_next_to_nothing(small_job: Callable[..., Job]) -> None:
    job = small_job(warm_start={"kind": "none"}, secure_sum={"kind": "ckks"})
    assert -110 < exponent(rows_of(job)[ROW]) < -95


def test_sums_without_such_a_distance_say_nothing_of_it(small_job: Callable[..., Job]) -> None:
    assert ROW not in rows_of(small_job(warm_start={"kind": "none"}, secure_sum={"kind": "secagg"}))


@pytest.mark.parametrize(("kind", "warned"), [("ckks", 0), ("secagg", 0), ("ckks_joint_key", 1), ("paillier", 1)])
def test_a_job_is_warned_of_sums_that_are_here_to_be_compared_with(
    small_job: Callable[..., Job], kind: str, warned: int
) -> None:
    job = small_job(warm_start={"kind": "none"}, secure_sum={"kind": kind})
    assert [kind in warning for warning in baseline_warnings(job)] == [True] * warned


QUERIES = [
    {"kind": "histogram", "column": "sex", "values": ["f", "m"]},
    {"kind": "mean", "column": "age", "low": 0, "high": 100},
]


@pytest.mark.parametrize("queries", [QUERIES, QUERIES[:1]])
def test_each_query_is_described_by_its_own_noise(queries: list[dict[str, object]]) -> None:
    """What the queries share stands once, and whatever differs stands under the query that it belongs to."""
    job = AnalyticsJob.model_validate(
        {
            "name": "look", "silos": {"names": ["a", "b", "c", "d"]}, "privacy": {"epsilon": 8, "delta": 1e-5},
            "secure_sum": {"kind": "secagg"}, "data": {"kind": "csv", "file": "all.csv"}, "queries": queries,
        }
    )  # fmt: skip
    rows = query_parameters(job, {})
    for release in query_releases(job):
        own = f"sum of {release.phase}"
        assert rows.get(own, rows.get("sum of every query")) == release.scheme.name
        described = release.scheme.describe(release.domain, 4)
        for name, value in described.items():
            assert rows.get(f"{own}, {name}", rows.get(f"sum of every query, {name}")) == value
    assert ("sum of every query" in rows) == (len(queries) == 1)
    assert "sum of every query, a silo learns" in rows


def test_a_range_whose_ends_are_written_alike_is_one_number() -> None:
    assert _range([0.12801, 0.12803], 4) == "0.1280"
    assert _range([0.128, 0.13], 4) == "0.1280 to 0.1300"
