"""Every source file has a test: the one that mirrors it, or a named one that covers several files together.

`aggregator/journal.py` is mirrored by `tests/aggregator/test_journal.py`. What a contract, a whole run or one test of a
folder covers stands in `COVERED`; a named test must exist and reach the file by its imports.
"""

import ast
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("aggregator", "benchmarks", "experiments", "federation", "models", "silo", "siloseal")
LINKED = {"aggregator", "experiments", "federation", "models", "silo"}
"""Folders that `siloseal` has links to, by which they are imported."""
GENERATED = ("*_pb2.py", "*_pb2_grpc.py")

COVERED: dict[str, str] = {
    "aggregator/enrolment.py": "tests/aggregator/test_entering.py",
    "aggregator/training.py": "tests/aggregator/test_entering.py",
    "aggregator/*.py": "tests/deployment",
    "experiments/attacks/canary.py": "tests/experiments/attacks/test_audit.py",
    "experiments/attacks/noisy_sums.py": "tests/experiments/attacks/test_audit.py",
    "experiments/attacks/softmax_learner.py": "tests/experiments/attacks/test_audit.py",
    "experiments/attacks/protections.py": "tests/experiments/attacks/test_inversion.py",
    "experiments/attacks/*.py": "tests/experiments/attacks/test_cheating.py",
    "experiments/comparison/measurements/attacks.py": "tests/experiments/attacks/test_attack_measurements.py",
    "experiments/comparison/measurements/*.py": "tests/experiments/comparison/test_measurements.py",
    "experiments/comparison/cell.py": "tests/experiments/comparison/test_measurements.py",
    "experiments/comparison/memory.py": "tests/experiments/comparison/test_measurements.py",
    "experiments/comparison/r*.py": "tests/experiments/comparison/test_compare.py",
    "experiments/comparison/table.py": "tests/experiments/comparison/test_compare.py",
    "experiments/comparison/*.py": "tests/experiments/comparison/test_grid.py",
    "experiments/report/chapter.py": "tests/experiments/report",
    "experiments/report/*.py": "tests/experiments/report/test_chapters.py",
    "experiments/sparse/errors.py": "tests/experiments/sparse",
    "experiments/walkthroughs/small_jobs.py": "tests/experiments/walkthroughs",
    "federation/analytics/[cgrw]*.py": "tests/silo/test_queries.py",
    "federation/analytics/*.py": "tests/federation/analytics",
    "federation/config/*.py": "tests/federation/job/test_job.py",
    "federation/errors.py": "tests/contracts",
    "federation/job/contributions.py": "tests/silo/test_participation.py",
    "federation/job/guarantee.py": "tests/silo/test_policy.py",
    "federation/job/quorum.py": "tests/silo/test_policy.py",
    "federation/job/*.py": "tests/federation/job",
    "federation/privacy/mechanisms/lattice_calibration.py": "tests/federation/privacy/mechanisms/test_calibration.py",
    "federation/privacy/events.py": "tests/federation/privacy/test_accounting.py",
    "federation/privacy/*.py": "tests/contracts/test_mechanisms.py",
    "federation/run_events/*.py": "tests/federation/run_events/test_lines.py",
    "federation/secret.py": "tests/federation/sums/joint_key/test_secret_share.py",
    "federation/sums/driving.py": "tests/aggregator/test_dispatcher.py",
    "federation/sums/new_session.py": "tests/federation/sums/test_in_process.py",
    "federation/sums/noisy_sum.py": "tests/contracts/test_mechanisms.py",
    "federation/sums/*.py": "tests/contracts",
    "federation/transport/engine.py": "tests/aggregator/test_coordinator.py",
    "federation/transport/tls.py": "tests/deployment",
    "federation/transport/*.py": "tests/federation/transport",
    "models/gan/sampling.py": "tests/models/gan/test_learner.py",
    "models/gan/*.py": "tests/contracts/test_learners.py",
    "models/evaluation/*.py": "tests/models/evaluation/test_evaluator.py",
    "models/*building.py": "tests/contracts/test_learners.py",
    "models/meta/learners.py": "tests/contracts/test_learners.py",
    "models/*.py": "tests/models",
    "silo/data/units.py": "tests/silo/test_runtime.py",
    "silo/data/*.py": "tests/silo/data",
    "silo/ledger_reading.py": "tests/siloseal/test_public_api.py",
    "silo/training/work.py": "tests/silo/test_runtime.py",
    "silo/training/*.py": "tests/silo/training",
    "silo/client.py": "tests/deployment",
    "silo/config.py": "tests/siloseal/provisioning",
    "silo/status.py": "tests/deployment",
    "silo/*.py": "tests/silo",
    "siloseal/reference/*.py": "tests/siloseal/reference/test_pages.py",
    "siloseal/provisioning/*.py": "tests/siloseal/provisioning",
    "siloseal/report/intervals.py": "tests/siloseal/report/test_charts.py",
    "siloseal/report/notes.py": "tests/siloseal/runs",
    "siloseal/report/*.py": "tests/siloseal/report",
    "siloseal/runs/plan.py": "tests/siloseal/cli/test_plan_table.py",
    "siloseal/runs/drawing.py": "tests/siloseal/test_public_api.py",
    "siloseal/runs/prometheus.py": "tests/deployment",
    "siloseal/runs/status.py": "tests/deployment",
    "siloseal/runs/*.py": "tests/siloseal/runs",
    "siloseal/cli/adapt.py": "tests/siloseal/runs/test_adapting.py",
    "siloseal/cli/analytics.py": "tests/siloseal/runs/test_analytics.py",
    "siloseal/cli/compare.py": "tests/experiments/comparison/test_compare.py",
    "siloseal/cli/deploy.py": "tests/deployment",
    "siloseal/cli/*.py": "tests/siloseal/cli",
    "siloseal/*.py": "tests/siloseal/test_public_api.py",
}
"""Test file or folder for each pattern of source files without a mirrored test; the first pattern that fits counts."""


