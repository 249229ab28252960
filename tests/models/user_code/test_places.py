"""Folders that are looked in, and files that a job names in them."""

from pathlib import Path

import pytest

from siloseal.federation.errors import ConfigError, DataError
from siloseal.models.user_code.places import folders, look_in, own_file


def test_a_folder_counts_once_and_a_relative_one_follows_the_current_folder(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(2):
        look_in(Path())
    for current in (tmp_path, home):
        monkeypatch.chdir(current)
        assert folders() == list(dict.fromkeys([home.resolve(), current.resolve()]))


def test_a_file_is_found_by_its_full_path_or_from_a_folder(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "weights").mkdir()
    file = home / "weights" / "first.safetensors"
    file.touch()
    monkeypatch.setenv("OWN_WEIGHTS", str(file.parent))
    for path in (file, Path("weights/first.safetensors"), Path("${OWN_WEIGHTS}/first.safetensors")):
        assert own_file(path, field="weights").resolve() == file.resolve()


def test_a_file_that_a_link_leads_to_is_one_and_a_folder_is_none(home: Path, tmp_path: Path) -> None:
    look_in(tmp_path)
    (home / "first").touch()
    (tmp_path / "first").symlink_to(home / "first")
    assert own_file(Path("first"), field="weights") == home.resolve() / "first"
    (home / "second").mkdir()
    with pytest.raises(ConfigError, match="second"):
        own_file(Path("second"), field="weights")


def test_no_file_or_two_are_refused(home: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="weights"):
        own_file(Path("first"), field="weights")
    with pytest.raises(DataError, match="UNSET_HERE"):
        own_file(Path("${UNSET_HERE}/first"), field="weights")
    look_in(tmp_path)
    for folder in (home, tmp_path):
        (folder / "first").touch()
    with pytest.raises(ConfigError, match=str(home)):
        own_file(Path("first"), field="weights")
