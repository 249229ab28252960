"""`siloseal audit` as a person uses it, and what it says about a log that was touched."""

import json
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from siloseal.cli.app import main
from siloseal.federation.records.audit import AuditLog, head_path, verify_audit

TIME = "2026-03-04T05:06:07.000Z"
Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def siloseal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Call:
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["siloseal", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        shown = capsys.readouterr()
        return int(ended.value.code or 0), shown.out, shown.err

    return call


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "audit.jsonl"
    with AuditLog(path, who="north", clock=lambda: datetime.fromisoformat(TIME)) as log:
        log.record("joined", session="a1b2", silos=["north", "south"])
        log.record("charged", epsilon=0.5, phase="phase_1", note="two words", first=True, error=None)
        log.record("refused", reason="\x1b[2Jgone")
    return path


def test_verify_says_in_one_line_that_the_log_is_unbroken(siloseal: Call, log: Path) -> None:
    chain = verify_audit(log).last_chain
    assert siloseal("audit", "verify", "audit.jsonl") == (
        0, f"audit.jsonl: 3 lines from {TIME} to {TIME}, unbroken, head {chain}\n", "",
    )  # fmt: skip
    shown = json.loads(siloseal("audit", "verify", "audit.jsonl", "--json")[1])
    assert shown == {
        "file": "audit.jsonl", "lines": 3, "first_time": TIME, "last_time": TIME, "head": chain,
        "last_line_in_head": True, "torn_bytes": 0,
    }  # fmt: skip


def test_verify_says_when_something_behind_the_last_line_is_no_line(siloseal: Call, log: Path) -> None:
    with log.open("ab") as file:
        file.write(b"approved")
    code, out, _ = siloseal("audit", "verify", "audit.jsonl")
    assert (code, "8 bytes" in out) == (0, True)
    assert json.loads(siloseal("audit", "verify", "audit.jsonl", "--json")[1])["torn_bytes"] == 8


def test_verify_says_when_the_head_does_not_know_the_last_line(siloseal: Call, log: Path) -> None:
    older = head_path(log).read_bytes()
    with AuditLog(log, who="north") as again:
        again.record("left")
    head_path(log).write_bytes(older)
    code, out, error = siloseal("audit", "verify", "audit.jsonl")
    assert (code, error) == (0, "")
    first, second = out.splitlines()
    assert first.startswith("audit.jsonl: 4 lines")
    assert "audit.jsonl.head" in second
    code, out, _ = siloseal("audit", "verify", "audit.jsonl", "--json")
    assert (code, json.loads(out)["last_line_in_head"]) == (0, False)


def test_verify_works_while_the_log_is_open(siloseal: Call, tmp_path: Path) -> None:
    with AuditLog(tmp_path / "open.jsonl", who="north") as log:
        assert siloseal("audit", "verify", "open.jsonl") == (0, "open.jsonl: no lines yet\n", "")
        log.record("started")
        assert siloseal("audit", "verify", "open.jsonl")[1].startswith("open.jsonl: 1 line from 20")


def test_show_prints_the_lines_and_nothing_that_a_terminal_would_obey(siloseal: Call, log: Path) -> None:
    code, out, _ = siloseal("audit", "show", "audit.jsonl")
    assert (code, out.splitlines()) == (0, [
        f'{TIME}  north  joined  session=a1b2 silos=["north", "south"]',
        f'{TIME}  north  charged  epsilon=0.5 phase=phase_1 note="two words" first=true error=null',
        rf'{TIME}  north  refused  reason="\u001b[2Jgone"',
    ])  # fmt: skip
    code, out, _ = siloseal("audit", "show", "audit.jsonl", "--event", "joined")
    assert (code, len(out.splitlines())) == (0, 1)


@pytest.mark.parametrize("command", ["verify", "show"])
def test_a_damaged_log_ends_in_an_error_and_no_line_is_shown(siloseal: Call, log: Path, command: str) -> None:
    log.write_bytes(log.read_bytes().replace(b"0.5", b"0.1"))
    code, out, error = siloseal("audit", command, "audit.jsonl")
    assert (code, out, "error: audit.jsonl, line 2:" in error) == (1, "", True)
    head_path(log).unlink()
    assert "audit.jsonl.head" in siloseal("audit", command, "audit.jsonl")[2]


@pytest.mark.parametrize("content", ["<!doctype html>\n", '{"n": 1}\n', "[]\n", "\xff\n"])
def test_another_file_is_not_taken_for_a_log_whose_head_is_lost(siloseal: Call, tmp_path: Path, content: str) -> None:
    (tmp_path / "report.html").write_text(content, encoding="latin-1")
    code, _, error = siloseal("audit", "verify", "report.html")
    assert (code, "report.html" in error, "report.html.head" in error) == (1, True, False)


def test_an_event_that_no_line_has_ends_in_an_error_that_names_those_there_are(siloseal: Call, log: Path) -> None:
    code, out, error = siloseal("audit", "show", str(log), "--event", "nope")
    assert (code, out) == (1, "")
    assert all(event in error for event in ("nope", "joined", "charged", "refused"))


def test_an_error_is_one_json_document_for_a_program(siloseal: Call, log: Path) -> None:
    log.write_bytes(b"")
    code, out, _ = siloseal("audit", "verify", "audit.jsonl", "--json")
    assert (code, "audit.jsonl.head counts 3" in json.loads(out)["error"]) == (1, True)


def test_a_missing_log_and_a_folder_get_a_sentence(siloseal: Call, tmp_path: Path) -> None:
    code, out, error = siloseal("audit", "verify", "missing.jsonl")
    assert (code, out, "missing.jsonl" in error) == (1, "", True)
    code, out, error = siloseal("audit", "verify", ".")
    assert (code, out, "Traceback" in error) == (1, "", False)


def test_the_command_runs_in_a_process_of_its_own(log: Path) -> None:
    command = [sys.executable, "-m", "siloseal", "audit", "verify", str(log)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert (ran.returncode, "3 lines" in ran.stdout) == (0, True), ran.stderr
