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


@pytest.mark.parametrize("names", [("own_net",), ("own_lab", "own_lab.net"), ("own_bare.net",)])
def test_a_module_that_the_user_imported_first_is_refused(
    write: Write, monkeypatch: pytest.MonkeyPatch, names: tuple[str, ...]
) -> None:
    """It is of the same file, but of the text that the file had then."""
    home = write(own_net="x = 1\n", own_lab__in____init__="", own_lab__in__net="x = 1\n", own_bare__in__net="x = 1\n")
    with monkeypatch.context() as patched:
        patched.syspath_prepend(home)
        importlib.import_module(names[-1])
    write(own_net="x = 2\n", own_lab__in__net="x = 2\n", own_bare__in__net="x = 2\n")
    source = source_of(f"{names[-1]}:x")
    with pytest.raises(ConfigError):
        import_module(names[-1], source)
    sys.modules.pop(source.top)
    if len(names[-1].split(".")) == 2:  # a part that stayed without its package
        with pytest.raises(ConfigError):
            import_module(names[-1], source)
        sys.modules.pop(names[-1])
    assert import_module(names[-1], source).x == 2


def test_what_the_user_imports_afterwards_is_what_was_digested(write: Write) -> None:
    write(own_net="x = 1\n")
    ours = import_module("own_net", source_of("own_net:x"))
    assert importlib.import_module("own_net") is ours


def test_bytecode_without_source_inside_the_package_does_not_run(write: Write, tmp_path: Path) -> None:
    home = write(own_lab__in____init__="", own_lab__in__net="from .hidden import x\n")
    (tmp_path / "hidden.txt").write_text("x = 1\n")
    py_compile.compile(str(tmp_path / "hidden.txt"), cfile=str(home / "own_lab" / "hidden.pyc"), doraise=True)
    with pytest.raises(ModuleNotFoundError):
        import_module("own_lab.net", source_of("own_lab.net:x"))


@pytest.mark.parametrize("statement", ["from . import late", "import own_lab.late", "from own_lab.late import x"])
@pytest.mark.parametrize("late", ["own_lab__in__late", "own_lab__in__late__in____init__", "own_lab__in__late__in__x"])
def test_a_file_that_is_written_after_the_digest_is_not_imported(write: Write, statement: str, late: str) -> None:
    write(own_lab__in____init__="", own_lab__in__net=f"def build():\n    {statement}\n")
    module = import_module("own_lab.net", source_of("own_lab.net:build"))
    write(**{late: "x = 1\n"})
    with pytest.raises(ImportError):
        module.build()
    assert "own_lab.late" not in sys.modules


def test_a_part_that_is_not_there_may_be_optional(write: Write) -> None:
    text = "try:\n    from . import fast as x\nexcept ImportError:\n    x = 'slow'\n"
    write(own_lab__in____init__="", own_lab__in__net=text)
    assert import_module("own_lab.net", source_of("own_lab.net:x")).x == "slow"


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
