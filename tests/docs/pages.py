"""The pages that a person reads, and what stands in them."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def blocks(page: Path, language: str) -> list[str]:
    """The code blocks of one language."""
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


def name(page: Path) -> str:
    """Path of a page in the checkout, for the names of tests."""
    return str(page.relative_to(ROOT))
