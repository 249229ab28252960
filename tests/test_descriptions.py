"""Docstrings, descriptions of settings and help of commands read on their own, without the name above them.

Whoever meets one in docs/config.md or in `--help` reads "the step size at the start of the fit", and not "of the fit". What
begins with a preposition or a pronoun hangs on the name, and so does a clause that begins with "so that" or "as many".
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("aggregator", "benchmarks", "experiments", "federation", "models", "silo")
HANGS = re.compile(
    r"(of|that|than|whose|with|by|in|on|at|to|between|below|above|after|before|its|their|so|as many|as much)\b",
    re.IGNORECASE,
)
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def sources() -> Iterator[Path]:
    for folder in FOLDERS:
        yield from (ROOT / folder).rglob("*.py")
    for path in (ROOT / "siloseal").rglob("*.py"):
        if path.relative_to(ROOT / "siloseal").parts[0] not in FOLDERS:  # links to the folders above
            yield path


def texts(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and text of the docstrings of modules, classes, functions and attributes, and of `description=` and `help=`."""
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED):
            values = [statement.value for statement in node.body if isinstance(statement, ast.Expr)]
        elif isinstance(node, ast.keyword) and node.arg in ("description", "help"):
            values = [node.value.values[0] if isinstance(node.value, ast.JoinedStr) else node.value]
        else:
            continue
        for value in values:
            if isinstance(value, ast.Constant) and isinstance(text := value.value, str):
                yield value.lineno, text.strip()


def hanging(text: str) -> list[tuple[int, str]]:
    """Line and first line of every text that hangs on the name above it."""
    return [(line, each.splitlines()[0]) for line, each in texts(ast.parse(text)) if HANGS.match(each)]


@pytest.mark.parametrize(
    "text",
    [
        '"""Of the vector."""',
        'x: int\n"""That a sum asks."""',
        'Field(description="of the fit")',
        'def f():\n  """So that."""',
    ],
)
def test_a_text_that_hangs_on_a_name_is_found(text: str) -> None:
    assert len(hanging(text)) == 1


def test_a_text_that_reads_on_its_own_is_not() -> None:
    assert hanging('"""Offers a job."""\nField(description="the step size, as MNIST has it")') == []


def test_every_text_reads_on_its_own() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {text}"
        for path in sorted(sources())
        for line, text in hanging(path.read_text(encoding="utf-8"))
    ]
    assert found == []
