"""What a deployed process says: one line an event, for a person or for a program."""

import json
import threading

import pytest

from siloseal.cli.event_lines import EventLines
from siloseal.federation.run_events.aggregator import (
    ReplyAccepted,
    RequestRefused,
    Serving,
    SilosSilent,
    StageBegan,
    WritingFailed,
)
from siloseal.federation.run_events.coordination import RunBegan
from siloseal.federation.run_events.silo import DialDelayed, JobAccepted, RunLeft, TrainingProgressed
from siloseal.federation.run_events.stream import PublishedBefore, RunEvent

DIGEST = "0123456789abcdef" * 4


def printed(capsys: pytest.CaptureFixture[str], event: RunEvent, *, quiet: bool = False) -> str:
    """What a person is shown, without the time of day."""
    EventLines(json_lines=False, quiet=quiet).show(event)
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err[9:]


def test_a_program_reads_one_json_object_a_line_from_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    lines = EventLines(json_lines=True, quiet=True)
    for event in (RunLeft("run", None, True, ""), DialDelayed("a\nb", 0.5), RunBegan()):
        lines.show(event)
    captured = capsys.readouterr()
    assert [json.loads(line) for line in captured.out.splitlines()] == [
        {"event": "leaves", "run": "run", "epsilon": None, "delivered": True, "words": ""},
        {"event": "waiting", "reason": "a\nb", "seconds": 0.5},
    ]
    assert captured.err == ""


def test_what_a_process_before_this_one_published_is_shown_as_it_was_then(capsys: pytest.CaptureFixture[str]) -> None:
    lines = EventLines(json_lines=True, quiet=True)
    for event in (StageBegan("phase_1"), PublishedBefore(StageBegan("phase_1"))):
        lines.show(event)
    first, again = capsys.readouterr().out.splitlines()
    assert first == again


def test_what_another_side_chose_does_not_command_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    line = printed(capsys, RequestRefused(1, "north", "\x1b[2J\n12:00:00 finished"))
    assert line == "refused: number=1, silo=north, error= [2J 12:00:00 finished\n"
    assert printed(capsys, SilosSilent(1, ("a\nb",))) == "goes on without: number=1, silos=a b\n"


def test_whoever_wants_errors_only_is_told_that_nothing_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, DialDelayed("nobody is there", 1.0), quiet=True) == ""
    assert printed(capsys, WritingFailed("full", 2.0), quiet=True) == "cannot write: reason=full, seconds=2\n"


def test_a_person_reads_words_on_standard_error_without_digests_and_what_is_not_known(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert printed(capsys, Serving("here:1", DIGEST, DIGEST, ("north", "east"))) == (
        "serves: address=here:1, silos=north east\n"
    )
    assert printed(capsys, JobAccepted(DIGEST, DIGEST)) == "takes part\n"
    assert printed(capsys, RunLeft(DIGEST, None, False, "x" * 63)) == f"leaves: delivered=False, words={'x' * 63}\n"
    training = TrainingProgressed("north", "phase_1", 50, 100, {"seen": 0.123456})
    assert printed(capsys, training) == "training: silo=north, phase=phase_1, done=50, steps=100, seen=0.1235\n"


def test_lines_of_several_threads_do_not_mix(capsys: pytest.CaptureFixture[str]) -> None:
    lines = EventLines(json_lines=True, quiet=False)

    def speak(name: str) -> None:
        for number in range(20):
            lines.show(ReplyAccepted(number, name, "x" * 400, 1))

    threads = [threading.Thread(target=speak, args=(name,)) for name in ("north", "east", "south")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    shown = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    for name in ("north", "east", "south"):
        assert [line["number"] for line in shown if line["silo"] == name] == list(range(20))
