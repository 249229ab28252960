"""Modules of a user's own, in a folder that is not the repository's."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from siloseal.models.user_code import places

Write = Callable[..., Path]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that is looked in; what is imported from it is forgotten afterwards."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setattr(places, "_FOLDERS", [folder])
    finders, modules = [*sys.meta_path], set(sys.modules)
    yield folder
    sys.meta_path[:] = finders
    for name in set(sys.modules) - modules:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", None) or sys.modules[name].__spec__):
            del sys.modules[name]


@pytest.fixture
def write(home: Path) -> Write:
    """Writes files of the folder, by name and text."""

    def write(**files: str) -> Path:
        for name, text in files.items():
            path = home / f"{name.replace('__in__', '/')}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return home

    return write
