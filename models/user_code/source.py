"""The source of a user's module, and its digest.

A module in a file of its own has the SHA-256 of that file, as `sha256sum` prints it. A module inside a package has the
SHA-256 over the names and contents of all .py files of the top package, subpackages included, because it may import
any of them. Bytes count as they are, line endings included.

Of the module's own package nothing else is imported: no bytecode without source, no compiled extension, and no file
that is written later.

What no digest covers: the installed libraries that the code imports, files that are not Python, and whatever it
imports from elsewhere by a name that it computes. Whoever allows a digest in a policy has read the code.
"""

import ast
import hashlib
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib.machinery import EXTENSION_SUFFIXES, all_suffixes
from pathlib import Path

from siloseal.federation.errors import ConfigError
from siloseal.models.user_code.search import Found, find_top

INSTALLED = ("site-packages", "dist-packages")
"""Names of the folders that hold installed libraries, where modules of many origins lie side by side."""

_OURS = ("siloseal", "__main__")


@dataclass(frozen=True)
class Source:
    """The files that a user's module is made of, as they were read once: what is digested is what is imported."""

    top: str
    """Name of the module, or of the package that it is in."""
    folder: Path
    """Folder that the module or the package lies in."""
    files: Mapping[str, bytes]
    """Contents by path below the folder, such as mylab/learner.py."""
    is_package: bool

    @cached_property
    def digest(self) -> str:
        """The digest, as a job and a policy spell it."""
        if not self.is_package:
            (content,) = self.files.values()
            return _spelled(content)
        hashed = hashlib.sha256(b"siloseal package\0")  # no source file holds a NUL
        for name in sorted(self.files):
            for part in (name.encode(), self.files[name]):
                hashed.update(len(part).to_bytes(8, "little") + part)
        return f"sha256:{hashed.hexdigest()}"

    def file_of(self, module: str) -> str | None:
        """The file that a module is in, as `files` names it; None if there is none."""
        stem = module.replace(".", "/")
        return next((name for name in (f"{stem}/__init__.py", f"{stem}.py") if name in self.files), None)

    def has_folder(self, module: str) -> bool:
        """Whether a folder of this name holds some of the files, as a package without an __init__.py does."""
        return any(name.startswith(f"{module.replace('.', '/')}/") for name in self.files)

    def path_of(self, module: str) -> Path:
        """The path of a module's file, or of its folder where a package has no __init__.py."""
        return self.folder / (self.file_of(module) or module.replace(".", "/"))


def source_of(target: str) -> Source:
    """The source of a target, MODULE:NAME, as it lies on this machine. Nothing of it is run."""
    module, _, _ = target.partition(":")
    top = module.partition(".")[0]
    _require_own(top, target)
    found = find_top(top, target)
    source = Source(top, found.folder, _read(found), found.is_package)
    if (file := source.file_of(module)) is None:
        raise ConfigError(
            f"{target} names the module {module}, but {found.path} has no such .py file; correct the name, or install "
            "the source"
        )
    _require_no_extension(source, file, target)
    _require_whole(source, target)
    return source


def file_digest(path: Path) -> str:
    """The digest of one file, as `sha256sum` prints it."""
    with path.open("rb") as file:
        return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"


def _spelled(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def _require_own(top: str, target: str) -> None:
    if top in sys.stdlib_module_names or top in _OURS:
        whose = "Python's own" if top in sys.stdlib_module_names else "no file of yours"
        raise ConfigError(
            f"{target} names {top}, which is {whose}; name a module of your own, in a file that is called otherwise"
        )


def _read(found: Found) -> dict[str, bytes]:
    paths = _files_below(found.path, (".py",)) if found.is_package else [found.path]
    try:
        return {path.relative_to(found.folder).as_posix(): path.read_bytes() for path in paths}
    except OSError as error:
        raise ConfigError(f"{error.filename} cannot be read ({error.strerror}); mend access to it") from error


def _files_below(package: Path, suffixes: tuple[str, ...]) -> Iterator[Path]:
    """All such files below a package's folder. Links to folders are followed, as imports follow them, but not twice."""
    seen = set[str]()
    for folder, below, names in os.walk(package, followlinks=True):
        seen.add(os.path.realpath(folder))
        below[:] = sorted(name for name in below if os.path.realpath(Path(folder, name)) not in seen)
        yield from (Path(folder, name) for name in names if name.endswith(suffixes))


def _require_no_extension(source: Source, file: str, target: str) -> None:
    """Refuse a compiled module beside the source: Python would import that one."""
    stem = source.folder / file.removesuffix("/__init__.py").removesuffix(".py")
    for suffix in EXTENSION_SUFFIXES:
        if (compiled := stem.with_name(stem.name + suffix)).exists():
            raise ConfigError(f"{target} is compiled ({compiled}), which no digest covers; remove it, or name another")


def _require_whole(source: Source, target: str) -> None:
    """Refuse imports of files beside the source, which its digest would not cover."""
    if source.folder.name in INSTALLED:
        return
    for file, content in source.files.items():
        for name in sorted(_imported(content)):
            if name in (source.top, *_OURS) or not _can_be_imported(source.folder / name):
                continue
            raise ConfigError(
                f"{target}: {source.folder / file} imports {name}, which lies beside it, so that the digest would not "
                f"cover it; make a package: a folder with both files and an empty __init__.py, and import .{name}"
            )


def _can_be_imported(stem: Path) -> bool:
    """Whether Python could import something by this path: source, bytecode or an extension, at any depth below it."""
    suffixes = tuple(all_suffixes())
    beside = any(stem.with_name(stem.name + suffix).is_file() for suffix in suffixes)
    return beside or next(_files_below(stem, suffixes), None) is not None


@lru_cache(maxsize=1024)  # many silos of a simulation build one network
def _imported(content: bytes) -> frozenset[str]:
    """The top names that a file imports, wherever in it; none of one that is no Python, which its import will say."""
    try:
        nodes = [*ast.walk(ast.parse(content))]
    except (SyntaxError, ValueError):
        return frozenset()
    imports = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    imports += [node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module and not node.level]
    return frozenset(name.partition(".")[0] for name in imports)
