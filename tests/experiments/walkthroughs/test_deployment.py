"""A deployment in a temporary folder: its files are valid, it says what is wrong, and it leaves nothing."""

from types import SimpleNamespace

import pytest

from siloseal.experiments.walkthroughs import deployment
from siloseal.experiments.walkthroughs.deployment import Deployment
from siloseal.experiments.walkthroughs.small_jobs import small_job
from siloseal.federation.errors import RunError
from siloseal.federation.run_events.silo import JobAccepted, RunLeft
from siloseal.provisioning.kits import provision

JOB = small_job("hospitals.yaml", {"schedule": {"local_steps": 5}})


def test_a_small_job_changes_the_fields_that_are_named_and_keeps_the_others() -> None:
    assert (JOB.schedule.local_steps, JOB.schedule.tuning_rounds) == (5, 3)  # type: ignore[union-attr]
    assert JOB.name == "hospitals"


def test_the_consortium_can_be_provisioned_and_is_gone_when_it_closes() -> None:
    hospitals = Deployment(JOB)
    provision(hospitals.consortium, hospitals.kits)
    assert all((hospitals.kits / name / "silo.yaml").exists() for name in hospitals.names)
    hospitals.close_if_failed(SimpleNamespace(success=True))
    assert hospitals.folder.exists()
    hospitals.close_if_failed(SimpleNamespace(success=False))
    assert not hospitals.folder.exists()
    hospitals.close()  # a second time is no error


def test_a_party_that_ends_badly_is_reported_with_its_last_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also to whoever begins to wait only afterwards: it is told at once."""
    hospitals = Deployment(JOB)
    try:
        hospitals.start("north")  # it has no kit
        with pytest.raises(RunError, match=r"silo\.yaml"):
            hospitals.wait_for("north", JobAccepted)
        monkeypatch.setattr(deployment, "PATIENCE_SECONDS", 0.0)
        with pytest.raises(RunError, match=r"silo\.yaml"):
            hospitals.wait_for("north", RunLeft)
    finally:
        hospitals.close()


def test_waiting_for_whoever_says_nothing_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deployment, "PATIENCE_SECONDS", 0.05)
    hospitals = Deployment(JOB)
    with pytest.raises(RunError, match=r"north .*JobAccepted"):
        hospitals.wait_for("north", JobAccepted)
    hospitals.close()
