"""A job of any kind, training, queries or averages, for the parts of the system that serve all of them."""

import json
from collections.abc import Collection
from pathlib import Path

from siloseal.federation.analytics.config import AnalyticsJob
from siloseal.federation.averages.config import AverageJob
from siloseal.federation.config.loading import load_config, top_level_keys
from siloseal.federation.job.job import Job

AnyJob = Job | AnalyticsJob | AverageJob


def load_any_job(path: Path) -> AnyJob:
    """The job in this file: of queries or averages if the file has that key, else one that trains."""
    return load_config(_kind(top_level_keys(path)), path)


def job_from_json(text: str) -> AnyJob:
    """The job that an aggregator offers; pydantic's `ValidationError` where it is none of this version."""
    try:
        keys = json.loads(text)
    except (ValueError, TypeError, RecursionError):
        keys = ()  # the model below says what is wrong with it
    return _kind(keys if isinstance(keys, dict) else ()).model_validate_json(text)


def _kind(keys: Collection[str]) -> type[Job] | type[AnalyticsJob] | type[AverageJob]:
    if "queries" in keys:
        return AnalyticsJob
    return AverageJob if "averages" in keys else Job
