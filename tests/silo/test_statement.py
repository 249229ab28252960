"""The one line that a silo says of its run, with what one example costs where the protected unit is another."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from siloseal.federation.job.job import Job
from siloseal.federation.privacy.accounting import epsilon_of
from siloseal.federation.privacy.epsilon import epsilon_text
from siloseal.federation.privacy.events import GaussianRelease, exchanged
from siloseal.federation.privacy.guarantee import NO_GUARANTEE, for_one_example
from siloseal.silo.allowance import Allowance, Spent
from siloseal.silo.config import Policy
from siloseal.silo.ledger import open_ledger
from siloseal.silo.statement import spent_of_policy, spent_on_one_example, statement_of

SILO_LEVEL = {"privacy": {"kind": "silo_level", "epsilon": 8, "delta": 1e-3}, "mechanism": {"kind": "gaussian_local"}}
CHARGE = GaussianRelease(5.0)


def spent_and_said(job: Job, folder: Path) -> tuple[float | None, str]:
    ledger = open_ledger(job, "north", folder, worked_before=False)
    assert ledger is not None
    with ledger:
        ledger.charge(CHARGE, phase="phase_1")
        return spent_on_one_example(job, ledger), statement_of(job, "north", ledger)


def test_a_silo_level_statement_ends_with_epsilon_and_delta_of_one_example(
    small_job: Callable[..., Job], tmp_path: Path
) -> None:
    spent, said = spent_and_said(small_job(**SILO_LEVEL), tmp_path)
    assert spent == pytest.approx(epsilon_of([exchanged(CHARGE)], 1e-3))
    assert said.endswith(f"{for_one_example(spent, 1e-3)[1:]}.")


def test_a_statement_about_examples_has_one_epsilon(small_job: Callable[..., Job], tmp_path: Path) -> None:
    spent, said = spent_and_said(small_job(), tmp_path)
    assert spent is None
    assert "policies" not in said


def test_without_a_ledger_there_is_neither(small_job: Callable[..., Job]) -> None:
    job = small_job(privacy={"kind": "none"})
    assert spent_on_one_example(job, None) is None
    assert statement_of(job, "north", None) == f"north: {NO_GUARANTEE}"


def test_the_silo_itself_reads_how_much_of_its_policy_all_its_runs_have_spent(
    small_job: Callable[..., Job], tmp_path: Path
) -> None:
    """Three releases, two of them of earlier runs, counted as exchanges at the policy's delta."""
    job = small_job(**SILO_LEVEL)
    policy = Policy.model_validate(
        {"largest_epsilon": 40, "largest_delta": 1e-2, "fewest_silos": 2, "secure_sums": ["plain"],
         "privacy": ["silo_level"]}
    )  # fmt: skip
    earlier = Spent((exchanged(CHARGE), exchanged(CHARGE)))
    allowance = Allowance(policy, job, earlier, (CHARGE,))
    ledger = open_ledger(job, "north", tmp_path, worked_before=False, allowance=allowance)
    assert ledger is not None
    with ledger:
        ledger.charge(CHARGE, phase="phase_1")
        words = spent_of_policy(job, ledger) or ""
    together = epsilon_text(epsilon_of([exchanged(CHARGE)] * 3, 1e-2))
    assert re.search(rf"epsilon {re.escape(together)} of 40 at delta 0\.01 ", words)


def test_a_simulated_silo_has_no_policy_to_spend(small_job: Callable[..., Job], tmp_path: Path) -> None:
    job = small_job()
    ledger = open_ledger(job, "north", tmp_path, worked_before=False)
    assert ledger is not None
    with ledger:
        assert spent_of_policy(job, ledger) is None
    assert spent_of_policy(job, None) is None


def test_what_nothing_bounds_has_its_delta_and_no_number() -> None:
    assert for_one_example(float("inf"), 0.099).endswith("0.099")
    assert "inf" not in for_one_example(float("inf"), 0.099)
