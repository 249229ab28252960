"""Whole comparisons through the command line, with real cells in processes of their own."""

import csv
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from siloseal.cli.compare import ConsoleWatcher
from siloseal.cli.console import Console
from siloseal.experiments.comparison import compare as comparing
from siloseal.experiments.comparison import runner
from siloseal.experiments.comparison.compare import Outcome
from siloseal.experiments.comparison.grid import Cell
from siloseal.experiments.comparison.runner import read_rows
from siloseal.federation.config.loading import to_yaml
from siloseal.federation.errors import DataError, RunError
from siloseal.federation.job.job import Job
from siloseal.federation.records.storage import locked

ROOT = Path(__file__).parents[3]
GRID = """
name: trial
grids:
  - measure: {kind: sum, secure_sum: {kind: plain}, silos: 3, length: 100, dropouts: false}
    vary:
      sum:
        plain: {secure_sum: {kind: plain}}
        additive: {secure_sum: {kind: additive}}
    seeds: [0, 1]
"""


def command(folder: Path, *options: str) -> list[str]:
    config = str(folder / "compare.yaml")
    return [sys.executable, "-m", "siloseal", "compare", config, "--out", str(folder / "out"), "--json", *options]


def compare(folder: Path, text: str = GRID) -> Outcome:
    (folder / "compare.yaml").write_text(text)
    with Console(quiet=True, json=False) as console:
        return comparing.compare([folder / "compare.yaml"], folder / "out", workers=2, watcher=ConsoleWatcher(console))


def written(folder: Path) -> dict[str, int]:
    """When each cell was measured."""
    return {path.parent.name: path.stat().st_mtime_ns for path in (folder / "out" / "cells").glob("*/rows.jsonl")}


def test_a_changed_config_reruns_only_what_changed(tmp_path: Path) -> None:
    first = compare(tmp_path)
    assert (first.cells, first.ran, first.found, first.failed) == (4, 4, 0, {})
    before = written(tmp_path)
    again = compare(tmp_path)
    assert (again.ran, again.found) == (0, 4)
    changed = compare(tmp_path, GRID.replace("{kind: additive}", "{kind: additive, precision_bits: 20}"))
    assert (changed.ran, changed.found) == (2, 2)
    assert {cell: when for cell, when in written(tmp_path).items() if cell in before} == before
    with (tmp_path / "out" / "table.csv").open() as file:
        lines = list(csv.DictReader(file))
    assert {(line["sum"], line["seed"]) for line in lines} == {(s, n) for s in ("plain", "additive") for n in "01"}
    sent = [float(line["value"]) for line in lines if line["measure"] == "sent_bytes" and line["sum"] == "plain"]
    assert len(sent) == 2 * 3
    assert all(400 < size < 600 for size in sent)  # 100 numbers of 4 bytes, and framing
    tidy = [json.loads(line) for line in (tmp_path / "out" / "table.jsonl").read_text().splitlines()]
    assert len(tidy) == len(lines)
    assert (tmp_path / "out" / "report.html").read_text().count("<html") == 1
    assert "compare.yaml" in (tmp_path / "out" / "report.md").read_text()


