"""The terminal: results on standard output, everything else on standard error."""

import itertools
import json
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from siloseal.cli.console import Console
from siloseal.federation.errors import RunError
from siloseal.federation.run_events.aggregator import FittingProgressed, RequestSent, StageBegan
from siloseal.federation.run_events.experimenter import (
    ComparisonProgressed,
    ModelScored,
    ProcessEnded,
    ProcessStarted,
    RunOpened,
)
from siloseal.federation.run_events.silo import TrainingProgressed
from siloseal.federation.run_events.stream import PartySaid, RunEvent
from siloseal.report import wording
from siloseal.report.sentences import upload_alerts
from siloseal.run_folder.run import Run
from siloseal.run_folder.summary import RunSummary
from siloseal.runs.printable_run import printable_run


def work(console: Console, run: Run) -> None:
    with console:
        console.stage("phase_1", total=2)
        console.advance("phase_1", "north", 1, 2, note="loss 0.5")
        console.advance("phase_1", None, 2, 2)
        console.say("keeping [all] of it")
        console.final(run)


def test_json_leaves_one_document_on_standard_output(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    work(Console(quiet=False, json=True), run)
    streams = capsys.readouterr()
    assert RunSummary.model_validate(json.loads(streams.out)) == run.summary
    assert "Phase 1 ..." in streams.err
    assert "keeping [all] of it" in streams.err


def test_quiet_says_nothing(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    work(Console(quiet=True, json=False), run)
    assert capsys.readouterr() == ("", "")


def test_quiet_json_still_gives_the_result(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    work(Console(quiet=True, json=True), run)
    streams = capsys.readouterr()
    assert json.loads(streams.out)["epsilon"] == 6.418
    assert streams.err == ""


def test_the_table_holds_stages_silos_and_the_way_to_the_report(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    work(Console(quiet=False, json=False), run)
    out = capsys.readouterr().out
    for text in ("Phase 1 average", "0.643", "Final", "0.712", "Best silo alone", "0.463", "Real data", "0.968",
                 "north", "1,000", "0-4, 7", "6.42", "0.521", "delta 1e-5", "24 MB", "3 min 07 s",
                 "/run/report.html"):  # fmt: skip
        assert text in out, text


def test_a_run_printed_in_python_is_what_the_terminal_shows(
    run: Run, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    Console(quiet=False, json=False).final(run)
    assert str(printable_run(run)).splitlines() == [line.rstrip() for line in capsys.readouterr().out.splitlines()]


def test_the_table_says_what_the_aggregator_could_read(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    work(Console(quiet=False, json=False), run)
    (alert,) = upload_alerts(run.protection)
    assert "generator of each silo" in alert.text
    assert f"{alert.title} {alert.text}\n" in capsys.readouterr().out


def test_the_table_says_where_the_aggregator_could_read_nothing(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    hidden = tuple(upload for upload in run.protection if upload.hidden_from_aggregator)
    work(Console(quiet=False, json=False), replace(run, metrics=hidden))
    out = capsys.readouterr().out
    assert "\nHidden: " in out
    assert "Not hidden" not in out


def test_privacy_off_is_said_in_the_table(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    summary = run.summary.model_copy(update={"epsilon": None, "delta": None})
    work(Console(quiet=False, json=False), replace(run, summary=summary))
    assert "epsilon no guarantee ·" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("labels", "shown"),
    [([], "none"), ([7, 0, 1, 1], "0-1, 7"), (list(range(80)), "0-79"), (list(range(0, 6, 2)), "0, 2, 4"),
     (list(range(0, 20, 2)), "0, 2, 4, 6, 8, 10, 12, 14, 16, 18"), (list(range(0, 22, 2)), "11 of 0-20"),
     (list(range(1, 4001, 2)), "2,000 of 1-3999")],
)  # fmt: skip
def test_classes_are_listed_while_a_list_can_be_read(labels: list[int], shown: str) -> None:
    assert wording.classes(labels) == shown


@pytest.mark.parametrize("quiet", [False, True])
def test_each_error_is_one_line_and_a_hint_even_when_quiet(quiet: bool, capsys: pytest.CaptureFixture[str]) -> None:
    Console(quiet=quiet, json=True).error(RunError("found [b] no folder " + "x" * 300 + "; give one; please\nand more"))
    streams = capsys.readouterr()
    assert streams.out == ""
    lines = ["error: found [b] no folder " + "x" * 300, "  hint: give one; please", "error: and more"]
    assert streams.err.splitlines() == lines


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes rich draw as in a terminal of 120 columns."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)


@pytest.mark.usefixtures("terminal")
def test_bars_name_stages_and_silos_with_time_and_note(capsys: pytest.CaptureFixture[str]) -> None:
    with Console(quiet=False, json=True) as console:
        console.stage("warm_start", total=3)
        console.advance("warm_start", "[red]north", 3, 3, note="[note]")
        console.advance("warm_start", None, 3, 3)
    err = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", capsys.readouterr().err)
    assert re.search(r"✓ Warm start .*100% 0:00:00", err)
    assert re.search(r"✓ +\[red\]north .*100% .*\[note\]", err)


@pytest.mark.usefixtures("terminal")
def test_the_next_stage_clears_the_silos_of_the_last(capsys: pytest.CaptureFixture[str]) -> None:
    with Console(quiet=False, json=True) as console:
        console.stage("warm_start", total=1)
        console.advance("warm_start", "north", 1, 1)
        console.stage("phase_1", total=1)
        capsys.readouterr()
    last = capsys.readouterr().err
    assert "Phase 1" in last
    assert "north" not in last


STAGES = {"warm_start": 60, "phase_1": 200, "phase_2": 3}
EVENTS: list[tuple[RunEvent, list[str]]] = [
    (RunOpened("digits", "runs/digits-2", True, STAGES), ["digits in runs/digits-2", "an earlier run is there: "]),
    (StageBegan("warm_start"), ["Warm start ..."]),
    (FittingProgressed(10, 60), ["Warm start: 10 of 60 fitting the first generator"]),
    (TrainingProgressed("east", "warm_start", 5, 60, {}), ["Warm start: 5 of 60 east trains the first model"]),
    (ModelScored("warm_start", None, 0.5512), ["Warm start: 60 of 60 accuracy 0.551"]),
    (StageBegan("phase_1"), ["Phase 1 ..."]),
    (TrainingProgressed("north", "phase_1", 50, 100, {}), ["Phase 1: 50 of 200", "Phase 1, north: 50 of 100"]),
    (
        TrainingProgressed("east", "phase_1", 25, 100, {"generator_steps": 4.0, "accuracy_on_fakes": 0.5}),
        ["Phase 1: 75 of 200", "Phase 1, east: 25 of 100 4 generator steps, 50% of fakes recognised"],
    ),
    (ModelScored("phase_2", 2, 0.7), ["Phase 2: 2 of 3 accuracy 0.700"]),
    (ComparisonProgressed("silo_alone", 0, 4), ["Silo alone ..."]),
    (ComparisonProgressed("silo_alone", 1, 4), ["Silo alone: 1 of 4"]),
    (PartySaid("north", ProcessStarted()), ["north: starts as a process of its own"]),
    (PartySaid("aggregator", RequestSent(3, "train", (), (), 5)), ["aggregator: request 3: train"]),
    (PartySaid("aggregator", StageBegan("phase_2")), ["Phase 2 ..."]),
    (PartySaid("north", ProcessEnded(0)), ["north: has done its part"]),
]


def test_a_cold_start_has_no_stage(capsys: pytest.CaptureFixture[str]) -> None:
    lengths = {"phase_1": 200, "phase_2": 3}
    with Console(quiet=False, json=True) as console:
        for event in (
            RunOpened("digits", "runs/digits", False, lengths), StageBegan("warm_start"),
            ModelScored("warm_start", None, 0.5512), StageBegan("phase_1"),
        ):  # fmt: skip
            console.show(event)
    assert capsys.readouterr().err.splitlines() == ["digits in runs/digits", "Phase 1 ..."]


def test_a_run_is_told_by_its_events(capsys: pytest.CaptureFixture[str]) -> None:
    """With an hour between any two looks at the clock, every line finds room."""
    hours = itertools.count(0, 3600)
    console = Console(quiet=False, json=True, clock=lambda: float(next(hours)))
    for event, lines in EVENTS:
        console.show(event)
        found = capsys.readouterr().err.splitlines()
        assert len(found) == len(lines)
        assert all(line.startswith(start) for line, start in zip(found, lines, strict=True)), (found, lines)


def test_silos_may_report_from_many_threads(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    with Console(quiet=False, json=True) as console:
        console.stage("phase_1", total=400)

        def train(silo: str) -> None:
            for step in range(100):
                console.advance("phase_1", silo, step + 1, 100)

        with ThreadPoolExecutor() as threads:
            list(threads.map(train, [silo.name for silo in run.summary.silos]))  # list: raises what a thread raised
        console.final(run)
    assert json.loads(capsys.readouterr().out)["name"] == run.summary.name
