"""`python -m siloseal.reference docs` writes the generated pages into this folder; `make docs` calls it."""

import sys
from pathlib import Path

from siloseal.reference.pages import PAGES


def main(folder: Path) -> None:
    """Write every page, and print its path."""
    for name, page in PAGES.items():
        path = folder / name
        path.write_text(page(), encoding="utf-8")
        print(path)


main(Path(sys.argv[1]))
