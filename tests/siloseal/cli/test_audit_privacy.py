"""`siloseal audit privacy` as a person uses it: on the jobs of the repository, and on what cannot be audited.

The steps are so few that guesses alone cannot mean *broken*: 20 right ones of 20 come too often for that. The size of noise and of
samples can, by chance once in a million parts.
"""

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from siloseal.cli.app import main
from siloseal.cli.audit_privacy import BROKEN, as_document, as_table
from siloseal.federation.privacy.accounting import Accounting
from siloseal.federation.privacy.events import SampledGaussianSteps
from siloseal.federation.privacy.guarantee import ZERO_OUT, Guarantee
from siloseal.privacy_audit.attackers import LOW_BITS
from siloseal.privacy_audit.finding import BookedAs, Finding
from siloseal.privacy_audit.guesses import Guesses
from siloseal.privacy_audit.noise_size import NoiseSize
from siloseal.privacy_audit.sample_size import SampleSize
from siloseal.report.terminal import as_text, print_table

CONFIGS = Path(__file__).parents[3] / "configs"
WHOM = Guarantee("one training task", "noise")
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
    assert {finding["verdict"] for finding in found} <= {"sound", "not tested"}
    assert not any(finding["interrupted"] for finding in found)
    assert all(finding["accountant"] and finding["unit"] and finding["relation"] for finding in found)
    for part in parts:
        assert any(part in finding["part"] for finding in found)


def test_what_is_audited_is_told_from_what_is_booked(audit: Call) -> None:
    code, out, _ = audit(str(CONFIGS / "few-shot.yaml"), "--steps", "2", "--json")
    found = json.loads(out)[-1]
    assert code == 0
    assert found["audited_event"] != found["booked_event"]
    assert found["booked_times"] == 1
    assert (found["unit"], found["relation"]) == ("one example", ZERO_OUT)


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


def finding(steps: int, right: int, attacker: str = "one") -> Finding:
    guesses = Guesses({attacker: 0.6}, (steps,))
    for number in range(steps):
        guesses.add(True, {attacker: number < right})
    return Finding("steps", SampledGaussianSteps(1.0, 2.0, 1), guesses, None, float("inf"), 1.0, 1e-5, 2.0)


def broken() -> Finding:
    return finding(500, 500)


