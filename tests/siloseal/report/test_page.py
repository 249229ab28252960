"""The page of any document: escaped, self-contained, and whole on a phone."""

import io
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from siloseal.report import charts
from siloseal.report.document import Alert, Cell, Chapter, Document, Figure, Table
from siloseal.report.page import anchor, page, write_page
from siloseal.report.page_tables import stacks, table_html
from siloseal.report.run_report import write_report
from tests.siloseal.report.documents import full_of
from tests.siloseal.report.test_run_report import MakeRun, Reader

EVIL = '<script>alert("x")</script>'
NARROW = Table("", ("Silo", "Examples"), (("north", "1,000"),), numbers=(1,))
WIDE = Table(
    "Wide", ("Silo", "Phase", "Epsilon", "Delta", "Noise multiplier", "Steps"),
    (("north", "Phase 1", "5.13", "1e-5", "1.214", "1,000"),), numbers=(2, 3, 4, 5),
)  # fmt: skip


def test_no_text_becomes_markup(tmp_path: Path) -> None:
    whole = page(full_of(EVIL, tmp_path / "<script>.png"))
    assert "<script" not in whole
    assert Reader(whole).open == []
    assert whole.count("&lt;script&gt;alert(&quot;x&quot;)") == 38
    assert whole.count("&lt;script&gt;.png") == 1


def test_nothing_may_be_loaded_from_outside() -> None:
    whole = page(Document("kind", "title", ()))
    assert "default-src 'none'; img-src data:; style-src 'unsafe-inline'" in whole
    assert "url(" not in whole


def test_names_that_look_alike_have_anchors_of_their_own() -> None:
    names = ("a b", "a-b", "a_b", "a_20_b", "chapter-a")
    assert len({anchor(kind, name) for kind in ("chapter", "figure") for name in names}) == 2 * len(names)


def test_a_report_without_chapters_says_so(tmp_path: Path) -> None:
    path = write_page(tmp_path / "new" / "report.html", Document("kind", "title", (), contents=True))
    assert "No chapter was drawn" in path.read_text(encoding="utf-8")


def test_a_warning_leads_to_its_chapter() -> None:
    chapter = Chapter("uploads", "What was uploaded", "", ())
    whole = page(Document("kind", "title", (chapter,), alerts=(Alert("Not hidden:", "models.", "uploads"),)))
    assert 'See <a href="#chapter-uploads">What was uploaded</a>' in whole
    assert '<section id="chapter-uploads">' in whole


def test_heads_of_columns_and_rows_have_their_scope() -> None:
    written = table_html(NARROW)
    assert "<th scope=col>Silo</th><th scope=col class=number>Examples</th>" in written
    assert '<th scope=row data-label="Silo">north</th><td data-label="Examples" class=number>1,000</td>' in written


def test_only_tables_that_a_phone_has_no_room_for_are_stacked() -> None:
    assert not stacks(NARROW)
    assert stacks(WIDE)
    assert not stacks(Table("", ("a", "b"), (("long words " * 20, "longer words " * 20),)))


def test_a_folded_table_hides_behind_its_caption() -> None:
    assert table_html(replace(WIDE, folded=True)).startswith("<details><summary>Wide</summary>")


def test_groups_and_allowances_are_marked() -> None:
    rows = (("a", Cell("9 of 10", filled=0.9)), ("b", Cell("11 of 10", filled=1.1)))
    written = table_html(Table("", ("x", "y"), rows, groups=(1,)))
    assert re.findall("<tr[^>]*>", written) == ["<tr>", "<tr>", "<tr class=opens>"]
    assert re.findall(r'class="(meter[^"]*)".*?width:([\d.]+)%', written) == [
        ("meter", "90.0"),
        ("meter over", "100.0"),
    ]


@pytest.mark.parametrize("width", [360, 390, 768, 1100])
def test_a_run_report_shows_all_of_every_table_in_a_window_of_any_width(
    make_run: MakeRun, browser: Any, width: int
) -> None:
    """Folded tables are opened, because they must fit, too."""
    path = write_report(make_run())
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": True}
    )
    browser.get(path.as_uri())
    browser.execute_script("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert browser.execute_script("return window.innerWidth") == width
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    cut = browser.execute_script(
        "return [...document.querySelectorAll('td, tbody th, .card, figcaption, blockquote')]"
        ".filter(e => e.getBoundingClientRect().right > window.innerWidth || e.scrollWidth > e.clientWidth + 1)"
        ".map(e => e.textContent)"
    )
    assert cut == []
    pictures = browser.execute_script("return [...document.images].map(i => [i.complete, i.naturalWidth, i.alt])")
    assert len(pictures) == 8
    assert all(complete and size and alt for complete, size, alt in pictures)
    pixels = browser.execute_script("return getComputedStyle(document.querySelector('.tiles img')).imageRendering")
    assert pixels == "pixelated"
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []


def drawn(name: str, *, image: bool) -> Figure:
    """A chart with nothing but a line, or an image, on its white ground."""
    with charts.style():
        picture, (axes,) = charts.panels(1)
        axes.imshow([[0.0, 1.0]], cmap="gray") if image else axes.plot([0, 1], [0, 1])
        return charts.figure(picture, name, message="A message", caption="A caption")


@pytest.mark.parametrize(("scheme", "chart_is_light"), [("light", True), ("dark", False)])
def test_charts_are_as_dark_as_the_page_and_images_stay_as_they_are(
    tmp_path: Path, browser: Any, scheme: str, chart_is_light: bool
) -> None:
    figures = (drawn("line", image=False), drawn("image", image=True))
    path = write_page(tmp_path / "report.html", Document("kind", "title", (Chapter("one", "One", "", figures),)))
    scheme_wanted = {"name": "prefers-color-scheme", "value": scheme}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme_wanted]})
    browser.get(path.as_uri())
    brightness = [
        np.median(Image.open(io.BytesIO(shown.screenshot_as_png)).convert("L"))
        for shown in browser.find_elements("css selector", ".picture img")
    ]
    assert [value > 127 for value in brightness] == [chart_is_light, True]
