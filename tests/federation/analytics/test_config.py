"""A job of queries, as a file describes it: what is refused before anybody is charged."""

from typing import Any

import pytest
from pydantic import ValidationError

from siloseal.federation.analytics.config import AnalyticsJob

MEAN = {"kind": "mean", "column": "age", "low": 0, "high": 100}
DISTINCT = {"kind": "distinct", "column": "age"}


def job(**sections: Any) -> AnalyticsJob:
    usual = {
        "name": "look",
        "data": {"kind": "csv", "folder": "."},
        "silos": {"names": ["north", "east", "south", "west"], "fewest": 3},
        "privacy": {"epsilon": 2, "delta": 1e-5},
        "secure_sum": {"kind": "secagg"},
        "queries": [MEAN],
    }
    return AnalyticsJob.model_validate(usual | sections)


@pytest.mark.parametrize("text", ["blood\npressure", "age\x1b[2J", "age\u202e", "tab\there"])
@pytest.mark.parametrize(
    ("key", "query"),
    [
        ("column", lambda text: {**MEAN, "column": text}),
        ("values", lambda text: {"kind": "histogram", "column": "sex", "values": [text]}),
        (
            "alphabet",
            lambda text: {"kind": "heavy_hitters", "column": "ward", "alphabet": "".join(dict.fromkeys(text))},
        ),
    ],
    ids=["column", "values", "alphabet"],
)
def test_what_a_report_shows_is_printable(key: str, query: Any, text: str) -> None:
    with pytest.raises(ValidationError, match=key):
        job(queries=[query(text)])


def test_so_is_the_column_that_names_a_person() -> None:
    with pytest.raises(ValidationError, match="column"):
        job(privacy={"epsilon": 2, "delta": 1e-5, "person": {"column": "patient\nid", "records": 2}})


def test_the_number_of_silos_that_must_remain_is_the_jobs_or_the_sums() -> None:
    assert (job().quorum, job().honest) == (3, 2)
    additive = job(secure_sum={"kind": "additive"})  # which needs everyone
    assert (additive.quorum, additive.honest) == (4, 3)


@pytest.mark.parametrize(
    ("sections", "named"),
    [
        ({"secure_sum": {"kind": "plain"}}, "secure_sum.kind is plain"),
        ({"secure_sum": {"kind": "paillier"}}, "secure_sum.kind is paillier"),
        ({"mechanism": {"colluding": 2}}, "mechanism.colluding is 2"),
        ({"secure_sum": {"kind": "ckks"}, "queries": [DISTINCT]}, "secagg, secagg_plus or additive"),
        ({"silos": {"names": ["north", "east"], "fewest": 3}}, "silos.fewest is 3"),
    ],
    ids=["shown uploads", "opened uploads", "too many colluders", "no modulo", "too few silos"],
)
def test_noise_that_a_sum_cannot_hide_is_refused_with_what_can(sections: dict[str, Any], named: str) -> None:
    with pytest.raises(ValidationError, match=named):
        job(**sections)
