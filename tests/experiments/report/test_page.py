"""The page: complete, self-contained, safe, and without an error in a real browser."""

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from siloseal.experiments.report.chapter import Chapter, ChapterKind, Figure, Table
from siloseal.experiments.report.page import anchor, write_report

EVIL = '<script>alert("x")</script>'


@pytest.fixture(scope="module")
def report(
    tmp_path_factory: pytest.TempPathFactory, chapters: dict[ChapterKind, Chapter]
) -> tuple[Path, list[Chapter]]:
    """All chapters on one page."""
    shown = list(chapters.values())
    return write_report(tmp_path_factory.mktemp("report"), shown), shown


def test_the_page_needs_nothing_beside_it(report: tuple[Path, list[Chapter]]) -> None:
    page = report[0].read_text(encoding="utf-8")
    assert "default-src 'none'; img-src data:; style-src 'unsafe-inline'" in page
    assert "<script" not in page
    targets = re.findall(r'(?:src|href)="([^"]*)"', page)
    assert targets
    assert all(target.startswith(("data:", "#")) for target in targets)
    assert "url(" not in page


def test_everything_of_a_chapter_is_on_the_page(report: tuple[Path, list[Chapter]]) -> None:
    page = report[0].read_text(encoding="utf-8")
    for chapter in report[1]:
        assert (
            f"siloseal compare configs/compare-{chapter.name}.yaml</code>; its cells took 1 min 15 s of one core"
            in page
        )
        assert page.count(f'href="#chapter-{chapter.name}"') == page.count(f'<section id="chapter-{chapter.name}"') == 1
        for figure in chapter.figures:
            assert page.count(f'href="#figure-{figure.name}"') == page.count(f'id="figure-{figure.name}"') == 1
            assert figure.png.name in page


def test_names_are_text_and_never_markup(tmp_path: Path) -> None:
    table = Table(EVIL, (EVIL,), ((EVIL,),))
    picture = tmp_path / "picture.svg"
    picture.write_text("<svg/>")
    figure = Figure(EVIL, EVIL, EVIL, tmp_path / "<script>.png", picture)
    chapter = Chapter(EVIL, EVIL, EVIL, (figure,), (table,), (EVIL,), command=EVIL)
    page = write_report(tmp_path / "report", [chapter]).read_text(encoding="utf-8")
    assert "<script" not in page
    assert page.count("&lt;script&gt;alert(&quot;x&quot;)") == 11  # 8, and of the figure: contents, alt and caption
    assert page.count("&lt;script&gt;.png") == 1


def test_names_that_look_alike_have_anchors_of_their_own() -> None:
    names = ("a b", "a-b", "a_b", "a_20_b", "chapter-a")
    assert len({anchor(kind, name) for kind in ("chapter", "figure") for name in names}) == 2 * len(names)


def test_a_report_without_chapters_says_so(tmp_path: Path) -> None:
    assert "No chapter was drawn" in write_report(tmp_path, []).read_text(encoding="utf-8")


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Any]:
    """Headless Chromium. A machine without it skips the test; continuous integration must have it."""
    chromium, driver = shutil.which("chromium") or shutil.which("google-chrome"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        if os.environ.get("CI"):
            pytest.fail("CI is set, but there is no chromium with a chromedriver; install both")
        pytest.skip("no chromium with a chromedriver on this machine")
    webdriver = pytest.importorskip("selenium.webdriver")
    webdriver_errors = pytest.importorskip("selenium.common.exceptions")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for switch in ("headless=new", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-sync",
                   "disable-background-networking", "disable-component-update", "disable-dev-shm-usage",
                   "window-size=1100,900", f"user-data-dir={tmp_path / 'profile'}"):  # fmt: skip
        options.add_argument(f"--{switch}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    try:
        running = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    except webdriver_errors.SessionNotCreatedException:  # on a busy machine the first start may take too long
        running = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    try:
        yield running
    finally:
        running.quit()


def test_a_browser_shows_every_figure_and_has_nothing_to_complain(
    report: tuple[Path, list[Chapter]], browser: Any
) -> None:
    path, chapters = report
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
