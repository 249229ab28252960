"""The sums that a job has: everyone who speaks of them asks one list."""

from collections.abc import Callable
from typing import Any

import pytest
from pydantic import ValidationError

from siloseal.federation.job.job import Job
from siloseal.federation.job.phase_sums import noised_sums, phase_sum, phase_sums
from siloseal.federation.job.phases import Phase
from siloseal.federation.job.releases import Lengths, releases

LENGTHS = Lengths(kernel_mean=510, model=1000)
KERNEL_MEAN = {"kind": "kernel_mean", "epsilon": 3, "frequencies": 50, "length_scale": 1.0}
LEADER = {"kind": "leader", "silo": "north", "steps": 4}
SILO_LEVEL = {"kind": "silo_level", "epsilon": 8, "delta": 1e-4, "clip_norm": 0.5}
FEDAVG = {"kind": "fedavg", "rounds": 4, "fraction": 0.5, "local_epochs": 1, "batch": 50}
SECAGG = {"kind": "secagg"}


def two_phase(rounds: int, tuning_sum: str) -> dict[str, Any]:
    return {
        "kind": "two_phase", "batch": 48, "local_steps": 3, "tuning_rounds": rounds, "tuning_sum": {"kind": tuning_sum},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("sections", "expected"),
    [
        (
            {"warm_start": KERNEL_MEAN, "schedule": two_phase(2, "plain")},
            [("warm_start", "secure_sum", "ckks"), ("phase_1", "secure_sum", "ckks"),
             ("phase_2", "schedule.tuning_sum", "plain")],
        ),
        ({"warm_start": KERNEL_MEAN, "schedule": two_phase(0, "plain")},
         [("warm_start", "secure_sum", "ckks"), ("phase_1", "secure_sum", "ckks")]),
        ({"warm_start": LEADER, "schedule": two_phase(0, "plain")},
         [("warm_start", "warm_start", "plain"), ("phase_1", "secure_sum", "ckks")]),
        ({"schedule": FEDAVG}, [("fedavg", "secure_sum", "ckks")]),
    ],
    ids=["both phases", "no tuning", "leader", "fedavg"],
)  # fmt: skip
def test_a_job_has_the_sums_of_its_phases_and_no_others(
    small_job: Callable[..., Job], sections: dict[str, Any], expected: list[tuple[str, str, str]]
) -> None:
    job = small_job(**{"warm_start": {"kind": "none"}, "secure_sum": {"kind": "ckks"}, **sections})
    assert [(found.phase, found.section, found.config.kind) for found in phase_sums(job)] == expected


@pytest.mark.parametrize("sections", [{"warm_start": KERNEL_MEAN}, {"warm_start": LEADER}, {"schedule": FEDAVG}])
def test_every_release_has_the_roster_and_the_quorum_of_its_phase(
    small_job: Callable[..., Job], sections: dict[str, Any]
) -> None:
    job = small_job(secure_sum=SECAGG, **sections)
    for release in releases(job, LENGTHS):
        found = phase_sum(job, Phase(release.phase))
        assert (len(release.roster), release.quorum) == (found.asked, found.quorum)
        assert release.inner == found.config.build()


@pytest.mark.parametrize("sections", [{"warm_start": KERNEL_MEAN}, {"privacy": SILO_LEVEL}], ids=["mean", "updates"])
def test_noised_sums_are_those_whose_release_has_a_mechanism(
    small_job: Callable[..., Job], sections: dict[str, Any]
) -> None:
    job = small_job(
        **{"warm_start": {"kind": "none"}, **sections},
        mechanism={"kind": "skellam"}, secure_sum=SECAGG, schedule=two_phase(1, "secagg"),
    )  # fmt: skip
    with_noise = {release.phase for release in releases(job, LENGTHS) if release.mechanism is not None}
    assert {found.phase for found in noised_sums(job)} == with_noise


class TestASumThatNoReleaseUses:
    """A tuning sum of a job without tuning rounds is not looked at."""

    CENTRAL: dict[str, Any] = {  # noqa: RUF012 (never changed)
        "warm_start": {"kind": "none"}, "privacy": SILO_LEVEL, "mechanism": {"kind": "gaussian_central"},
        "secure_sum": SECAGG,
    }  # fmt: skip

    def test_is_no_reason_to_refuse_a_job(self, small_job: Callable[..., Job]) -> None:
        assert small_job(**self.CENTRAL, schedule=two_phase(0, "ring")).schedule.kind == "two_phase"

    def test_is_one_as_soon_as_it_is_used(self, small_job: Callable[..., Job]) -> None:
        with pytest.raises(ValidationError, match="gaussian_central"):
            small_job(**self.CENTRAL, schedule=two_phase(1, "ring"))