def is_source(path: Path) -> bool:
    """Whether a file has code of its own: neither generated nor an `__init__` that only says what its folder holds."""
    if any(fnmatch(path.name, pattern) for pattern in GENERATED):
        return False
    statements = ast.parse(path.read_text(encoding="utf-8")).body
    return not (len(statements) <= 1 and all(isinstance(node, ast.Expr) for node in statements))


def sources() -> Iterator[Path]:
    """Source files, relative to the root."""
    for folder in FOLDERS:
        linked = [ROOT / folder / name for name in LINKED] if folder == "siloseal" else []
        for path in sorted((ROOT / folder).rglob("*.py")):
            if not any(path.is_relative_to(link) for link in linked) and is_source(path):
                yield path.relative_to(ROOT)


def mirror(source: Path) -> Path:
    return Path("tests") / source.parent / f"test_{source.stem.strip('_')}.py"


def module_of(source: Path) -> str:
    """Name by which a file is imported."""
    parts = (source.parent if source.name == "__init__.py" else source.with_suffix("")).parts
    return ".".join(parts if parts[0] == "siloseal" else ("siloseal", *parts))


UNMIRRORED = [source for source in sources() if not (ROOT / mirror(source)).exists()]


def covering(source: Path) -> str | None:
    return next((pattern for pattern in COVERED if fnmatch(source.as_posix(), pattern)), None)


@cache
def imports(path: Path) -> frozenset[str]:
    """Modules that a file imports, wherever in it, or starts as a command; names in a module count as modules, too."""
    text = path.read_text(encoding="utf-8")
    found = {"siloseal.__main__"} if '"-m", "siloseal"' in text else set[str]()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level and path.is_relative_to(ROOT / "tests"):
                beside = path.relative_to(ROOT).parts[: -node.level]
                base = ".".join([*beside, *([node.module] if node.module else [])])
            found |= {base, *(f"{base}.{alias.name}" for alias in node.names)}
    return frozenset(found)


@cache
def files_by_module() -> dict[str, Path]:
    found = {module_of(source): ROOT / source for source in sources()}
    for path in (ROOT / "tests").rglob("*.py"):
        found[".".join(path.relative_to(ROOT).with_suffix("").parts)] = path
    return found


@cache
def reached(test: str) -> frozenset[Path]:
    """Files that a test file, or the tests of a folder with their fixtures, import, and what those import."""
    place = ROOT / test
    left = list(place.rglob("*.py")) if place.is_dir() else [place, *place.parent.glob("conftest.py")]
    found = set[Path]()
    while left:
        path = left.pop()
        if path not in found:
            found.add(path)
            left += [files_by_module()[name] for name in imports(path) if name in files_by_module()]
    return frozenset(found)


def test_a_test_that_mirrors_nothing_is_not_mistaken_for_one() -> None:
    assert mirror(Path("aggregator/journal.py")) == Path("tests/aggregator/test_journal.py")
    assert Path("aggregator/journal.py") in set(sources()) - set(UNMIRRORED)


@pytest.mark.parametrize("source", UNMIRRORED, ids=str)
def test_a_source_without_a_mirrored_test_is_covered_by_a_named_one(source: Path) -> None:
    pattern = covering(source)
    assert pattern is not None, f"add {mirror(source)}, or name the test that covers {source} in COVERED"
    test = COVERED[pattern]
    assert (ROOT / test).exists(), f"COVERED names {test} for {source}, but there is no such test"
    assert ROOT / source in reached(test), f"COVERED names {test} for {source}, but nothing there imports it"


def test_no_entry_is_left_of_a_file_that_is_gone_or_mirrored() -> None:
    used = {covering(source) for source in UNMIRRORED}
    assert [pattern for pattern in COVERED if pattern not in used] == []
