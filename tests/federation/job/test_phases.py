"""What each silo does and pays in each phase, as both the plan and the silo compute it."""

from collections.abc import Callable

import pytest

from siloseal.federation.errors import ConfigError
from siloseal.federation.job.job import Job
from siloseal.federation.job.phases import participants, rounds_that_ask, training_steps
from siloseal.federation.job.planning import costs_of, epsilon_by_phase, plan_silo
from siloseal.federation.job.releases import Lengths, releases
from siloseal.federation.privacy.accounting import epsilon_of
from siloseal.federation.privacy.events import SampledGaussianSteps

LENGTHS = Lengths(kernel_mean=40_010, model=10_000)
KERNEL_MEAN = {"kind": "kernel_mean", "epsilon": 4}
FEDAVG = {"kind": "fedavg", "rounds": 40, "fraction": 0.5, "local_epochs": 2, "batch": 50}


@pytest.mark.parametrize(
    "warm_start", [{"kind": "none"}, KERNEL_MEAN, {"kind": "leader", "silo": "north", "steps": 40}]
)
def test_all_phases_together_use_the_budget_and_no_more(
    small_job: Callable[..., Job], warm_start: dict[str, object]
) -> None:
    job = small_job(warm_start=warm_start)
    plan = plan_silo(job, "north", 500, LENGTHS)
    everything = [event for events in plan.events().values() for event in events]
    assert 9.9 < epsilon_of(everything, 1e-5) <= 10
    assert epsilon_by_phase(plan, 1e-5)["total"] == epsilon_of(everything, 1e-5)


def test_only_the_leader_pays_for_the_leaders_start(small_job: Callable[..., Job]) -> None:
    job = small_job(warm_start={"kind": "leader", "silo": "north", "steps": 40})
    assert training_steps(job, "north", 500) == {"warm_start": 40, "phase_1": 60, "phase_2": 10}
    assert training_steps(job, "east", 500) == {"phase_1": 60, "phase_2": 10}
    leader, follower = (plan_silo(job, name, 500, LENGTHS).step_noise for name in ("north", "east"))
    assert leader is not None
    assert follower is not None
    assert leader > follower


def test_without_privacy_nothing_is_noised_and_nothing_is_charged(small_job: Callable[..., Job]) -> None:
    plan = plan_silo(small_job(warm_start=KERNEL_MEAN, privacy={"kind": "none"}), "north", 500, LENGTHS)
    assert (plan.step_noise, plan.events()) == (None, {})


def test_a_batch_larger_than_the_silo_is_the_whole_silo(small_job: Callable[..., Job]) -> None:
    assert plan_silo(small_job(), "north", 30, LENGTHS).sampling_rate == 1.0


def test_a_fixed_noise_is_taken_as_it_is_and_costs_what_it_costs(small_job: Callable[..., Job]) -> None:
    """Sigma 5, at a seventh sampling rate or so, stays far below the budget; the ledger counts what it is."""
    private = {"kind": "example_level", "epsilon": 10, "delta": 1e-5, "noise_multiplier": 5}
    plan = plan_silo(small_job(privacy=private), "north", 500, LENGTHS)
    assert plan.step_noise == 5
    assert epsilon_by_phase(plan, 1e-5)["total"] == pytest.approx(
        epsilon_of([SampledGaussianSteps(48 / 500, 5, 70)], 1e-5)
    )


@pytest.mark.parametrize("sigma", [0.005, 0.5])
def test_a_fixed_noise_that_costs_more_than_the_budget_is_refused(small_job: Callable[..., Job], sigma: float) -> None:
    private = {"kind": "example_level", "epsilon": 10, "delta": 1e-5, "noise_multiplier": sigma, "reserve_steps": 30}
    with pytest.raises(
        ConfigError, match=rf"privacy\.noise_multiplier is {sigma}, .*north.* 100 steps .*privacy\.epsilon"
    ):
        plan_silo(small_job(privacy=private), "north", 500, LENGTHS)


