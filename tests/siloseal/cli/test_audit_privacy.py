"""`siloseal audit privacy` as a person uses it: on the jobs of the repository, and on what cannot be audited.

The steps are so few that no verdict can be *broken* by chance: 20 right guesses of 20 come too often for that.
"""

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from siloseal.cli.app import main
from siloseal.cli.audit_privacy import as_document, as_table
from siloseal.federation.privacy.events import SampledGaussianSteps
from siloseal.privacy_audit.finding import Finding
from siloseal.privacy_audit.guesses import Guesses

CONFIGS = Path(__file__).parents[3] / "configs"
Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def audit(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Call:
    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["siloseal", "audit", "privacy", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        shown = capsys.readouterr()
        return int(ended.value.code or 0), shown.out, shown.err

    return call


@pytest.mark.parametrize(
    ("config", "parts"),
    [
        ("digits-classifier.yaml", ["every unit in each", "sampled as booked", "low bits"]),
        ("few-shot.yaml", ["every unit in each", "sampled as booked", "low bits"]),
        ("analytics.yaml", ["histogram of label", "mean of brightness", "quantiles of brightness"]),
    ],
)
def test_the_jobs_of_the_repository_are_audited(audit: Call, config: str, parts: list[str]) -> None:
    code, out, _ = audit(str(CONFIGS / config), "--steps", "20", "--json")
    found = json.loads(out)
    assert code == 0
    assert {finding["steps"] for finding in found} == {20}
    assert {finding["verdict"] for finding in found} == {"sound"}
    for part in parts:
        assert any(part in finding["part"] for finding in found)


def test_a_person_sees_a_table(audit: Call) -> None:
    code, out, _ = audit(str(CONFIGS / "digits.yaml"), "--steps", "15")
    assert code == 0
    assert "kernel" in out  # the rest of the row may stand below
    assert "sound" in out


@pytest.mark.parametrize("config", ["digits-fedavg.yaml", "averages.yaml", "no-such-file.yaml"])
def test_what_cannot_be_audited_is_an_error(audit: Call, config: str) -> None:
    code, out, error = audit(str(CONFIGS / config))
    assert (code, out) == (2, "")
    assert "error" in error


def test_no_steps_are_refused(audit: Call) -> None:
    code, _, error = audit(str(CONFIGS / "digits.yaml"), "--steps", "0")
    assert code == 2
    assert "--steps" in error


def broken() -> Finding:
    guesses = Guesses({"one": 0.6}, (500,))
    for _ in range(500):
        guesses.add(True, {"one": True})
    return Finding("steps", SampledGaussianSteps(1.0, 2.0, 1), guesses, None, float("inf"), 1.0, 1e-5, 2.0)


def test_a_job_that_is_broken_ends_with_its_own_exit_code(audit: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("siloseal.privacy_audit.job.audit_job", lambda *_, **__: iter([broken()]))
    code, out, _ = audit(str(CONFIGS / "analytics.yaml"), "--json")
    assert code == 1
    (found,) = json.loads(out)
    assert (found["verdict"], found["proven_epsilon"], found["right"]) == ("broken", None, 500)


def test_a_finding_is_shown_with_what_it_would_have_found() -> None:
    (row,) = as_table([broken()], 0).rows
    assert row[:2] == ("steps", "broken")
    assert as_document(broken(), 0)["shortfall_found_by_noise"] is None


def test_a_clip_that_was_not_tested_is_named() -> None:
    short = replace(broken(), canary_over_clip=1.1)
    said = as_table([short], 0).note.removeprefix(as_table([broken()], 0).note)
    assert "steps" in said
    assert "1.10 clip norms" in said
    assert as_document(short, 0)["canary_over_clip"] == 1.1


def test_the_plans_that_were_left_out_are_counted() -> None:
    every, some = as_table([broken()], 0).note, as_table([broken()], 2).note
    assert some == f"{every} Plans of training steps that were left out, none with less noise than those audited: 2."
    assert as_document(broken(), 2)["plans_left_out"] == 2
