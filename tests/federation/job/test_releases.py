"""Every sum of a job, as all parties derive it."""

from collections.abc import Callable
from typing import Any

import pytest

from siloseal.federation.errors import WrongRound
from siloseal.federation.job.job import Job
from siloseal.federation.job.phases import Phase
from siloseal.federation.job.releases import Content, Lengths, Run, by_phase, release_of, releases
from siloseal.federation.privacy.events import SkellamRelease

LENGTHS = Lengths(kernel_mean=510, model=1000)
KERNEL_MEAN = {"kind": "kernel_mean", "epsilon": 3, "frequencies": 50, "length_scale": 1.0}
LEADER = {"kind": "leader", "silo": "north", "steps": 4}
SILO_LEVEL = {"kind": "silo_level", "epsilon": 8, "delta": 1e-4, "clip_norm": 0.5}
TWO_PHASE = {"kind": "two_phase", "batch": 48, "local_steps": 3, "tuning_rounds": 2, "tuning_sum": {"kind": "secagg"}}
FEDAVG = {"kind": "fedavg", "rounds": 4, "fraction": 0.5, "local_epochs": 1, "batch": 50}


def test_are_listed_in_the_order_in_which_a_job_makes_them(small_job: Callable[..., Job]) -> None:
    job = small_job(warm_start=KERNEL_MEAN, schedule=TWO_PHASE, secure_sum={"kind": "ckks"})
    listed = list(releases(job, LENGTHS))
    assert [(each.phase, each.round) for each in listed] == [
        ("warm_start", 0), ("phase_1", 0), ("phase_2", 1), ("phase_2", 2)
    ]  # fmt: skip
    assert [each.content for each in listed] == [Content.KERNEL_MEAN, *[Content.MODEL] * 3]
    assert [each.scheme.name.split("(")[0] for each in listed[1:]] == ["ckks", "fixed_point", "fixed_point"]
    assert [count for _, count in by_phase(releases(job, LENGTHS))] == [1, 1, 2]


@pytest.mark.parametrize("sections", [{"warm_start": KERNEL_MEAN}, {"warm_start": LEADER}, {"schedule": FEDAVG}])
def test_a_listed_one_is_the_one_that_is_asked_for_by_its_round(
    small_job: Callable[..., Job], sections: dict[str, Any]
) -> None:
    job = small_job(**sections)
    for listed in releases(job, LENGTHS):
        assert release_of(job, LENGTHS, Phase(listed.phase), listed.round) == listed


def test_a_leaders_model_is_a_sum_of_one(small_job: Callable[..., Job]) -> None:
    release = release_of(small_job(warm_start=LEADER, secure_sum={"kind": "ckks"}), LENGTHS, Phase.WARM_START, 0)
    assert (release.roster, release.quorum, release.scheme.name) == (("north",), 1, "plain")


def test_a_round_that_the_job_has_not_is_refused(small_job: Callable[..., Job]) -> None:
    job = small_job(warm_start={"kind": "none"}, schedule=TWO_PHASE)
    for phase, number in ((Phase.WARM_START, 0), (Phase.PHASE_1, 1), (Phase.PHASE_2, 3), (Phase.FEDAVG, 1)):
        with pytest.raises(WrongRound):
            release_of(job, LENGTHS, phase, number)


def test_two_rounds_never_have_one_session(small_job: Callable[..., Job]) -> None:
    job = small_job(schedule=TWO_PHASE)
    run = Run(bytes(32), {name: bytes(32) for name in job.silos.names})
    sessions = [each.session(run).id for each in releases(job, LENGTHS)]
    assert len(set(sessions)) == len(sessions)


@pytest.mark.parametrize("sections", [{"warm_start": KERNEL_MEAN}, {"privacy": SILO_LEVEL}], ids=["mean", "update"])
def test_the_cost_is_that_of_the_fewest_honest_silos_that_may_remain(
    small_job: Callable[..., Job], sections: dict[str, Any]
) -> None:
    """Not that of all who were asked: four of the five must stay, and one of the four may use what it knows."""
    job = small_job(
        **sections,
        mechanism={"kind": "skellam"},
        silos={"names": ["a", "b", "c", "d", "e"], "fewest": 4},
        secure_sum={"kind": "secagg", "threshold": 4},
        schedule={"kind": "two_phase", "batch": 48, "local_steps": 3, "tuning_rounds": 0},
    )
    release = next(releases(job, LENGTHS))
    assert (len(release.roster), release.quorum) == (5, 4)
    assert release.mechanism is not None
    assert release.event == release.mechanism.event(release.domain, 3) != release.mechanism.event(release.domain, 4)
    assert isinstance(release.event, SkellamRelease)


def test_a_moved_clip_norm_moves_the_domain_and_the_noise_and_not_the_cost(small_job: Callable[..., Job]) -> None:
    job = small_job(privacy=SILO_LEVEL, mechanism={"kind": "gaussian_local", "clipping": {"kind": "window"}})
    first, moved = (release_of(job, LENGTHS, Phase.PHASE_1, 0, norm) for norm in (0.0, 0.25))
    assert (first.domain.bound, moved.domain.bound) == (0.5, 0.25)
    assert first.scheme.name != moved.scheme.name
    assert first.event == moved.event
