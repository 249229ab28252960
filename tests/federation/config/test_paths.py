"""Paths with environment variables and home folders, which differ from machine to machine."""

from pathlib import Path

import pytest

from siloseal.federation.config.paths import expand
from siloseal.federation.errors import DataError


def test_variables_and_the_home_folder_are_filled_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OWN_FOLDER", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    for path in ("${OWN_FOLDER}/file", "$OWN_FOLDER/file", "~/file"):
        assert expand(Path(path)) == tmp_path / "file"


@pytest.mark.parametrize(("value", "path"), [("", "${OWN_FOLDER}/file"), ("x", "~nobody_of_this_name/file")])
def test_what_cannot_be_filled_in_is_refused(monkeypatch: pytest.MonkeyPatch, value: str, path: str) -> None:
    monkeypatch.setenv("OWN_FOLDER", value)
    with pytest.raises(DataError, match="file"):
        expand(Path(path))
