"""The one line that a silo says of its run, with what one example costs where the protected unit is another."""

from collections.abc import Callable
from pathlib import Path

import pytest

from siloseal.federation.job.job import Job
from siloseal.federation.privacy.accounting import epsilon_of
from siloseal.federation.privacy.events import GaussianRelease, exchanged
from siloseal.federation.privacy.guarantee import NO_GUARANTEE, for_one_example
from siloseal.silo.ledger import open_ledger
from siloseal.silo.statement import spent_on_one_example, statement_of

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


def test_what_nothing_bounds_has_its_delta_and_no_number() -> None:
    assert for_one_example(float("inf"), 0.099).endswith("0.099")
    assert "inf" not in for_one_example(float("inf"), 0.099)
