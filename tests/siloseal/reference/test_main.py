"""`python -m siloseal.reference` writes the pages that are committed."""

import subprocess
import sys
from pathlib import Path

from siloseal.reference.pages import PAGES

DOCS = Path(__file__).parents[3] / "docs"


def test_every_page_is_written_into_the_folder_and_named(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "siloseal.reference", str(tmp_path)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ran.stdout.split() == [str(tmp_path / name) for name in PAGES]
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {
        name: (DOCS / name).read_bytes() for name in PAGES
    }
