"""A job of averages: what it says of itself, and which other it refuses to be."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from siloseal.federation.analytics.any_job import job_from_json, load_any_job
from siloseal.federation.analytics.guarantee import guarantee_in
from siloseal.federation.averages.config import AverageJob
from siloseal.federation.averages.mean import Mean
from siloseal.federation.averages.outcome import averages_of, made
from siloseal.federation.config.loading import to_yaml
from siloseal.federation.errors import UncountableEvent

SECTIONS: dict[str, Any] = {
    "name": "xray",
    "silos": {"names": ["north", "east", "south", "west"], "fewest": 2},
    "secure_sum": {"kind": "ckks"},
    "averages": 20,
}


def test_the_file_of_one_is_read_as_one_and_offered_as_one(tmp_path: Path) -> None:
    job = AverageJob.model_validate(SECTIONS)
    (tmp_path / "job.yaml").write_text(to_yaml(job))
    assert load_any_job(tmp_path / "job.yaml") == job_from_json(job.model_dump_json()) == job


def test_as_many_silos_must_stay_as_the_sum_needs() -> None:
    assert AverageJob.model_validate(SECTIONS).quorum == 3  # ckks: more than two thirds of four
    assert AverageJob.model_validate({**SECTIONS, "secure_sum": {"kind": "plain"}}).quorum == 2


def test_it_has_no_guarantee_that_could_be_stated() -> None:
    job = AverageJob.model_validate(SECTIONS)
    with pytest.raises(UncountableEvent):
        guarantee_in(job)
    assert "noise" in averages_of(job, (), "").guarantee


def test_what_the_aggregator_keeps_has_no_value_of_a_module() -> None:
    job = AverageJob.model_validate(SECTIONS)
    mean = Mean(0, np.array([12.34375], dtype=np.float32), ("north", "east", "south"), 1e-5)
    kept = averages_of(job, (made(mean),), "all scripts have left").to_json().decode()
    assert "12.34" not in kept
    assert "north" in kept


@pytest.mark.parametrize(
    "sections",
    [
        {"silos": {"names": ["north", "east"], "partition": {"kind": "dirichlet", "alpha": 1.0}}},
        {"silos": {"names": ["north", "east"], "fewest": 3}},
        {"silos": {"names": ["north"]}},
        {"averages": 0},
        {"largest_weight": 0.5},
        {"largest_silo": 0},
        {"privacy": {"kind": "none"}},
    ],
)
def test_a_job_that_cannot_be_is_refused(sections: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        AverageJob.model_validate({**SECTIONS, **sections})
