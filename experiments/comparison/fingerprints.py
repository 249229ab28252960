"""Fingerprints of what numbers depend on besides their settings: the data, and the program."""

import hashlib
from functools import cache
from importlib.metadata import version
from pathlib import Path

from siloseal.federation.errors import DataError
from siloseal.federation.job.sections.data import DataSource
from siloseal.silo.data.paths import likely_place

PACKAGES = (
    "aggregator", "federation", "models", "silo", "runs",
    "experiments/comparison/measurements", "experiments/traffic.py",
)  # fmt: skip
ATTACKS = "experiments/attacks"
LIBRARIES = ("dp-accounting", "gmpy2", "numpy", "tenseal", "torch")
ROOT = Path(__file__).parents[2]
"""The package `siloseal`: its folders are links in a checkout, and folders where it is installed."""


def fingerprint(source: DataSource) -> str:
    """Digest of the files that a job reads; empty for data that come with a package or are not there."""
    path = next((found for key in ("folder", "path", "file") if (found := getattr(source, key, None))), None)
    try:
        return "" if path is None else _of_files(likely_place(path).resolve())
    except DataError:
        return ""


@cache
def _of_files(place: Path) -> str:
    files = sorted(path for path in place.rglob("*") if path.is_file()) if place.is_dir() else [place]
    digest = hashlib.sha256()
    for path in files:
        if path.exists():
            digest.update(f"{path.relative_to(place)} {path.stat().st_size}\n".encode())
            with path.open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


@cache
def program(*, attacks: bool) -> str:
    """Digest of the sources that compute, of the attacks only where they do, and of the libraries below them."""
    digest = hashlib.sha256(" ".join(f"{name} {version(name)}" for name in LIBRARIES).encode())
    for path in sources(attacks=attacks):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def sources(*, attacks: bool) -> list[Path]:
    """Return the source files that compute numbers, without those of figures and words."""
    places = [ROOT / name for name in ((*PACKAGES, ATTACKS) if attacks else PACKAGES)]
    return sorted(path for place in places for path in ([place] if place.is_file() else place.rglob("*.py")))
