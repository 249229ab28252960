"""The page of a comparison: complete, self-contained, and without an error in a real browser."""

import re
from pathlib import Path
from typing import Any

import pytest

from siloseal.experiments.report.chapter import ChapterKind, comparison_report, with_notes
from siloseal.report.document import Chapter, Command, Notes
from siloseal.report.page import write_page


@pytest.fixture(scope="module")
def report(
    tmp_path_factory: pytest.TempPathFactory, chapters: dict[ChapterKind, Chapter]
) -> tuple[Path, list[Chapter]]:
    """All chapters on one page."""
    shown = list(chapters.values())
    return write_page(tmp_path_factory.mktemp("report") / "report.html", comparison_report(shown)), shown


def test_the_page_needs_nothing_beside_it(report: tuple[Path, list[Chapter]]) -> None:
    page = report[0].read_text(encoding="utf-8")
    targets = re.findall(r'(?:src|href)="([^"]*)"', page)
    assert targets
    assert all(target.startswith(("data:", "#")) for target in targets)
    assert "url(" not in page


def test_everything_of_a_chapter_is_on_the_page(report: tuple[Path, list[Chapter]]) -> None:
    page = report[0].read_text(encoding="utf-8")
    for chapter in report[1]:
        assert f"siloseal compare configs/compare-{chapter.name}.yaml</code>; it took 1 min 15 s of one core" in page
        assert page.count(f'href="#chapter-{chapter.name}"') == page.count(f'<section id="chapter-{chapter.name}"') == 1
        for figure in chapter.figures:
            assert page.count(f'href="#figure-{figure.name}"') == page.count(f'id="figure-{figure.name}"') == 1
            assert figure.png is not None
            assert figure.png.name in page


def test_notes_are_added_around_those_of_a_chapter() -> None:
    bare = Chapter("c", "t", "l", (Command("x"),))
    assert with_notes(bare) == bare
    noted = Chapter("c", "t", "l", (Command("x"), Notes(("its own",))))
    assert with_notes(noted, before=["first"], after=["last"]).notes == ("first", "its own", "last")


@pytest.mark.parametrize("width", [1100, 390])
def test_a_browser_shows_every_figure_and_has_nothing_to_complain(
    report: tuple[Path, list[Chapter]], browser: Any, width: int
) -> None:
    path, chapters = report
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": True}
    )
    browser.get(path.as_uri())
    figures = [figure for chapter in chapters for figure in chapter.figures]
    shown = browser.execute_script(
        "return [...document.images].map(i => [i.alt, i.complete, i.naturalWidth, i.naturalHeight, i.clientWidth])"
    )
    assert [alt for alt, *_ in shown] == [figure.message for figure in figures]
    assert all(complete and min(sizes) > 0 for _, complete, *sizes in shown), shown
    wide = browser.execute_script("return document.documentElement.scrollWidth - window.innerWidth")
    assert wide <= 0
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []
