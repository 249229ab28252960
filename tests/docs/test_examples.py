"""Every example in Python prints what it says, and what users are shown first uses public names only."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import siloseal

from .pages import PAGES, ROOT, blocks, name

PROMISE = re.compile(r"^print\(.*\)  # ([^:\n]*)", re.MULTILINE)
EXAMPLES = [(page, code) for page in PAGES for code in blocks(page, "python") if PROMISE.search(code)]
FOR_USERS = [ROOT / "README.md", ROOT / "docs/tutorial.md"]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
WHOLE_JOBS = [path for path in NOTEBOOKS if path.stem[:2] in ("01", "05", "08")]
"""Notebooks that show what a user does with a job; the others open protocols, mechanisms and attacks."""
SHARED = "siloseal.experiments.walkthroughs."
"""What notebooks share: pictures, and jobs in small."""


@pytest.mark.parametrize(("page", "code"), EXAMPLES, ids=[f"{name(page)}-{n}" for n, (page, _) in enumerate(EXAMPLES)])
def test_an_example_prints_what_it_says(
    page: Path, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "configs").symlink_to(ROOT / "configs")
    monkeypatch.chdir(tmp_path)
    exec(code, {})  # noqa: S102 (our own text)
    (promised,) = PROMISE.findall(code)
    assert capsys.readouterr().out == f"{promised.strip()}\n"


def test_there_are_examples() -> None:
    assert {name(page) for page, _ in EXAMPLES} >= {"README.md", "docs/noise.md", "docs/protocols.md"}


def code_of(page: Path) -> str:
    """The Python code of a page or of a notebook."""
    if page.suffix != ".ipynb":
        return "\n".join(blocks(page, "python"))
    cells = json.loads(page.read_text(encoding="utf-8"))["cells"]
    return "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")


def internal_imports(code: str) -> Iterator[tuple[str, str]]:
    """Module and name of everything that is imported from inside of the package."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and str(node.module).split(".")[0] == "siloseal":
            yield from ((str(node.module), alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names if alias.name.startswith("siloseal."))


@pytest.mark.parametrize("page", [*FOR_USERS, *WHOLE_JOBS], ids=name)
def test_users_are_shown_public_names_only(page: Path) -> None:
    code = code_of(page)
    used = {
        node.attr
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "siloseal"
    }
    assert used
    assert used <= set(siloseal.__all__)
    shared = SHARED if page in WHOLE_JOBS else "nothing else"
    assert [module for module, _ in internal_imports(code) if not module.startswith(shared)] == []


@pytest.mark.parametrize("page", [*PAGES, *NOTEBOOKS], ids=name)
def test_nothing_public_is_imported_from_inside_of_the_package(page: Path) -> None:
    assert [imported for _, imported in internal_imports(code_of(page)) if imported in siloseal.__all__] == []
