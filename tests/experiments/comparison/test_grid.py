"""From a comparison's file to its cells."""

from pathlib import Path

import pytest

from siloseal.experiments.comparison.fingerprints import sources
from siloseal.experiments.comparison.grid import Cell, load_comparisons
from siloseal.experiments.comparison.rows import Row
from siloseal.experiments.comparison.runner import Finished, measured
from siloseal.federation.errors import ConfigError

ROOT = Path(__file__).parents[3]
JOB = (ROOT / "configs" / "digits.yaml").read_text()
GRID = """
name: trial
grids:
  - measure: {kind: job, job: job.yaml}
    vary:
      epsilon: {privacy.epsilon: [6, 12]}
      optimizer:
        Adam: {optimizer: {kind: dp_adam}}
        SGD: {optimizer: {kind: dp_sgd, learning_rate: 0.1}, schedule.batch: 32}
    seeds: [0, 1, 2]
"""


def cells_of(folder: Path, text: str = GRID, job: str = JOB) -> list[Cell]:
    (folder / "job.yaml").write_text(job)
    (folder / "compare.yaml").write_text(text)
    [(_, cells)] = load_comparisons([folder / "compare.yaml"])
    return cells


def test_a_grid_is_every_combination_for_every_seed(tmp_path: Path) -> None:
    cells = cells_of(tmp_path)
    assert len(cells) == len({cell.digest for cell in cells}) == 2 * 2 * 3
    last = cells[-1]
    assert last.labels == {"epsilon": 12, "optimizer": "SGD"}
    assert last.seed == 2
    job = last.measurement.job  # type: ignore[union-attr]  # a grid of jobs
    assert (job.seed, job.privacy.epsilon, job.optimizer.kind, job.schedule.batch) == (2, 12, "dp_sgd", 32)
    assert job.schedule.local_steps == 100  # of the file


def test_a_digest_follows_the_settings_and_not_the_names(tmp_path: Path) -> None:
    before = [cell.digest for cell in cells_of(tmp_path)]
    renamed = GRID.replace("name: trial", "name: other").replace("Adam:", "Momentum:").replace("vary", "vary")
    assert [cell.digest for cell in cells_of(tmp_path, renamed, JOB.replace("name: digits", "name: d"))] == before
    assert [cell.digest for cell in cells_of(tmp_path, GRID, "# a remark\n" + JOB)] == before


def test_a_changed_setting_is_another_cell_and_leaves_the_others(tmp_path: Path) -> None:
    before = {cell.digest for cell in cells_of(tmp_path)}
    after = {cell.digest for cell in cells_of(tmp_path, GRID.replace("[6, 12]", "[6, 13]"))}
    assert len(before & after) == 6
    other_job = {cell.digest for cell in cells_of(tmp_path, job=JOB.replace("local_steps: 100", "local_steps: 90"))}
    assert not before & other_job


def test_other_data_are_another_cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = JOB.replace("data: {kind: digits}", 'data: {kind: idx, folder: "${SOME_DATA}"}')
    digests = list[str]()
    ones = b"1" * 200_000
    for place, content in (("one", ones), ("two", ones[:100_000] + b"2" + ones[100_001:]), ("copy", ones)):
        (tmp_path / place).mkdir()
        (tmp_path / place / "images").write_bytes(content)
        monkeypatch.setenv("SOME_DATA", str(tmp_path / place))
        digests.append(cells_of(tmp_path, job=job)[0].digest)
    assert digests[0] == digests[2] != digests[1]


