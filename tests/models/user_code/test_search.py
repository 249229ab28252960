"""A module lies in one place, and finding it runs nothing."""

import sys
from pathlib import Path

import pytest

from siloseal.federation.errors import ConfigError
from siloseal.models.user_code.places import look_in
from siloseal.models.user_code.search import find_top

from .conftest import Write


def test_a_file_or_a_package_is_found_and_not_imported(write: Write) -> None:
    home = write(own_net="raise SystemExit\n", own_lab__in____init__="raise SystemExit\n").resolve()
    file, package = find_top("own_net", ""), find_top("own_lab", "")
    assert (file.path, file.is_package) == (home / "own_net.py", False)
    assert (package.path, package.folder, package.is_package) == (home / "own_lab", home, True)
    assert not {"own_net", "own_lab"} & set(sys.modules)


def test_a_folder_without_init_is_a_package_where_nothing_else_has_its_name(write: Write, tmp_path: Path) -> None:
    home = write(own_lab__in__net="").resolve()
    assert find_top("own_lab", "").path == home / "own_lab"
    (tmp_path / "own_lab.py").write_text("")
    look_in(tmp_path)
    assert find_top("own_lab", "").path == tmp_path.resolve() / "own_lab.py"


def test_a_linked_file_keeps_its_own_name(home: Path) -> None:
    (home / "version_2.py").write_text("")
    (home / "own_net.py").symlink_to(home / "version_2.py")
    assert find_top("own_net", "").path == home.resolve() / "own_net.py"


def test_two_of_one_name_are_refused_wherever_they_lie(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(own_net="")
    (tmp_path / "own_net.py").write_text("")
    with monkeypatch.context() as patched:
        patched.syspath_prepend(tmp_path)
        with pytest.raises(ConfigError, match=str(tmp_path)):
            find_top("own_net", "")
    look_in(tmp_path)
    with pytest.raises(ConfigError, match=str(tmp_path)):
        find_top("own_net", "")


def test_one_that_shadows_an_installed_package_is_refused(write: Write) -> None:
    write(torchvision="")
    with pytest.raises(ConfigError, match="site-packages"):
        find_top("torchvision", "")


def test_nothing_found_says_where_was_looked(home: Path) -> None:
    with pytest.raises(ConfigError, match=str(home)):
        find_top("nowhere_to_be_found", "")
