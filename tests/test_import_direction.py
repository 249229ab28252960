"""Who may import whom: the aggregator never sees the silos' code, federation knows nobody, and no room is in a cycle.

A room is a package, or a folder or module of `federation/`. An import counts wherever it stands: in a function, or for
type checkers only. Modules inside one room may form a cycle; nothing here looks at them.
"""

import ast
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
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
    "siloseal/privacy_audit": {"federation", "models", "silo"},
    "experiments": {
        "federation",
        "models",
        "silo",
        "aggregator",
        "run_folder",
        "runs",
        "report",
        "provisioning",
        "privacy_audit",
    },
    "siloseal/_arguments.py": {"federation"},
    "siloseal/_sums.py": {"federation", "_arguments"},
    "siloseal/_averages.py": {"federation", "runs", "_arguments"},
    "siloseal/_api.py": {"federation", "models", "silo", "run_folder", "runs", "_arguments"},
    "siloseal/_models.py": {"models", "runs", "_arguments"},
    "siloseal/__init__.py": {
        "federation",
        "models",
        "silo",
        "run_folder",
        "runs",
        "_api",
        "_averages",
        "_models",
        "_sums",
    },
    "siloseal/cli": {*FOLDERS, "run_folder", "runs", "report", "provisioning", "privacy_audit", "_api", "_models"},
    "siloseal/reference": {"report", "federation", "silo", "aggregator", "experiments", "provisioning", "cli"},
}

ROOMS = {
    "errors": set[str](),
    "printable": set[str](),
    "randomness": set[str](),
    "secret": set[str](),
    "whole_numbers": set[str](),
    "exact_noise": {"errors", "randomness"},
    "config": {"errors"},
    "records": {"config", "errors", "secret"},
    "shapes": {"errors"},
    "run_events": {"records", "shapes"},
    "transport": {"config", "errors", "printable", "records", "secret"},
    "sums": {"config", "errors", "randomness", "records", "exact_noise", "secret", "transport", "whole_numbers"},
    "privacy": {"errors", "randomness", "exact_noise", "sums"},
    "job": {"config", "errors", "privacy", "records", "sums", "transport"},
    "averages": {"config", "errors", "job", "printable", "sums", "transport"},
    "analytics": {"averages", "config", "errors", "job", "privacy", "randomness", "exact_noise", "sums", "transport"},
}
"""Rooms of federation/, from the lowest up, and which others each may import."""

RENDERING = ("document", "intervals", "wording", "charts", "page", "page_tables", "markdown", "terminal")
"""Modules of siloseal/report that any report is made with: they know nothing of runs or of comparisons."""


def imported(source: str) -> Iterator[str]:
    """The full names of the modules that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            holds_rooms = node.module in ("siloseal", "siloseal.federation")
            yield from ([f"{node.module}.{alias.name}" for alias in node.names] if holds_rooms else [node.module])


def rooms_of(source: str, *, within: str = "siloseal") -> set[str]:
    """Rooms of a package that a file imports."""
    return {name.removeprefix(f"{within}.").split(".")[0] for name in imported(source) if name.startswith(f"{within}.")}


def is_acyclic(allowed: Mapping[str, set[str]]) -> bool:
    try:
        TopologicalSorter(allowed).prepare()
    except CycleError:
        return False
    return True


@pytest.mark.parametrize("folder", ALLOWED)
def test_a_package_imports_only_what_lies_below_it(folder: str) -> None:
    place = ROOT / folder
    files = [place] if place.is_file() else list(place.rglob("*.py"))
    assert files
    wrong = dict[str, list[str]]()
    for file in files:
        if beyond := rooms_of(file.read_text()) - ALLOWED[folder] - {folder.removeprefix("siloseal/")}:
            wrong[str(file.relative_to(ROOT))] = sorted(beyond)
    assert wrong == {}


def test_no_package_is_in_a_cycle() -> None:
    packages = {name.removeprefix("siloseal/"): below for name, below in ALLOWED.items()}
    assert is_acyclic(packages)
    assert not is_acyclic(packages | {"report": {"runs"}})


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_of_federation_imports_only_what_lies_below_it(room: str) -> None:
    place = ROOT / "federation" / room
    files = list(place.rglob("*.py")) if place.is_dir() else [place.with_suffix(".py")]
    assert files
    imports = {str(file.relative_to(ROOT)): rooms_of(file.read_text(), within="siloseal.federation") for file in files}
    assert {file: beyond for file, names in imports.items() if (beyond := names - ROOMS[room] - {room})} == {}


def test_every_room_of_federation_has_a_line_and_no_room_is_in_a_cycle() -> None:
    paths = [
        path for path in (ROOT / "federation").iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()
    ]
    assert {path.stem for path in paths} - {"__init__"} == ROOMS.keys()
    assert is_acyclic(ROOMS)
    assert not is_acyclic(ROOMS | {"sums": {"privacy"}})


@pytest.mark.parametrize("name", RENDERING)
def test_what_renders_a_report_knows_none_of_the_data(name: str) -> None:
    assert rooms_of((ROOT / "siloseal" / "report" / f"{name}.py").read_text()) <= {"federation", "report"}


def test_nothing_is_imported_by_the_name_of_its_folder() -> None:
    """In a checkout `import silo` may work too, and would load everything a second time."""
    files = [file for folder in (*FOLDERS, "siloseal", "tests", "benchmarks") for file in (ROOT / folder).rglob("*.py")]
    wrong = {str(file): name for file in files for name in imported(file.read_text()) if name.split(".")[0] in FOLDERS}
    assert wrong == {}


def test_the_folders_of_the_top_level_are_found_in_the_package() -> None:
    for name in FOLDERS:
        assert (ROOT / "siloseal" / name).resolve() == ROOT / name


def test_the_check_sees_an_import_inside_a_function() -> None:
    assert rooms_of("def f():\n    from siloseal.silo.ledger import Ledger\n") == {"silo"}
    assert rooms_of("from siloseal import runs\n") == {"runs"}
    typed = (
        "if TYPE_CHECKING:\n    from siloseal.federation import errors\n    import siloseal.federation.sums.session\n"
    )
    assert rooms_of(typed, within="siloseal.federation") == {"errors", "sums"}
