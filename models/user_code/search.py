"""The one place where a module of the user's own lies. Nothing is imported to find it."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path

from siloseal.federation.errors import ConfigError
from siloseal.models.user_code.places import folders


@dataclass(frozen=True)
class Found:
    """A top-level module or package on this machine."""

    path: Path
    """The module's file, or the package's folder."""
    is_package: bool

    @property
    def folder(self) -> Path:
        """Folder that it lies in."""
        return self.path.parent


class SourceFinder(MetaPathFinder):
    """Base of the finder of code that is imported already, which is no place to look in."""


def find_top(name: str, target: str) -> Found:
    """The module or package of this name. Two in different places are refused: which one runs would be chance."""
    specs = list(_specs(name))
    # As Python has it: a folder without __init__.py counts only where nothing else has the name.
    places = [_found(spec, target) for spec in specs if spec.origin is not None]
    places = places or [_bare(spec, target) for spec in specs]
    if not places:
        looked = " nor in ".join(map(str, folders()))
        if not looked:
            raise ConfigError(
                f"{target} names {name}, which is not installed; install it, or name the folder that {name}.py lies in "
                "as code in this party's own file, silo.yaml or aggregator.yaml"
            )
        raise ConfigError(
            f"{target} names {name}, which is neither installed, nor in {looked}; install it, or put {name}.py there"
        )
    if len({place.path.resolve() for place in places}) > 1:
        where = " and in ".join(dict.fromkeys(str(place.path) for place in places))
        raise ConfigError(f"{target} names {name}, which is in {where}; rename one of them, or remove it")
    return places[0]


def _specs(name: str) -> Iterator[ModuleSpec]:
    """What every place says of the name: those that Python looks in, and the folders that were given."""
    for place in dict.fromkeys([*sys.path, *map(str, folders())]):
        if (spec := PathFinder.find_spec(name, [place])) is not None:
            yield spec
    for finder in sys.meta_path:  # packages that are installed in place have finders of their own
        if finder is PathFinder or isinstance(finder, SourceFinder):
            continue
        if (spec := finder.find_spec(name, None)) is not None:
            yield spec


def _found(spec: ModuleSpec, target: str) -> Found:
    if not isinstance(spec.loader, SourceFileLoader) or spec.origin is None:
        raise ConfigError(
            f"{target} is in {spec.origin}, which is no Python source, so that no digest covers it; name a .py file"
        )
    file = Path(spec.origin)
    return Found(_placed(file), False) if spec.submodule_search_locations is None else Found(_placed(file.parent), True)


def _bare(spec: ModuleSpec, target: str) -> Found:
    """A folder with modules, but without an __init__.py."""
    locations = [*(spec.submodule_search_locations or ())]
    if len(locations) != 1:
        raise ConfigError(f"{target} names {spec.name}, which has no source; name a module in a .py file")
    return Found(_placed(Path(locations[0])), True)


def _placed(path: Path) -> Path:
    """The full path. A link stays one under its own name, because that is the module's."""
    return path.parent.resolve() / path.name
