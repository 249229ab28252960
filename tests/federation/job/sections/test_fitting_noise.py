"""Which noise goes with which guarantee, and what a job is told that combines others."""

import math
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import ValidationError

from siloseal.federation.errors import ConfigError
from siloseal.federation.job.job import Job
from siloseal.federation.job.phases import Phase
from siloseal.federation.job.planning import plan_silo
from siloseal.federation.job.releases import Lengths, release_of, releases
from siloseal.federation.privacy.accounting import epsilon_of
from siloseal.federation.privacy.mechanisms.calibration import Demand
from siloseal.federation.sums.session import RealDomain

SILO_LEVEL = {"kind": "silo_level", "epsilon": 8, "delta": 1e-4}
SECAGG = {"kind": "secagg"}
KERNEL_MEAN = {"kind": "kernel_mean", "epsilon": 4}
QUIET = {"kind": "two_phase", "batch": 48, "local_steps": 3, "tuning_rounds": 0}
HIDDEN = {**QUIET, "tuning_rounds": 2, "tuning_sum": SECAGG}

REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"privacy": {"kind": "none"}, "mechanism": {"kind": "ddg"}}, "mechanism.kind is ddg, but privacy.kind is none"),
    ({"privacy": SILO_LEVEL}, "privacy.kind is silo_level"),
    ({"privacy": SILO_LEVEL, "mechanism": {"kind": "none"}}, "mechanism.kind is none"),
    ({"warm_start": KERNEL_MEAN, "mechanism": {"kind": "none"}}, "mechanism.kind is none"),
    ({"privacy": SILO_LEVEL, "mechanism": {"kind": "gaussian_local"}, "warm_start": KERNEL_MEAN}, "warm_start.kind is kernel_mean"),
    ({"privacy": {**SILO_LEVEL, "delta": 0.09}, "mechanism": {"kind": "gaussian_local"},
      "silos": {"names": [f"silo{number}" for number in range(12)]}}, "privacy.delta is 0.09"),
    ({"mechanism": {"kind": "skellam"}, "secure_sum": SECAGG}, r"mechanism .*\(warm_start\)"),
    ({"warm_start": KERNEL_MEAN, "mechanism": {"kind": "ddg", "clipping": {"kind": "quantile"}}, "secure_sum": SECAGG},
     "mechanism.clipping is quantile"),
    ({"warm_start": KERNEL_MEAN, "mechanism": {"kind": "pbm"}, "secure_sum": SECAGG}, "mechanism.kind is pbm"),
    ({"warm_start": KERNEL_MEAN, "mechanism": {"kind": "ddg"}}, "secure_sum.kind is plain"),
    ({"privacy": SILO_LEVEL, "mechanism": {"kind": "pbm"}, "secure_sum": SECAGG},
     "schedule.tuning_sum.kind is plain"),
    ({"privacy": SILO_LEVEL, "mechanism": {"kind": "ddg", "clipping": {"kind": "window"}}, "secure_sum": SECAGG,
      "schedule": QUIET}, "fixed"),
    ({"privacy": SILO_LEVEL, "mechanism": {"kind": "ddg", "colluding": 2}, "secure_sum": SECAGG, "schedule": QUIET},
     "mechanism.colluding is 2, .* 1 of"),
    ({"privacy": SILO_LEVEL, "mechanism": {"kind": "gaussian_central"}, "secure_sum": {"kind": "ring"}},
     "mechanism.kind is gaussian_central"),
    ({"privacy": SILO_LEVEL, "mechanism": {"kind": "ddg", "colluding": 0}, "secure_sum": SECAGG}, "colluding"),
    ({"privacy": SILO_LEVEL, "mechanism": {"kind": "ddg"}, "secure_sum": {"kind": "secagg", "threshold": 2},
      "schedule": QUIET}, "mechanism.colluding is 1, .* 0 of"),
    ({"privacy": SILO_LEVEL, "mechanism": {"kind": "discrete"}}, "ddg"),
]  # fmt: skip


@pytest.mark.parametrize(("sections", "words"), REFUSED, ids=[words for _, words in REFUSED])
def test_what_does_not_go_together_is_refused_with_what_to_choose(
    small_job: Callable[..., Job], sections: dict[str, Any], words: str
) -> None:
    with pytest.raises(ValidationError, match=words):
        small_job(**sections)


@pytest.mark.parametrize(
    "kind", ["ddg", "skellam", "binomial", "pbm", "pbm_kashin", "gaussian_local", "gaussian_central"]
)
@pytest.mark.parametrize("schedule", [QUIET, HIDDEN], ids=["no tuning", "tuning through a hiding sum"])
def test_every_mechanism_goes_with_silo_level_privacy(
    small_job: Callable[..., Job], kind: str, schedule: dict[str, Any]
) -> None:
    job = small_job(privacy=SILO_LEVEL, mechanism={"kind": kind}, secure_sum=SECAGG, schedule=schedule)
    assert len(list(releases(job, Lengths(0, 1000)))) == (3 if schedule is HIDDEN else 1)


