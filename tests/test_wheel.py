"""What an installation brings: one name, `siloseal`, which goes well with a user's own modules of any name."""

import os
import shutil
import subprocess
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = ("aggregator", "experiments", "federation", "models", "silo", "siloseal")
FILES = ("pyproject.toml", "README.md", "LICENSE")
USED = "import models, silo, siloseal, siloseal.models.building, siloseal.silo.ledger, siloseal.aggregator.coordinator"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout, built from a copy, because building leaves files behind."""
    if find_spec("setuptools") is None:
        pytest.skip("setuptools is not installed here, and a test does not download it")
    source, out = (tmp_path_factory.mktemp(name) for name in ("source", "wheel"))
    for name in SOURCES:
        shutil.copytree(ROOT / name, source / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    for name in FILES:
        shutil.copy(ROOT / name, source / name)
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir", str(out)]
    command = [sys.executable, "-m", "pip", "wheel", *options, str(source)]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    (built,) = out.glob("*.whl")
    return built


@pytest.mark.slow
def test_it_adds_one_name_and_brings_what_is_behind_the_links(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names if ".dist-info/" not in name} == {"siloseal"}
    sources = {
        f"siloseal/{path.relative_to(ROOT)}" for folder in SOURCES[:-1] for path in (ROOT / folder).rglob("*.py")
    }
    assert sources <= set(names)


@pytest.mark.slow
def test_it_is_imported_beside_a_users_own_modules_of_the_same_names(wheel: Path, tmp_path: Path) -> None:
    installed, own = tmp_path / "installed", tmp_path / "own"
    zipfile.ZipFile(wheel).extractall(installed)
    own.mkdir()
    for name in ("models", "silo"):
        (own / f"{name}.py").write_text("MINE = True\n")
    script = f"{USED}; print(models.MINE, silo.MINE, siloseal.__file__)"
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    ran = subprocess.run(
        [sys.executable, "-c", script],
        cwd=own,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert ran.stdout.split() == ["True", "True", str(installed / "siloseal" / "__init__.py")], ran.stderr
