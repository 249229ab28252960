"""Every example in Python prints what it says, and what users are shown first uses public names only."""

import ast
import re
from pathlib import Path

import pytest

import siloseal

from .pages import PAGES, ROOT, blocks, name

PROMISE = re.compile(r"^print\(.*\)  # ([^:\n]*)", re.MULTILINE)
EXAMPLES = [(page, code) for page in PAGES for code in blocks(page, "python") if PROMISE.search(code)]
FOR_USERS = [ROOT / "README.md", ROOT / "docs/tutorial.md"]


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


@pytest.mark.parametrize("page", FOR_USERS, ids=name)
def test_users_are_shown_public_names_only(page: Path) -> None:
    code = "\n".join(blocks(page, "python"))
    used = {
        node.attr
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "siloseal"
    }
    assert used
    assert used <= set(siloseal.__all__)
    assert "from siloseal" not in code
    assert "import siloseal." not in code