@pytest.mark.parametrize("blow", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_grid_goes_on_without_repeating_finished_cells(tmp_path: Path, blow: signal.Signals) -> None:
    (tmp_path / "compare.yaml").write_text(GRID)
    running = subprocess.Popen(command(tmp_path, "--workers", "1"), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while not (len(written(tmp_path)) >= 2 and _pids_of_cells(tmp_path)) and running.poll() is None:
        time.sleep(0.01)  # two are finished, and a third is at work
    running.send_signal(blow)
    _, errors = running.communicate()
    assert running.returncode == (130 if blow == signal.SIGINT else -signal.SIGKILL), errors
    finished = written(tmp_path)
    assert 2 <= len(finished) < 4
    assert not _cells_at_work(tmp_path)
    went_on = compare(tmp_path)
    assert (went_on.ran, went_on.found) == (4 - len(finished), len(finished))
    assert {cell: when for cell, when in written(tmp_path).items() if cell in finished} == finished


def _cells_at_work(folder: Path) -> list[int]:
    """Processes that an interrupted comparison leaves behind: those that do not end with it, but go on."""
    left = list[int]()
    for pid in _pids_of_cells(folder):
        try:
            descriptor = os.pidfd_open(pid)
        except OSError:  # it has ended in the meantime
            continue
        ended, _, _ = select.select([descriptor], [], [], 0.5)  # a cell takes longer
        os.close(descriptor)
        left += [] if ended else [pid]
    return left


def _pids_of_cells(folder: Path) -> list[int]:
    """Of those that have not written their rows."""
    cells, pids = os.fsencode(folder / "out" / "cells"), list[int]()
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # one that ends while it is looked at
            words = process.read_bytes().rstrip(b"\0").split(b"\0")
            at_work = words[-1].startswith(cells) and Path(os.fsdecode(words[-1])).name not in written(folder)
            pids += [int(process.parent.name)] if at_work else []
    return pids


def test_a_cell_that_fails_is_named_and_stops_no_other(tmp_path: Path) -> None:
    noise = "{kind: noise, mechanism: {kind: ddg, bits: 2}, epsilon: 1, secure_sum: {kind: secagg}, silos: 3}"
    found = compare(tmp_path, GRID.replace("[0, 1]", "[0]") + f"  - measure: {noise}\n")
    assert (found.ran, found.found) == (2, 0)
    ((title, words),) = found.failed.items()
    assert title == "trial, seed 0"
    assert "bits" in words
    assert "Not measured: trial, seed 0" in (tmp_path / "out" / "report.html").read_text()
    with pytest.raises(RunError, match=r"bits[\s\S]*1 of 3 cells"):
        comparing.require_complete(found)


@pytest.mark.parametrize(("data", "words"), [("${NOBODY_SET_THIS}/x", "NOBODY_SET_THIS"), ("/nowhere", "^/nowhere ")])
def test_data_that_are_not_there_are_missed_before_anything_runs(tmp_path: Path, data: str, words: str) -> None:
    job = (ROOT / "configs" / "digits.yaml").read_text()
    (tmp_path / "job.yaml").write_text(job.replace("data: {kind: digits}", f'data: {{kind: idx, folder: "{data}"}}'))
    with pytest.raises(DataError, match=words):
        compare(tmp_path, GRID + "  - measure: {kind: job, job: job.yaml}\n")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("place", ["taken", "taken/out"])
def test_a_file_in_the_way_is_named(tmp_path: Path, place: str) -> None:
    (tmp_path / "compare.yaml").write_text(GRID)
    (tmp_path / "taken").touch()
    with Console(quiet=True, json=False) as console, pytest.raises(RunError, match=str(tmp_path / "taken")):
        comparing.compare([tmp_path / "compare.yaml"], tmp_path / place, workers=1, watcher=ConsoleWatcher(console))
    with pytest.raises(RunError, match=str(tmp_path / "taken")):
        comparing.list_cells([tmp_path / "compare.yaml"], tmp_path / place)


def test_a_damaged_cell_is_measured_anew_and_one_of_another_program_is_named(tmp_path: Path) -> None:
    text = GRID.replace("[0, 1]", "[0]")
    compare(tmp_path, text)
    first, second = sorted((tmp_path / "out" / "cells").glob("*"))
    assert "another state" not in (tmp_path / "out" / "report.html").read_text()
    (first / "rows.jsonl").write_text((first / "rows.jsonl").read_text().rsplit("\n", 2)[0] + "\n")  # but its last line
    (first / "left-over").touch()
    (second / "program.txt").write_text("another")
    assert compare(tmp_path, text).ran == 1
    assert not (first / "left-over").exists()
    report = (tmp_path / "out" / "report.html").read_text()
    assert "1 of 2 cells" in report
    assert "another state" in report


def test_a_finished_cell_keeps_what_people_read_and_not_what_the_parties_kept(
    tmp_path: Path, small_job: Callable[..., Job]
) -> None:
    schedule = {"kind": "two_phase", "batch": 16, "local_steps": 1, "tuning_rounds": 0}
    job = small_job(schedule=schedule, evaluation={"classifiers": ["logistic"], "samples": 100})
    (tmp_path / "job.yaml").write_text(to_yaml(job))
    text = "name: jobs\ngrids:\n  - measure: {kind: job, job: job.yaml}\n"
    assert compare(tmp_path, text).failed == {}
    (run,) = (tmp_path / "out" / "cells").glob("*/run")
    assert {path.name for path in run.iterdir() if path.is_dir()} == {"samples"}
    assert (run / "report.html").is_file()
    (run / "silos" / "north").mkdir(parents=True)  # as if it had been killed before it came to that
    assert compare(tmp_path, text).found == 1
    assert not (run / "silos").exists()


def test_a_cell_that_dies_after_its_rows_were_written_is_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = GRID.replace("[0, 1]", "[0]")
    compare(tmp_path, text)
    kept = {path: path.read_bytes() for path in (tmp_path / "out" / "cells").glob("*/rows.jsonl")}
    for path in kept:
        path.unlink()

    def dies_at_the_end(out: Path, cell: Cell) -> subprocess.Popen[bytes]:
        path = out / "cells" / cell.digest / "rows.jsonl"
        path.write_bytes(kept[path])
        return subprocess.Popen(["sh", "-c", "kill -9 $$"])

    monkeypatch.setattr(runner, "_start", dies_at_the_end)
    again = compare(tmp_path, text)
    assert (again.ran, again.failed) == (2, {})


def test_pictures_of_an_earlier_command_do_not_stay_among_those_of_this_one(tmp_path: Path) -> None:
    compare(tmp_path)
    (tmp_path / "out" / "figures" / "other-picture.svg").write_text("<svg/>")
    compare(tmp_path)
    names = {path.name for path in (tmp_path / "out" / "figures").iterdir()}
    assert names
    assert "other-picture.svg" not in names


@pytest.mark.parametrize("left", ["", "{", '{"measure": "x", "value": 1}\n'])
def test_rows_that_are_cut_off_are_no_rows(tmp_path: Path, left: str) -> None:
    folder = tmp_path / "cells" / "d"
    folder.mkdir(parents=True)
    (folder / "rows.jsonl").write_text(left)
    assert read_rows(tmp_path, "d") is None


def test_two_comparisons_in_one_folder_do_not_get_in_each_others_way(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with locked(tmp_path / "out"), pytest.raises(RunError, match=str(tmp_path / "out")):
        compare(tmp_path)


def test_the_list_says_what_is_there_and_runs_nothing(tmp_path: Path) -> None:
    (tmp_path / "compare.yaml").write_text(GRID)
    listed = json.loads(subprocess.run(command(tmp_path, "--list"), capture_output=True, check=True).stdout)
    assert [cell["there"] for cell in listed] == [False] * 4
    assert listed[-1]["title"] == "trial, sum additive, seed 1"
    assert not (tmp_path / "out").exists()
