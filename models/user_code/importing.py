"""Imports from the bytes that were digested: no change on the disk, and no cached bytecode, comes between."""

import importlib
import sys
import threading
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType

from siloseal.federation.errors import ConfigError
from siloseal.models.user_code.search import SourceFinder
from siloseal.models.user_code.source import Source

_importing = threading.RLock()  # a simulation may build its silos in threads


def import_module(name: str, source: Source) -> ModuleType:
    """The module of this name, which is in the source."""
    with _importing:
        if source.top not in sys.modules:
            return _first_import(name, source)
        _require_same(sys.modules[source.top], source)
        module = importlib.import_module(name)
        _require_same(module, source)
        return module


def imported_digest(target: str) -> str | None:
    """The digest of the source that a target was imported from in this process; None if siloseal has not imported it.

    It is that of the code in memory, whatever has become of the file since.
    """
    module = sys.modules.get(target.partition(":")[0])
    loader = getattr(getattr(module, "__spec__", None), "loader", None)
    return loader.digest if isinstance(loader, _SourceLoader) else None


def _first_import(name: str, source: Source) -> ModuleType:
    for each in _in_memory(source.top):
        _require_same(sys.modules[each], source)
    finder = _Finder(source)
    sys.meta_path.insert(0, finder)
    try:
        return importlib.import_module(name)
    except BaseException:  # the next try, with mended files, begins from nothing
        sys.meta_path.remove(finder)
        for each in _in_memory(source.top):
            del sys.modules[each]
        raise


def _in_memory(top: str) -> list[str]:
    return [name for name in sys.modules if name == top or name.startswith(f"{top}.")]


class _Finder(SourceFinder):
    """A finder of the modules of one source, for as long as the process lives: code may import its parts late."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The module, if it is one of the source's. Python looks on for other packages, and never for this one."""
        source = self._source
        if fullname.partition(".")[0] != source.top:
            return None
        place, file = source.path_of(fullname), source.file_of(fullname)
        if file is None and not source.has_folder(fullname):
            raise ModuleNotFoundError(
                f"{fullname} is not among the .py files of {source.top} that were digested; only those are imported",
                name=fullname,
            )
        if file is None:  # a package without an __init__.py, in one folder
            spec = ModuleSpec(fullname, _SourceLoader(fullname, str(place), b"", source.digest), is_package=True)
            spec.submodule_search_locations = [str(place)]
            return spec
        loader = _SourceLoader(fullname, str(place), source.files[file], source.digest)
        inside = [str(place.parent)] if file.endswith("/__init__.py") else None
        return spec_from_file_location(fullname, place, loader=loader, submodule_search_locations=inside)


class _SourceLoader(SourceFileLoader):
    """A loader of one file's content, which remembers the digest that the content is part of."""

    def __init__(self, fullname: str, path: str, content: bytes, digest: str) -> None:
        super().__init__(fullname, path)
        self._content, self.digest = content, digest

    def get_code(self, fullname: str) -> CodeType:
        return self.source_to_code(self._content, self.path)


def _require_same(module: ModuleType, source: Source) -> None:
    """Refuse a module in memory that is not what was digested: it would run under the other's digest."""
    spec, expected = getattr(module, "__spec__", None), source.path_of(module.__name__)
    if (found := _file_of(module)) is None or found.resolve() != expected.resolve():
        raise ConfigError(
            f"{module.__name__} is imported already, from {found}, and not from {expected}; rename one of the two"
        )
    if spec is None or not isinstance(spec.loader, _SourceLoader):
        raise ConfigError(
            f"{module.__name__} was imported before siloseal read {expected}, so that nobody can tell whether what is "
            f"in memory is what is digested; start Python, or the notebook's kernel, again, and import {source.top} "
            "only after siloseal has run it"
        )
    if spec.loader.digest != source.digest:
        raise ConfigError(f"{expected} has changed since it was imported, and Python keeps what it has; start again")


def _file_of(module: ModuleType) -> Path | None:
    """The file that a module came from, or the folder of a package without an __init__.py."""
    if (file := getattr(module, "__file__", None)) is not None:
        return Path(file)
    folders = [*getattr(module, "__path__", ())]
    return Path(folders[0]) if len(folders) == 1 else None
