"""The chart engine: axes that fit, intervals only where there are any, names that are text."""

import io
import math
from pathlib import Path

import pytest
from PIL import Image

from siloseal.report import charts
from siloseal.report.intervals import Mean, averaged, bands, ends

SEVERAL, ALONE = Mean(0.6, 0.02, 3), Mean(0.5, None, 1)


@pytest.mark.parametrize(
    ("values", "limits"),
    [([0.93, 0.936, 0.89, 0.964], (0.88, 0.98)), ([0.389, 0.968], (0.3, 1.0)), ([0.2, 0.84], (0.0, 0.9)),
     ([0.0, 1.0], (0.0, 1.0)), ([0.5], (0.49, 0.51)), ([], (0.0, 1.0)), ([0.62, 0.7], (0.6, 0.72))],
)  # fmt: skip
def test_an_axis_of_shares_ends_at_round_numbers_near_its_values(
    values: list[float], limits: tuple[float, float]
) -> None:
    assert charts.share_limits(values) == limits


@pytest.mark.parametrize("which", ["x", "y"])
@pytest.mark.parametrize(("values", "marked"), [([0.9, 0.95], True), ([0.05, 0.95], False)])
def test_an_axis_that_does_not_begin_at_zero_is_marked_and_named(which: str, values: list[float], marked: bool) -> None:
    _, panels = charts.panels(2, columns=2)
    said = charts.fit_shares(panels, values, which="x" if which == "x" else "y")
    for axes in panels:
        low, _ = axes.get_xlim() if which == "x" else axes.get_ylim()
        assert (low > 0) == marked
        assert len(axes.get_lines()) == (2 if marked else 0)  # the strokes
    assert said.endswith("not from zero.") == marked


def test_a_point_of_one_seed_has_no_error_bar() -> None:
    _, (axes,) = charts.panels(1)
    charts.dots(axes, [(0, SEVERAL), (1, ALONE)], charts.look(0), "x")
    _, _, (bars,) = axes.containers[0]
    lengths = [path.vertices[1][1] - path.vertices[0][1] for path in bars.get_paths() if len(path.vertices)]
    assert [length for length in lengths if not math.isnan(length)] == [pytest.approx(0.04)]


def test_captions_promise_an_interval_only_where_there_is_one() -> None:
    assert averaged("Accuracy", [SEVERAL]).endswith("mean ± half the width of its 95 % confidence interval over seeds")
    assert averaged("Accuracy", [ALONE, ALONE]) == "Accuracy, one seed each"
    assert averaged("PSNR", [ALONE], "images") == "PSNR, one image each"
    assert averaged("Accuracy", [SEVERAL, ALONE]).endswith("; a number without ± is of one seed")
    assert "no confidence interval" in bands([ALONE])
    assert ends([SEVERAL, ALONE]) == pytest.approx([0.58, 0.62, 0.5, 0.5])


def test_a_picture_carries_its_message_and_is_the_same_every_time() -> None:
    def drawn() -> charts.Figure:
        with charts.style():
            picture, (axes,) = charts.panels(1, width=charts.NARROW)
            charts.curve(axes, [(0, SEVERAL), (1, ALONE)], charts.look(0), "a <b> & $c$")
            charts.legend(picture)
            return charts.figure(picture, "name", message="It rises", caption="")

    first = drawn()
    assert first == drawn()
    assert first.inches == charts.NARROW
    assert b"It rises" in first.svg
    assert b"a &lt;b&gt; &amp; $c$" in first.svg.replace(b"\xc2\xa0", b" ")


def test_a_kept_picture_lies_beside_its_source(tmp_path: Path) -> None:
    with charts.style():
        picture, _ = charts.panels(1)
        drawn = charts.figure(picture, "name", message="m", caption="")
        kept = charts.keep(picture, drawn, tmp_path / "new", dpi=50)
    assert kept.png is not None
    assert kept.png.with_suffix(".svg").read_bytes() == drawn.svg
    assert Image.open(io.BytesIO(kept.png.read_bytes())).width == 320


def test_a_row_is_as_high_as_the_lines_of_its_name() -> None:
    one, two, three = (charts.row_inches(["a", " ".join(lines * ["twelve lines"])], 12) for lines in (1, 2, 3))
    assert one < two < three
    assert three * 72 > 3 * 9.5 * 1.2  # points of three lines of a tick label
