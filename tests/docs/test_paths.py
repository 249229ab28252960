"""Files and folders that a page names are there: a rename takes the pages with it."""

import re
from pathlib import Path

import pytest

from .pages import PAGES, ROOT, name

FOLDERS = "federation|silo|aggregator|models|siloseal|experiments|benchmarks|tests|configs|notebooks|docs"
PATH = re.compile(rf"`((?:{FOLDERS})/[\w./*-]*)`")
MADE_LATER = ("configs/requests", "notebooks/html")


def missing(page: Path) -> list[str]:
    """Paths within the checkout that a page names and nobody finds."""
    found = [path.rstrip("/") for path in PATH.findall(page.read_text(encoding="utf-8"))]
    return [path for path in found if not list(ROOT.glob(path)) and not path.startswith(MADE_LATER)]


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_path_that_a_page_names_is_there(page: Path) -> None:
    assert missing(page) == []


def test_a_path_that_is_gone_would_be_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("`federation/errors.py`, `federation/gone.py`, `configs/compare-*.yaml`, `silo/`\n")
    assert missing(page) == ["federation/gone.py"]
