"""Who may import whom: the aggregator never sees the silos' code, federation knows nobody, and no room is in a cycle."""

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("federation", "models", "silo", "aggregator", "experiments")
"""Folders of the top level that are imported as `siloseal.NAME`."""
ALLOWED = {
    "federation": set[str](),
    "models": {"federation"},
    "silo": {"federation", "models"},
    "aggregator": {"federation", "models"},
    "siloseal/run_folder": {"federation"},
    "siloseal/report": {"federation", "run_folder"},
    "siloseal/runs": {"federation", "models", "silo", "aggregator", "provisioning", "run_folder", "report"},
    "siloseal/provisioning": {"federation", "silo", "aggregator"},
    "experiments": {"federation", "models", "silo", "aggregator", "run_folder", "runs", "report", "provisioning"},
    "siloseal/cli": {*FOLDERS, "run_folder", "runs", "report", "provisioning", "_api"},
    "siloseal/reference": {"report", "federation", "silo", "aggregator", "experiments", "provisioning", "cli"},
}

RENDERING = ("document", "intervals", "wording", "charts", "page", "page_tables", "markdown", "terminal")
"""Modules of siloseal/report that any report is made with: they know nothing of runs or of comparisons."""


def imported(source: str) -> Iterator[str]:
    """The full names of the modules that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (
                [f"siloseal.{alias.name}" for alias in node.names] if node.module == "siloseal" else [node.module]
            )


def rooms_of(source: str) -> set[str]:
    return {name.split(".")[1] for name in imported(source) if name.startswith("siloseal.")}


@pytest.mark.parametrize("folder", ALLOWED)
def test_a_package_imports_only_what_lies_below_it(folder: str) -> None:
    files = list((ROOT / folder).rglob("*.py"))
    assert files
    wrong = dict[str, list[str]]()
    for file in files:
        if beyond := rooms_of(file.read_text()) - ALLOWED[folder] - {folder.removeprefix("siloseal/")}:
            wrong[str(file.relative_to(ROOT))] = sorted(beyond)
    assert wrong == {}


@pytest.mark.parametrize("name", RENDERING)
def test_what_renders_a_report_knows_none_of_the_data(name: str) -> None:
    assert rooms_of((ROOT / "siloseal" / "report" / f"{name}.py").read_text()) <= {"federation", "report"}


def test_nothing_is_imported_by_the_name_of_its_folder() -> None:
    """In a checkout `import silo` may work too, and would load everything a second time."""
    files = [file for folder in (*FOLDERS, "siloseal", "tests", "benchmarks") for file in (ROOT / folder).rglob("*.py")]
    wrong = {str(file): name for file in files for name in imported(file.read_text()) if name.split(".")[0] in FOLDERS}
    assert wrong == {}


def test_no_two_packages_may_import_each_other_on_any_path() -> None:
    names = {folder.removeprefix("siloseal/"): below for folder, below in ALLOWED.items()}
    TopologicalSorter(names).prepare()  # CycleError names the packages of a cycle


def test_the_folders_of_the_top_level_are_found_in_the_package() -> None:
    for name in FOLDERS:
        assert (ROOT / "siloseal" / name).resolve() == ROOT / name


def test_the_check_sees_an_import_inside_a_function() -> None:
    assert rooms_of("def f():\n    from siloseal.silo.ledger import Ledger\n") == {"silo"}
    assert rooms_of("from siloseal import runs\n") == {"runs"}
