"""Audits of whole jobs: which parts they have, and which jobs promise nothing that could be audited."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from siloseal.federation.analytics.any_job import load_any_job
from siloseal.federation.errors import ConfigError
from siloseal.federation.job.job import Job
from siloseal.models.building import vector_lengths
from siloseal.privacy_audit.finding import Finding
from siloseal.privacy_audit.holdings import Holdings
from siloseal.privacy_audit.job import LOW_BIT_STEPS, audit_job, parts_of, plans_left_out, require_auditable
from siloseal.privacy_audit.training_parts import MOST_PLANS, distinct_steps
from siloseal.runs.simulation import declared_labels, simulated_data
from siloseal.silo.data.examples import Examples

CONFIGS = Path(__file__).parents[3] / "configs"


def holdings_of(job: Job) -> Holdings:
    parts = simulated_data(job).parts
    return Holdings(parts, {name: declared_labels(job, part) for name, part in parts.items()})


def quietly(part: str, done: int, total: int) -> None:
    """Show nothing."""


def audited(job: Job, steps: int) -> list[Finding]:
    return list(audit_job(job, holdings_of(job), steps=steps, seconds=60.0, tell=quietly))


def test_a_training_job_has_its_kernel_mean_and_its_steps_audited(small_job: Callable[..., Job]) -> None:
    job = small_job(warm_start={"kind": "kernel_mean", "epsilon": 5, "frequencies": 20, "fit_steps": 10})
    names = [part.name for part in parts_of(job, holdings_of(job))]
    assert names[0] == "kernel mean of warm start"
    assert [name.partition(", ")[2] for name in names[1:4]] == ["every unit in each", "sampled as booked", "low bits"]


def test_each_part_takes_its_steps_and_tells_how_far_it_is(small_job: Callable[..., Job]) -> None:
    """Of 30 steps nothing is called broken: 30 guesses cannot be right so often."""
    job, told = small_job(), list[tuple[str, int, int]]()
    found = list(audit_job(job, holdings_of(job), steps=30, seconds=60.0, tell=lambda *progress: told.append(progress)))
    assert {finding.guesses.steps for finding in found} == {30}
    assert {part for part, _, _ in told} == {finding.part for finding in found}
    assert all(finding.verdict != "broken" for finding in found)
    assert LOW_BIT_STEPS > 30


def test_privacy_for_whole_silos_has_its_updates_audited(small_job: Callable[..., Job]) -> None:
    job = small_job(
        privacy={"kind": "silo_level", "epsilon": 8, "delta": 1e-4, "clip_norm": 1.0},
        mechanism={"kind": "gaussian_local"},
        warm_start={"kind": "none"},
    )
    found = audited(job, 30)
    assert all(finding.part.startswith("update of") for finding in found)
    assert all(finding.verdict == "sound" for finding in found)


def test_silos_of_one_size_share_a_plan(small_job: Callable[..., Job]) -> None:
    job = small_job()
    holdings = holdings_of(job)
    part = next(iter(holdings.parts.values()))
    lengths = vector_lengths(job, part.shape, part.classes)
    assert len(distinct_steps(job, {"one": part, "other": part}, lengths)) == 1


def test_a_part_says_which_other_silos_have_its_plan(small_job: Callable[..., Job]) -> None:
    job = small_job(warm_start={"kind": "none"})
    holdings = holdings_of(job)
    part, labels = (next(iter(found.values())) for found in (holdings.parts, holdings.labels))
    smaller = part.select(torch.arange(len(part) // 2))

    def named(*parts: Examples) -> list[str]:
        names = ["north", "south", "east", "west"][: len(parts)]
        found = Holdings(dict(zip(names, parts, strict=True)), dict.fromkeys(names, labels))
        return sorted({one.name.partition(",")[0] for one in parts_of(job, found)})

    assert named(part) == ["steps of north"]
    assert named(part, smaller, part) == ["steps of north (and east: same plan)", "steps of south"]
    assert named(part, part, part, part) == ["steps of north (and 3 others: same plan)"]


def test_silos_of_many_sizes_have_some_of_their_plans_left_out(small_job: Callable[..., Job]) -> None:
    job = small_job()
    holdings = holdings_of(job)
    (name, part), *_ = holdings.parts.items()
    sizes = [len(part) - 5 * smaller for smaller in range(MOST_PLANS + 2)]
    parts = {f"{name}{size}": part.select(torch.arange(size)) for size in sizes}
    many = Holdings(parts, dict.fromkeys(parts, holdings.labels[name]))
    assert plans_left_out(job, many) == 2
    assert plans_left_out(job, None) == 0


def test_a_training_job_without_its_silos_shapes_is_refused(small_job: Callable[..., Job]) -> None:
    with pytest.raises(ConfigError):
        list(parts_of(small_job(), None))


@pytest.mark.parametrize("name", ["digits-fedavg.yaml", "averages.yaml"])
def test_a_job_that_promises_nothing_is_refused(name: str) -> None:
    with pytest.raises(ConfigError):
        require_auditable(load_any_job(CONFIGS / name))
