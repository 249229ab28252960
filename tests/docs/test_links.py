"""Every link and picture of README, docs/ and the pages beside them leads somewhere; every page is reached from the README."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from siloseal.reference.markdown import anchor

from .pages import PAGES, ROOT, name

LINK = re.compile(r'\]\(([^)\s]+)\)|<img src="([^"]+)"')
ELSEWHERE = ("http://", "https://", "mailto:")


def links(page: Path) -> list[str]:
    """Links of a page within the checkout, code aside."""
    prose = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    return [target for pair in LINK.findall(prose) for target in pair if target and not target.startswith(ELSEWHERE)]


def anchors(page: Path) -> set[str]:
    """Anchors of a page's headings, as GitHub makes them; a heading that comes again has a number behind it."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    found = [anchor(heading) for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE)]
    return {*found, *(f"{one}-{found[:place].count(one)}" for place, one in enumerate(found) if one in found[:place])}


def leads_nowhere(page: Path, link: str) -> bool:
    path, _, heading = link.partition("#")
    target = page if not path else (page.parent / path).resolve()
    return not target.exists() or bool(heading and heading not in anchors(target))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_link_of_a_page_resolves(page: Path) -> None:
    assert [link for link in links(page) if leads_nowhere(page, link)] == []


def test_a_broken_link_would_be_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# One heading\n[a](#one-heading) [b](#another) [c](none.md) ![d](none.png) [e](https://example.org)\n"
    )
    assert [link for link in links(page) if leads_nowhere(page, link)] == ["#another", "none.md", "none.png"]


def test_every_page_is_reached_from_the_readme() -> None:
    reached, ahead = set[Path](), [ROOT / "README.md"]
    while ahead:
        page = ahead.pop()
        reached.add(page)
        found = {(page.parent / link.partition("#")[0]).resolve() for link in links(page)}
        ahead += [one for one in found if one.suffix == ".md" and one not in reached]
    assert [name(page) for page in PAGES if page not in reached] == []


def test_the_picture_is_well_formed_and_has_a_title() -> None:
    picture = ElementTree.parse(ROOT / "docs/overview.svg").getroot()  # noqa: S314 (our own file)
    assert picture.find("{http://www.w3.org/2000/svg}title") is not None