def test_a_warm_start_is_named_beside_the_steps_where_there_is_one(small_job: Callable[..., Job]) -> None:
    private = {"kind": "example_level", "epsilon": 10, "delta": 1e-5, "noise_multiplier": 0.01}
    for start, named in ({"kind": "none"}, False), (KERNEL_MEAN, True):
        with pytest.raises(ConfigError) as refused:
            plan_silo(small_job(privacy=private, warm_start=start), "north", 500, LENGTHS)
        assert ("warm start" in str(refused.value)) is named


def test_a_delta_that_would_publish_an_example_is_refused(small_job: Callable[..., Job]) -> None:
    job = small_job(privacy={"kind": "example_level", "epsilon": 10, "delta": 0.01})
    with pytest.raises(ConfigError, match=r"privacy\.delta is 0\.01, .*500 examples.* 1 / 500, "):
        plan_silo(job, "north", 500, LENGTHS)
    with pytest.raises(ConfigError, match=r"privacy\.delta .*100 examples.* 1 / 100, such as 0\.0094"):
        plan_silo(job, "north", 90, LENGTHS, examples=100)


def test_a_silo_larger_than_agreed_is_refused_before_it_spends_anything(small_job: Callable[..., Job]) -> None:
    with pytest.raises(ConfigError, match="largest_silo"):
        plan_silo(small_job(largest_silo=499), "north", 500, LENGTHS)


def test_a_budget_that_is_never_used_up_needs_next_to_no_noise(small_job: Callable[..., Job]) -> None:
    """One step on one of a hundred examples at a large delta: the accountant says epsilon 0, and nothing breaks."""
    job = small_job(
        privacy={"kind": "example_level", "epsilon": 0.05, "delta": 0.009},
        schedule={"kind": "two_phase", "batch": 1, "local_steps": 1, "tuning_rounds": 0},
    )
    plan = plan_silo(job, "north", 100, LENGTHS)
    assert epsilon_by_phase(plan, 0.009)["total"] <= 0.05


def test_fedavg_asks_the_same_public_part_of_the_silos_everywhere(small_job: Callable[..., Job]) -> None:
    job = small_job(schedule=FEDAVG)
    rounds = [participants(job, number) for number in range(1, 41)]
    assert rounds == [participants(job, number) for number in range(1, 41)]
    assert {len(silos) for silos in rounds} == {2}  # C = 0.5 of three, rounded up
    assert {silo for silos in rounds for silo in silos} == set(job.silos.names)
    joined = sum("north" in silos for silos in rounds)
    assert training_steps(job, "north", 500) == {"fedavg": joined * 20}  # E = 2 passes in batches of B = 50


def test_everyone_takes_part_in_the_two_phases(small_job: Callable[..., Job]) -> None:
    assert participants(small_job(), 1) == ("north", "east", "south")


def test_rounds_that_ask_a_silo_are_counted_as_they_are_drawn(small_job: Callable[..., Job]) -> None:
    schedule = {"kind": "fedavg", "rounds": 7, "fraction": 0.5, "batch": 16}
    job = small_job(schedule=schedule)
    for silo in job.silos.names:
        assert rounds_that_ask(job, silo) == sum(silo in participants(job, number) for number in range(1, 8))
    assert {rounds_that_ask(small_job(), silo) for silo in job.silos.names} == {small_job().schedule.tuning_rounds}


@pytest.mark.parametrize("fraction", [0.5, 1.0])
def test_a_silo_pays_for_the_releases_that_ask_it(small_job: Callable[..., Job], fraction: float) -> None:
    job = small_job(
        schedule={"kind": "fedavg", "rounds": 5, "fraction": fraction, "batch": 16},
        privacy={"kind": "silo_level", "epsilon": 8, "delta": 1e-4},
        mechanism={"kind": "gaussian_central"},
        warm_start={"kind": "none"},
    )
    lengths = Lengths(0, 100)
    for silo in job.silos.names:
        events = [release.event for release in releases(job, lengths) if silo in release.roster]
        assert costs_of(job, silo, lengths) == ({"fedavg": events} if events else {})
