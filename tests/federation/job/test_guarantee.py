"""What a guarantee says besides its numbers: whose noise counts, and what the sums below it assume."""

from collections.abc import Callable
from typing import Any

import pytest

from siloseal.federation.job.guarantee import EXAMPLE_AT_SILO, guarantee_of
from siloseal.federation.job.job import Job
from siloseal.federation.job.noise_on_sums import fewest_honest
from siloseal.federation.job.releases import Lengths, releases
from siloseal.federation.sums.joint_key.joint_key_sum import JointKeySum

TEN = [f"silo{number}" for number in range(10)]
SILO_LEVEL = {"kind": "silo_level", "epsilon": 8, "delta": 1e-4, "clip_norm": 0.5}


def updates(small_job: Callable[..., Job], secure_sum: str, tuning_sum: str, kind: str = "skellam") -> Job:
    schedule = {
        "kind": "two_phase", "batch": 48, "local_steps": 3, "tuning_rounds": 2, "tuning_sum": {"kind": tuning_sum},
    }  # fmt: skip
    return small_job(
        warm_start={"kind": "none"},
        privacy=SILO_LEVEL,
        mechanism={"kind": kind},
        silos={"names": TEN, "fewest": 7},
        secure_sum={"kind": secure_sum},
        schedule=schedule,
    )


def test_names_the_honest_silos_of_the_sum_that_the_fewest_may_remain_in(small_job: Callable[..., Job]) -> None:
    """Additive sharing keeps all ten, the tuning rounds seven: one of the seven may collude."""
    job = updates(small_job, "additive", "secagg")
    *_, tuning = releases(job, Lengths(0, 100))
    assert tuning.mechanism is not None
    assert tuning.event == tuning.mechanism.event(tuning.domain, 6) != tuning.mechanism.event(tuning.domain, 9)
    assert fewest_honest(job) == 6
    assert "6 honest" in guarantee_of(job).noise
    assert "of 10" in guarantee_of(job).noise


def test_says_what_the_sum_below_split_noise_assumes(small_job: Callable[..., Job]) -> None:
    assert JointKeySum().exposure.assumes in guarantee_of(updates(small_job, "secagg", "ckks_joint_key")).noise
    assert "assumes" not in guarantee_of(updates(small_job, "secagg", "ckks")).noise


def test_of_central_noise_names_what_the_aggregator_sees_in_the_sum_that_shows_most(
    small_job: Callable[..., Job],
) -> None:
    hidden = guarantee_of(updates(small_job, "secagg", "secagg", "gaussian_central")).noise
    shown = guarantee_of(updates(small_job, "secagg", "plain", "gaussian_central")).noise
    assert "the exact sum" in hidden
    assert "each silo's exact contribution" in shown


@pytest.mark.parametrize("warm_start", [{"kind": "none"}, {"kind": "leader", "silo": "north", "steps": 4}])
def test_noise_of_the_training_trusts_nobody(small_job: Callable[..., Job], warm_start: dict[str, Any]) -> None:
    assert guarantee_of(small_job(warm_start=warm_start)) == EXAMPLE_AT_SILO