def test_rounds_that_ask_a_public_part_of_the_silos_are_not_amplified(small_job: Callable[..., Job]) -> None:
    """The busiest silo's rounds count in full: whom a round asks follows from the job's seed."""
    fedavg = {"kind": "fedavg", "rounds": 20, "fraction": 0.5, "local_epochs": 1, "batch": 50}
    job = small_job(privacy=SILO_LEVEL, mechanism={"kind": "gaussian_local"}, schedule=fedavg)
    lengths = Lengths(0, 1000)
    rounds = {silo: plan_silo(job, silo, 500, lengths).events()["fedavg"] for silo in job.silos.names}
    busiest = max(rounds.values(), key=len)
    assert 14 <= len(busiest) <= 20, "two of three silos a round"
    assert 7.8 < epsilon_of(busiest, 1e-4) <= 8


def test_more_silent_and_colluding_silos_than_can_be_spared_are_refused(small_job: Callable[..., Job]) -> None:
    """Of five silos four must stay, and two of them may collude: the noise of two is left to count on."""
    silos, noise = {"names": ["a", "b", "c", "d", "e"], "fewest": 4}, {"kind": "skellam", "colluding": 2}
    job = small_job(silos=silos, privacy=SILO_LEVEL, mechanism=noise, secure_sum=SECAGG, schedule=QUIET)
    assert plan_silo(job, "a", 500, Lengths(0, 1000)).events()["phase_1"]
    with pytest.raises(ConfigError, match=r"\b0 honest .*mechanism\.colluding"):
        Demand(epsilon=1.0, delta=1e-5, releases=1, silos=5, honest=0, length=10)


def test_too_few_bits_are_refused_with_how_many_it_takes(small_job: Callable[..., Job]) -> None:
    noise = {"kind": "ddg", "bits": 3}
    job = small_job(privacy=SILO_LEVEL, mechanism=noise, secure_sum=SECAGG, schedule=QUIET)
    with pytest.raises(ConfigError, match=r" 3 bits .* \d+ bits"):
        plan_silo(job, "north", 500, Lengths(0, 1000))


def test_a_sum_that_rounds_too_much_for_a_trusted_aggregators_noise_is_refused(small_job: Callable[..., Job]) -> None:
    """What the sum rounds away differs between neighbours, and nobody has noised it yet."""
    job = small_job(
        warm_start=KERNEL_MEAN,
        mechanism={"kind": "gaussian_central"},
        secure_sum={"kind": "secagg", "precision_bits": 12},
    )
    with pytest.raises(ConfigError, match=r"gaussian_central .*precision_bits .*largest_silo"):
        plan_silo(job, "north", 500, Lengths(40_010, 1000))


def mechanism_of(job: Job) -> Any:
    return release_of(job, Lengths(0, 1000), Phase.PHASE_1, 0).mechanism


@pytest.mark.parametrize(("kind", "wraps"), [("ckks", False), ("secagg", True), ("additive", True), ("ring", True)])
def test_entries_wrap_only_where_nobody_sees_a_total_before_it_is_reduced(
    small_job: Callable[..., Job], kind: str, wraps: bool
) -> None:
    job = small_job(privacy=SILO_LEVEL, mechanism={"kind": "ddg"}, secure_sum={"kind": kind}, schedule=QUIET)
    assert mechanism_of(job).wraps is wraps


def test_the_aggregators_noise_covers_what_the_sum_below_rounds(small_job: Callable[..., Job]) -> None:
    """Each of 1,000 entries is rounded, and neighbours may be rounded apart by a step."""
    for kind in ("plain", "secagg"):
        job = small_job(
            privacy=SILO_LEVEL, mechanism={"kind": "gaussian_central"}, secure_sum={"kind": kind}, schedule=QUIET
        )
        mechanism, grid = mechanism_of(job), job.secure_sum.build().grid(RealDomain(1000, 1.0))
        assert mechanism.sensitivity > mechanism.clip_norm + math.sqrt(1000) * grid


def test_the_noise_is_enough_for_the_phase_whose_sum_keeps_the_fewest_silos(small_job: Callable[..., Job]) -> None:
    silos = {"names": ["a", "b", "c", "d", "e"], "fewest": 4}
    tuning = {**QUIET, "tuning_rounds": 1, "tuning_sum": SECAGG}
    job = small_job(
        silos=silos, privacy=SILO_LEVEL, mechanism={"kind": "skellam"}, secure_sum={"kind": "additive"}, schedule=tuning
    )
    plan = plan_silo(job, "a", 500, Lengths(0, 1000))
    (first,), (second,) = plan.events().values()
    assert first.variance > second.variance, "all five stay in the first sum, four in the second"
    assert epsilon_of([second, second], 1e-4) <= 8