def few(steps: int, attacker: str = "one") -> Finding:
    return finding(steps, steps // 2, attacker)


SILO = """
name: north
aggregator: {host: localhost, port: 8443}
tls: {certificate: silo.crt, key: silo.key, authority: ca.crt}
identity: identity.key
roster: roster.yaml
state: state
data: {kind: digits}
policy: {largest_epsilon: 1, largest_delta: 1e-9, fewest_silos: 9, secure_sums: [ckks], privacy: [none]}
"""


def returned(monkeypatch: pytest.MonkeyPatch, *found: Finding, interrupted: bool = False) -> None:
    """Let the audit find this, and not end if it is `interrupted`."""

    def audit_job(*_: object, **__: object) -> Iterator[Finding]:
        yield from found
        if interrupted:
            raise KeyboardInterrupt

    monkeypatch.setattr("siloseal.privacy_audit.job.audit_job", audit_job)


def test_a_job_that_is_broken_ends_with_its_own_exit_code(audit: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    returned(monkeypatch, broken())
    code, out, _ = audit(str(CONFIGS / "analytics.yaml"), "--json")
    assert code == BROKEN
    assert BROKEN not in {0, 1, 2, 3, 130}
    (found,) = json.loads(out)
    assert (found["verdict"], found["proven_epsilon"], found["right"]) == ("broken", None, 500)


def test_what_is_broken_is_said_even_if_nothing_else_is(audit: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    returned(monkeypatch, broken(), few(500), few(3))
    code, out, error = audit(str(CONFIGS / "analytics.yaml"), "--quiet")
    assert (code, out) == (BROKEN, "")
    assert len(error.splitlines()) == 1
    assert "broken: steps" in error


def test_too_few_steps_are_not_called_sound_and_are_no_fault(audit: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    returned(monkeypatch, few(3))
    code, out, _ = audit(str(CONFIGS / "analytics.yaml"), "--json")
    assert code == 0
    (found,) = json.loads(out)
    assert (found["verdict"], found["shortfall_found_by_guesses"]) == ("not tested", None)


def test_an_interrupted_audit_shows_what_is_done_and_marks_it(audit: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    returned(monkeypatch, few(500), interrupted=True)
    code, out, error = audit(str(CONFIGS / "analytics.yaml"))
    assert code == 130
    assert "sound" in out
    assert "interrupted" in error
    code, out, _ = audit(str(CONFIGS / "analytics.yaml"), "--json")
    assert code == 130
    assert [row["interrupted"] for row in json.loads(out)] == [True]


def test_the_bar_of_a_part_is_full_when_it_is_over(audit: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = list[tuple[str, int, int]]()
    monkeypatch.setattr(
        "siloseal.cli.console.Console.advance", lambda _, part, __, done, total: shown.append((part, done, total))
    )
    returned(monkeypatch, few(300))
    audit(str(CONFIGS / "analytics.yaml"))
    assert shown[-1] == ("steps", 300, 300)


def test_a_job_of_a_deployment_is_audited_at_a_silo(audit: Call, tmp_path: Path) -> None:
    code, _, error = audit(str(CONFIGS / "hospitals.yaml"))
    assert code == 2
    assert "--silo" in error
    silo = tmp_path / "silo.yaml"
    silo.write_text(SILO, encoding="utf-8")
    code, out, _ = audit(str(CONFIGS / "hospitals.yaml"), "--silo", str(silo), "--steps", "2", "--json")
    assert code == 0
    assert [found["part"] for found in json.loads(out)][-1] == "steps of north, low bits"


def test_a_silos_file_is_refused_where_the_job_names_its_own_data(audit: Call, tmp_path: Path) -> None:
    (tmp_path / "silo.yaml").write_text(SILO, encoding="utf-8")
    code, out, _ = audit(str(CONFIGS / "digits-classifier.yaml"), "--silo", str(tmp_path / "silo.yaml"), "--steps", "2")
    assert (code, out) == (2, "")


def test_a_silos_file_is_of_no_use_for_queries(audit: Call, tmp_path: Path) -> None:
    (tmp_path / "silo.yaml").write_text(SILO, encoding="utf-8")
    code, _, _ = audit(str(CONFIGS / "analytics.yaml"), "--silo", str(tmp_path / "silo.yaml"))
    assert code == 2


def test_a_finding_is_shown_with_what_it_would_have_found() -> None:
    (row,) = as_table([broken()], 0, WHOM).rows
    assert row[:2] == ("steps", "broken")
    assert as_document(broken(), 0, WHOM)["shortfall_found_by_noise"] is None


def test_a_clip_that_was_not_tested_is_named() -> None:
    short = replace(broken(), canary_over_clip=1.1)
    said = as_table([short], 0, WHOM).note.removeprefix(as_table([broken()], 0, WHOM).note)
    assert "steps" in said
    assert "1.10 clip norms" in said
    assert as_document(short, 0, WHOM)["canary_over_clip"] == 1.1


def test_a_table_tells_what_is_found_from_nothing_and_from_what_is_not_known() -> None:
    """The last two columns: noise that was measured, and guesses."""
    measured = NoiseSize(1.0, 1.0, squares=10_000.0, entries=10_000)
    known, unknown = replace(few(500), noise=measured), few(500, attacker=LOW_BITS)
    rows = as_table([known, few(3), unknown], 0, WHOM).rows
    assert str(rows[0][-2]).endswith("%")
    assert [row[-2:] for row in rows[1:]] == [("", "nothing"), ("", "not known")]
    notes = [as_table([finding], 0, WHOM).note for finding in (few(500), few(3), unknown)]
    assert len(set(notes)) == 3


def test_a_table_of_queries_fits_eighty_columns() -> None:
    """One that does not is printed as a list."""
    rows = [replace(few(500), part="2. mean of brightness")]
    shown = as_text(lambda terminal: print_table(terminal, as_table(rows, 0, WHOM)))
    assert "│ mean" in shown or "│ 2. mean" in shown


def test_the_plans_that_were_left_out_are_counted() -> None:
    every, some = as_table([broken()], 0, WHOM).note, as_table([broken()], 2, WHOM).note
    assert some == f"{every} Plans of training steps that were left out, none with less noise than those audited: 2."
    assert as_document(broken(), 2, WHOM)["plans_left_out"] == 2


def test_what_the_booked_epsilon_protects_stands_below_the_table() -> None:
    one = replace(few(500), booked=BookedAs(SampledGaussianSteps(0.1, 2.0, 9), 1, Accounting.LOSSES))
    note = as_table([one], 0, WHOM).note
    assert "delta 1e-5 for one training task (zero-out), by privacy loss distributions" in note


def test_nothing_is_proven_by_steps_that_are_too_few() -> None:
    assert as_table([few(3)], 0, WHOM).rows[0][3] == "-"
    assert as_table([broken()], 0, WHOM).rows[0][3] == "unbounded"


def test_luck_is_explained_where_more_is_proven_than_booked() -> None:
    lucky, plain = replace(few(500), lower_bound=1.1), replace(few(500), lower_bound=0.9)
    notes = [as_table([each], 0, WHOM).note for each in (lucky, plain)]
    assert ["luck" in note for note in notes] == [True, False]


def test_samples_that_are_found_are_rounded_up() -> None:
    """20,000 steps of 100 units at a rate of a half are enough for samples that are 1 % larger."""
    sampled = SampleSize(0.5)
    for _ in range(20_000):
        sampled.add(50, units=100)
    note = as_table([replace(few(500), sample=sampled)], 0, WHOM).note
    share = float(note.partition("samples ")[2].partition(" %")[0])
    found = replace(few(500), sample=sampled).found_sampling_rate
    assert found is not None
    assert 0 <= share / 100 - (found / 0.5 - 1) < 0.001 + 1e-9
