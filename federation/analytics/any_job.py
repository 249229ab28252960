"""A job of either kind, training or queries, for the parts of the system that serve both."""

import json
from pathlib import Path

from siloseal.federation.analytics.config import AnalyticsJob
from siloseal.federation.config.loading import load_config, top_level_keys
from siloseal.federation.job.job import Job

AnyJob = Job | AnalyticsJob


def load_any_job(path: Path) -> AnyJob:
    """The job in this file: one of queries if the file lists some, else one that trains."""
    return load_config(AnalyticsJob, path) if "queries" in top_level_keys(path) else load_config(Job, path)


def job_from_json(text: str) -> AnyJob:
    """The job that an aggregator offers; pydantic's `ValidationError` where it is none of this version."""
    try:
        of_queries = "queries" in json.loads(text)
    except (ValueError, TypeError, RecursionError):
        of_queries = False  # the model below says what is wrong with it
    return AnalyticsJob.model_validate_json(text) if of_queries else Job.model_validate_json(text)