def test_null_leaves_a_setting_out(tmp_path: Path) -> None:
    text = GRID.replace("{optimizer: {kind: dp_adam}}", "{evaluation: null}")
    cell = next(cell for cell in cells_of(tmp_path, text) if cell.labels["optimizer"] == "Adam")
    assert cell.measurement.job.evaluation.classifiers == ("cnn",)  # type: ignore[union-attr]  # the default


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("privacy.epsilon: [6, 12]", "privacy.epsilon: [6, -1]", "epsilon: -1"),
        ("privacy.epsilon: [6, 12]", "privacy.epsilom: [6]", "epsilom"),
        ("privacy.epsilon: [6, 12]", "privacy.epsilon.more: [6]", "privacy.epsilon.more: epsilon is 10"),
        ("{kind: dp_adam}", "{kind: dp_adamw}", "dp_adamw"),
        ("[0, 1, 2]", "[0, 1, 1]", "grids.0: seeds"),
        ("[0, 1, 2]", "[]", "seeds"),
        ("job.yaml", "gone.yaml", "gone.yaml"),
        ("{kind: job, job: job.yaml}", "{kind: job, jobs: job.yaml}", "expected `kind: job` and `job: FILE`"),
        ("{kind: job, job: job.yaml}", "{kind: magic}", "magic"),
        ("name: trial", "name: trial\nchapter: poetry", "poetry"),
        ("{privacy.epsilon: [6, 12]}", "[6, 12]", "expected `path: [values]`"),
        ("{privacy.epsilon: [6, 12]}", "{seed: [6, 12]}", "`seed`"),
        ("      epsilon:", "      silo:", "axis silo"),
        ("privacy.epsilon: [6, 12]", "privacy.epsilom: [6]", "epsilon?"),
        (
            "{privacy.epsilon: [6, 12]}",
            "{schedule.batch: [6, 12]}",
            "grids.0: epsilon: 12, optimizer: SGD",
        ),
        (
            "{privacy.epsilon: [6, 12]}",
            "{optimizer: [{kind: dp_sgd}, {kind: dp_sgd, momentum: 0.5}]}",
            "epsilon: optimizer",
        ),
        ("{privacy.epsilon: [6, 12]}", "{low: 6, high: 12}", "low is 6"),
    ],
)
def test_a_mistake_is_told_with_its_cell(tmp_path: Path, old: str, new: str, words: str) -> None:
    assert old in GRID
    with pytest.raises(ConfigError) as found:
        cells_of(tmp_path, GRID.replace(old, new))
    assert words in str(found.value)
    assert "compare.yaml" in str(found.value) or "gone.yaml" in str(found.value)


@pytest.mark.parametrize(
    ("measure", "words"),
    [
        ("{kind: sum, secure_sum: {kind: ckks, threshold: 9}, silos: 3}", "secure_sum.kind is ckks, but"),
        ("{kind: sum, secure_sum: {kind: plain}, silos: 1}", "silos: found 1"),
        (
            "{kind: noise, mechanism: {kind: skellam}, epsilon: 1, secure_sum: {kind: plain}}",
            "secure_sum.kind is plain",
        ),
        ("{kind: noise, mechanism: {kind: pbm}, epsilon: 0, secure_sum: {kind: secagg}}", "epsilon: found 0"),
    ],
)
def test_a_measurement_that_cannot_be_is_refused_before_anything_runs(tmp_path: Path, measure: str, words: str) -> None:
    with pytest.raises(ConfigError) as found:
        cells_of(tmp_path, f"name: trial\ngrids:\n  - measure: {measure}\n")
    assert words in str(found.value)


def test_a_job_is_no_comparison(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"compare\.yaml: .*`siloseal run`"):
        cells_of(tmp_path, JOB)


def test_two_comparisons_of_one_name_are_refused(tmp_path: Path) -> None:
    cells_of(tmp_path)
    with pytest.raises(ConfigError, match="trial"):
        load_comparisons([tmp_path / "compare.yaml"] * 2)


def test_every_shipped_comparison_is_a_grid_of_valid_cells(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SILOSEAL_DATA", str(tmp_path))
    files = [path for kind in ("compare", "full") for path in sorted((ROOT / "configs").glob(f"{kind}-*.yaml"))]
    loaded = load_comparisons(files)
    assert {comparison.chapter for comparison, _ in loaded} >= {
        "optimizers", "sums", "noise", "traffic", "silos", "inversion", "audit", "cheating",
    }  # fmt: skip
    assert all(cells for _, cells in loaded)


def test_a_cell_knows_its_sum_and_noise_by_their_settings(tmp_path: Path) -> None:
    job = JOB + "\nmechanism: {kind: skellam}\n"
    grid = "name: x\ngrids:\n  - measure: {kind: cheating, secure_sum: ring}\n  - measure: {kind: job, job: job.yaml}\n"
    cheat, run = cells_of(tmp_path, grid, job)
    assert cheat.kinds == {"secure_sum": "ring"}
    assert run.kinds == {"secure_sum": "ckks", "mechanism": "skellam"}
    done = Finished({cheat.digest: (Row(measure="x", value=1),)}, ())
    assert [cell.kinds for cell in measured([cheat, run], done)] == [cheat.kinds]


def test_the_state_of_the_program_covers_what_computes_and_not_what_draws() -> None:
    found = {path.relative_to(ROOT / "siloseal").as_posix() for path in sources(attacks=False)}
    assert {"experiments/traffic.py", "federation/sums/in_process.py", "experiments/comparison/measurements/jobs.py",
            "federation/sums/ckks/ckks_sum.py"} <= found  # fmt: skip
    assert not any(name.startswith(("experiments/report", "experiments/attacks")) for name in found)
    assert any(
        path.relative_to(ROOT / "siloseal").as_posix().startswith("experiments/attacks")
        for path in sources(attacks=True)
    )
