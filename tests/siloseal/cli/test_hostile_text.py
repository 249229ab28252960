"""Text of other parties in a terminal: it is shown, and the terminal obeys none of it."""

import json
import re

import pytest

from siloseal.aggregator.request_queue import RequestQueue
from siloseal.cli.console import Console
from siloseal.cli.status_table import print_status
from siloseal.federation.errors import MessageError, RunError
from siloseal.federation.run_events.experimenter import ProcessStarted, RunOpened
from siloseal.federation.run_events.silo import DialDelayed, TrainingProgressed
from siloseal.federation.run_events.stream import PartySaid, unheard
from siloseal.federation.transport.wire import consortium_pb2 as pb
from siloseal.run_folder.run import Run
from siloseal.runs.progress import ProgressView
from siloseal.runs.status import as_document

HOSTILE = "\x1b]0;pwned\x07\x1b[2J\x1b[31mall is well\u202e\x9b2J\u2066\r"
OWN = r"\x1b\[[0-9;]*[mABKhlJG]|\x1b\[\?25[hl]"
"""Sequences with which rich itself colours text and redraws bars, in a terminal."""


def hostile_status(number: float) -> pb.StatusReport:
    silo = pb.SiloStatus(silo=HOSTILE, trouble=HOSTILE, epsilon_spent=number, last_seen=number)
    return pb.StatusReport(job=HOSTILE, phase=HOSTILE, asked=HOSTILE, notes=[HOSTILE], silos=[silo], seconds=number)


def require_tame(out: str, shown: int) -> None:
    """The words are there, and beside ends of lines nothing that is no letter."""
    assert [letter for letter in out if not letter.isprintable() and letter != "\n"] == []
    assert out.count("all is well") == shown


@pytest.mark.parametrize("number", [0.0, 1e308, -1e308, float("inf"), float("nan"), 5e-324], ids=str)
def test_a_status_from_an_aggregator_that_lies(number: float, capsys: pytest.CaptureFixture[str]) -> None:
    """Numbers of it may be any, too."""
    print_status(hostile_status(number))
    out = capsys.readouterr().out
    assert [letter for letter in out if not letter.isprintable() and letter != "\n"] == []
    assert "all is well" in out
    assert "\x1b" not in json.dumps(as_document(hostile_status(number)))


def test_the_trouble_with_a_silo_that_calls_itself_otherwise() -> None:
    queue = RequestQueue(("north",), unheard)
    queue.note_trouble("north", MessageError(f"north was asked, but {HOSTILE} answered"))
    require_tame(queue.silos["north"].trouble, 1)


def test_an_error_that_quotes_somebody(capsys: pytest.CaptureFixture[str]) -> None:
    Console(quiet=True, json=False).error(RunError(f"found {HOSTILE}; ask {HOSTILE}"))
    require_tame(capsys.readouterr().err, 2)


def test_warnings_of_a_run(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    run.summary.warnings.append(HOSTILE)
    Console(quiet=False, json=False).final(run)
    require_tame(capsys.readouterr().err, 1)


def watch(view: ProgressView) -> None:
    with view:
        view.show(RunOpened(HOSTILE, "folder", False, {"phase_1": 2}))
        view.show(PartySaid(HOSTILE, ProcessStarted()))
        view.show(PartySaid("north", DialDelayed(HOSTILE, 1.0)))
        view.stage(HOSTILE, 2)
        view.show(TrainingProgressed(HOSTILE, "phase_1", 1, 2, {}))
        view.advance("phase_1", None, 1, 2, HOSTILE)


def test_progress_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    watch(ProgressView())
    err = capsys.readouterr().err
    assert [letter for letter in err if not letter.isprintable() and letter != "\n"] == []
    assert "all is well" in err


def test_progress_in_a_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    watch(ProgressView())
    err = re.sub(OWN, "", capsys.readouterr().err)
    assert {letter for letter in err if not letter.isprintable()} <= {"\n", "\r"}
    assert "all is well" in err
