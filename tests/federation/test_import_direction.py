"""Who may import whom: the aggregator never sees the silos' code, and federation knows nobody."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ALLOWED = {
    "federation": set[str](),
    "models": {"federation"},
    "silo": {"federation", "models"},
    "aggregator": {"federation", "models"},
    "siloseal": {"federation", "models", "silo", "aggregator"},
}
WIRES = {"siloseal/compare_cli.py": {"experiments"}}
"""The command line may call what lies above it."""
OURS = {*ALLOWED, "experiments", "benchmarks", "tests"}


def imported(source: str) -> set[str]:
    names = set[str]()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.split(".")[0])
    return names & OURS


@pytest.mark.parametrize("package", ALLOWED)
def test_a_package_imports_only_what_lies_below_it(package: str) -> None:
    files = list((ROOT / package).rglob("*.py"))
    assert files
    wrong = dict[str, list[str]]()
    for file in files:
        name = str(file.relative_to(ROOT))
        if beyond := imported(file.read_text()) - ALLOWED[package] - {package} - WIRES.get(name, set()):
            wrong[name] = sorted(beyond)
    assert wrong == {}


def test_the_check_sees_an_import_inside_a_function() -> None:
    assert imported("def f():\n    from silo.ledger import Ledger\n") == {"silo"}
