"""The run folder: what is written comes back, and what is damaged is named."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from siloseal.federation.errors import RunError
from siloseal.run_folder.metrics import METRIC, phase_title, stage_title
from siloseal.run_folder.run import read_run, sample_path


def test_a_run_comes_back_as_written(make_run: Callable[..., Path]) -> None:
    run = read_run(make_run())
    assert run.summary.final_accuracy == 0.712
    assert list(run.summary.accuracy)[:3] == ["warm_start", "phase_1", "round_1"]
    assert [silo.name for silo in run.summary.silos] == ["north", "east", "south", "west"]
    assert len(run.traffic) == 12
    assert run.quality[-1].stage == "real"
    assert run.privacy[3].phase == "total"
    assert set(run.samples) == {("warm_start", None), ("phase_1", None), ("final", None), ("silo_trained", "north")}


def test_the_lines_of_the_format_are_read() -> None:
    """The documented lines, word for word."""
    for line in (
        '{"kind":"quality","stage":"round_12","silo":"north","accuracy":{"cnn":0.5},"frechet":3.0}',
        '{"kind":"traffic","stage":"phase_2","silo":"north","sent_bytes":1,"received_bytes":2}',
        '{"kind":"timing","stage":"phase_1","seconds":1.5}',
        '{"kind":"protection","stage":"phase_1","what":"w","scheme":"plain","hidden_from_aggregator":false,"note":"n"}',
        '{"kind":"privacy","silo":"n","phase":"total","epsilon":1.0,"delta":1e-5,"noise_multiplier":1.1,'
        '"sampling_rate":0.1,"steps":10}',
        '{"kind":"note","text":"t"}',
    ):
        assert METRIC.validate_json(line).kind == json.loads(line)["kind"]


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="/nowhere"):
        read_run(tmp_path / "nowhere")


def test_a_run_without_summary_has_not_finished(make_run: Callable[..., Path]) -> None:
    run_dir = make_run()
    (run_dir / "summary.json").unlink()
    with pytest.raises(RunError, match="folder"):
        read_run(run_dir)
    (run_dir / "config.yaml").write_text("name: begun\n")
    with pytest.raises(RunError, match=r"summary\.json"):
        read_run(run_dir)


def test_damaged_summary_is_named_with_its_line(make_run: Callable[..., Path]) -> None:
    run_dir = make_run()
    lines = (run_dir / "summary.json").read_text().splitlines()
    lines[3] = lines[3].replace(":", "")
    (run_dir / "summary.json").write_text("\n".join(lines))
    with pytest.raises(RunError, match=r"summary\.json, line 4:"):
        read_run(run_dir)


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ('{"kind":"note","te', r"metrics\.jsonl, line 3: "),
        ('{"kind":"rumour"}', "line 3: .*rumour"),
        ('{"kind":"note","text":"t","more":1}', "line 3: note.more"),
        ('{"kind":"timing","stage":"x","seconds":NaN}', "line 3: timing.seconds"),
        ('{"kind":"quality","stage":"round_0","accuracy":{},"frechet":0}', "line 3: quality.stage"),
        ("[]", "line 3"),
    ],
)
def test_a_damaged_metric_is_named_with_its_line(make_run: Callable[..., Path], line: str, complaint: str) -> None:
    run_dir = make_run()
    lines = (run_dir / "metrics.jsonl").read_text().splitlines()
    lines[2] = line
    (run_dir / "metrics.jsonl").write_text("\n".join(lines))
    with pytest.raises(RunError, match=complaint):
        read_run(run_dir)


def test_a_summary_of_another_shape_names_the_field(make_run: Callable[..., Path]) -> None:
    run_dir = make_run()
    found = json.loads((run_dir / "summary.json").read_text())
    found["silos"][1]["examples"] = -3
    (run_dir / "summary.json").write_text(json.dumps(found))
    with pytest.raises(RunError, match=r"silos\.1\.examples"):
        read_run(run_dir)


def test_bytes_that_are_no_text_are_refused(make_run: Callable[..., Path]) -> None:
    run_dir = make_run()
    (run_dir / "metrics.jsonl").write_bytes(b"\xff\xfe")
    with pytest.raises(RunError, match=r"metrics\.jsonl"):
        read_run(run_dir)


@pytest.mark.parametrize("silo", ["../north", "a/b", "a\\b"])
def test_samples_stay_in_their_folder(tmp_path: Path, silo: str) -> None:
    with pytest.raises(RunError, match=re.escape(repr(f"silo_trained.{silo}"))):
        sample_path(tmp_path, "silo_trained", silo)


def test_titles_are_words() -> None:
    assert stage_title("phase_1") == "Phase 1 average"
    assert stage_title("round_7") == "Round 7"
    assert phase_title("phase_1") == "Phase 1"
