"""A job of any kind, from a file and from an offer."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from siloseal.federation.analytics.any_job import job_from_json, load_any_job
from siloseal.federation.analytics.config import AnalyticsJob
from siloseal.federation.averages.config import AverageJob
from siloseal.federation.config.loading import load_config
from siloseal.federation.errors import ConfigError
from siloseal.federation.job.job import Job

CONFIGS = Path(__file__).parents[3] / "configs"


KINDS = {"digits.yaml": Job, "analytics.yaml": AnalyticsJob, "averages.yaml": AverageJob}


@pytest.mark.parametrize(("name", "kind"), KINDS.items())
def test_a_job_is_read_as_what_it_is_from_a_file_and_from_an_offer(
    name: str, kind: type[Job] | type[AnalyticsJob] | type[AverageJob]
) -> None:
    job = load_any_job(CONFIGS / name)
    assert job == load_config(kind, CONFIGS / name)
    assert job_from_json(job.model_dump_json()) == job


@pytest.mark.parametrize(
    "text", ["", "[", "7", "null", "[1]", '"queries"', "{}", '{"queries": 3}', '{"averages": 3}', "[" * 100_000]
)
def test_an_offer_that_is_no_job_is_refused(text: str) -> None:
    with pytest.raises(ValidationError):
        job_from_json(text)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nowhere\.yaml"):
        load_any_job(tmp_path / "nowhere.yaml")
