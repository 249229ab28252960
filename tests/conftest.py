"""Small jobs on scikit-learn's digits: real data, real training, seconds."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from siloseal.federation.job.job import Job

torch.set_num_threads(1)

SMALL_JOB: dict[str, Any] = {
    "name": "small",
    "seed": 3,
    "data": {"kind": "digits"},
    "silos": {"names": ["north", "east", "south"], "partition": {"kind": "iid"}},
    "learner": {"kind": "gan", "latent": 8},
    "optimizer": {"kind": "dp_adam", "learning_rate": 2e-3},
    "privacy": {"kind": "example_level", "epsilon": 10, "delta": 1e-5},
    "warm_start": {"kind": "none"},
    "schedule": {"kind": "two_phase", "batch": 48, "local_steps": 60, "tuning_rounds": 2, "tuning_steps": 5},
    "secure_sum": {"kind": "plain"},
    "evaluation": {"classifiers": ["logistic"], "samples": 300, "silo_alone": False},
}


@pytest.fixture(scope="session")
def small_sections() -> dict[str, Any]:
    """The small job's sections, for fixtures of a wider scope."""
    return SMALL_JOB


@pytest.fixture
def small_job() -> Callable[..., Job]:
    """The small job with some sections replaced."""

    def make(**sections: Any) -> Job:
        return Job.model_validate({**SMALL_JOB, **sections})

    return make
