"""The consortium that ships, with keys made by the authority, in a folder where tests may change it."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from siloseal.provisioning.kits import provision

CONFIGS = Path(__file__).parents[3] / "configs"
BY_AUTHORITY = "keys: made_by_authority"
Change = Callable[[dict[str, Any], dict[str, Any]], None]


def _consortium_in(folder: Path) -> Path:
    """The files that ship, where the authority makes the keys."""
    shutil.copy(CONFIGS / "hospitals.yaml", folder)
    text = (CONFIGS / "consortium.yaml").read_text()
    assert text.count(f"# {BY_AUTHORITY}\n") == 1
    (folder / "consortium.yaml").write_text(text.replace(f"# {BY_AUTHORITY}\n", f"{BY_AUTHORITY}\n"))
    return folder / "consortium.yaml"


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """consortium.yaml, beside its job."""
    return _consortium_in(tmp_path)


@pytest.fixture
def keys_at_silos(config: Path) -> Path:
    """The same file, where every silo makes its own keys, as it ships."""
    config.write_text(config.read_text().replace(BY_AUTHORITY, f"# {BY_AUTHORITY}"))
    return config


@pytest.fixture
def change(config: Path) -> Callable[[Change], None]:
    """Applies a change to the consortium and to its job."""

    def apply(alter: Change) -> None:
        paths = config, config.with_name("hospitals.yaml")
        consortium, job = (yaml.safe_load(path.read_text()) for path in paths)
        alter(consortium, job)
        for path, values in zip(paths, (consortium, job), strict=True):
            path.write_text(yaml.safe_dump(values, sort_keys=False))

    return apply


@pytest.fixture
def add_silo(change: Callable[[Change], None]) -> Callable[..., None]:
    """Adds a silo to both files."""

    def add(name: str, **fields: Any) -> None:
        def alter(consortium: dict[str, Any], job: dict[str, Any]) -> None:
            consortium["silos"].append({"name": name, "data": {"kind": "digits"}, **fields})
            job["silos"]["names"].append(name)

        change(alter)

    return add


@pytest.fixture(scope="session")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The kits of the consortium."""
    folder = tmp_path_factory.mktemp("made_once")
    provision(_consortium_in(folder), folder / "kits")
    return folder / "kits"


@pytest.fixture
def kits(made_once: Path, tmp_path: Path) -> Path:
    """A copy of them, with their modes, for one test."""
    shutil.copytree(made_once, tmp_path / "kits")
    return tmp_path / "kits"


@pytest.fixture
def again(config: Path, kits: Path) -> Callable[[], str]:
    """Makes them again; returns what is said."""
    return lambda: "\n".join(provision(config, kits))
