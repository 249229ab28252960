"""What is imported is what was digested, and nothing that was in memory before under its name."""

import importlib
import os
import py_compile
import sys
from pathlib import Path
from types import ModuleType

import pytest

from siloseal.federation.errors import ConfigError
from siloseal.models.user_code.importing import import_module
from siloseal.models.user_code.source import source_of

from .conftest import Write


def test_a_package_imports_its_own_parts_early_and_late(write: Write) -> None:
    write(
        own_lab__in____init__="",
        own_lab__in__net="from .deep.layers import x\ndef late():\n    from own_lab.other import y\n    return x + y\n",
        own_lab__in__deep__in__layers="x = 1\n",
        own_lab__in__other="y = 2\n",
    )
    module = import_module("own_lab.net", source_of("own_lab.net:late"))
    assert module.late() == 3
    assert import_module("own_lab.net", source_of("own_lab.net:late")) is module


def test_a_folder_without_init_is_imported_too(write: Write) -> None:
    write(own_lab__in__net="from own_lab.other import y\n", own_lab__in__other="y = 2\n")
    assert import_module("own_lab.net", source_of("own_lab.net:y")).y == 2


def test_the_digested_bytes_run_whatever_lies_on_the_disk_by_then(write: Write) -> None:
    home = write(own_net="x = 'digested'\n")
    source = source_of("own_net:x")
    (home / "own_net.py").write_text("x = 'altered'\n")
    assert import_module("own_net", source).x == "digested"


def test_cached_bytecode_does_not_run(write: Write, tmp_path: Path) -> None:
    """Bytecode whose header fits the source in time and size, as Python would take it for the source's."""
    home = write(own_net="x = 'source'\n")
    (tmp_path / "other.py").write_text("x = 'cached'\n")
    stat = (home / "own_net.py").stat()
    os.utime(tmp_path / "other.py", (stat.st_atime, stat.st_mtime))
    cached = importlib.util.cache_from_source(str(home / "own_net.py"))
    py_compile.compile(str(tmp_path / "other.py"), cfile=cached, dfile=str(home / "own_net.py"), doraise=True)
    assert import_module("own_net", source_of("own_net:x")).x == "source"


@pytest.mark.parametrize("names", [("own_net",), ("own_lab", "own_lab.net")])
def test_a_module_in_memory_from_another_file_is_refused(write: Write, tmp_path: Path, names: tuple[str, ...]) -> None:
    write(own_net="", own_lab__in____init__="", own_lab__in__net="")
    other = ModuleType(names[-1])
    other.__file__ = str(tmp_path / "elsewhere.py")
    if len(names) == 2:
        import_module("own_lab", source_of("own_lab:x"))
    sys.modules[names[-1]] = other
    with pytest.raises(ConfigError, match=r"elsewhere\.py"):
        import_module(names[-1], source_of(f"{names[-1]}:x"))


def test_a_module_that_the_user_imported_from_the_same_file_is_taken(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = write(own_net="x = 1\n")
    monkeypatch.syspath_prepend(home)
    theirs = importlib.import_module("own_net")
    assert import_module("own_net", source_of("own_net:x")) is theirs


def test_a_source_that_changes_after_its_import_is_refused(write: Write) -> None:
    write(own_net="x = 1\n")
    import_module("own_net", source_of("own_net:x"))
    write(own_net="x = 2\n")
    with pytest.raises(ConfigError, match="own_net"):
        import_module("own_net", source_of("own_net:x"))


def test_an_import_that_failed_leaves_nothing_and_the_next_one_begins_anew(write: Write) -> None:
    write(own_lab__in____init__="", own_lab__in__net="from .other import y\n1 / 0\n", own_lab__in__other="y = 1\n")
    finders = [*sys.meta_path]
    with pytest.raises(ZeroDivisionError):
        import_module("own_lab.net", source_of("own_lab.net:y"))
    assert sys.meta_path == finders
    assert not [name for name in sys.modules if name.startswith("own_lab")]
    write(own_lab__in__net="from .other import y\n", own_lab__in__other="y = 2\n")
    assert import_module("own_lab.net", source_of("own_lab.net:y")).y == 2
