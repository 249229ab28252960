"""The report: complete, self-contained, and safe to open whatever the silos call themselves."""

import base64
import io
import itertools
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest
from PIL import Image

from siloseal.federation.errors import RunError
from siloseal.report.charts import abscissae, spread
from siloseal.report.run_report import write_report
from siloseal.runs.metrics import QualityMetric
from siloseal.runs.summary import read_run, write_metrics

MakeRun = Callable[..., Path]
EVIL = '<script>alert("x")</script>'


class Reader(HTMLParser):
    """Text, tags and attributes as a browser would see them; checks that tags are closed in order."""

    VOID = frozenset({"meta", "img", "line", "circle", "rect"})

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag
        elif self.open and self.open[-1] == tag:
            self.open.pop()

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] != "style":
            self.text += data + "\n"


def read(make_run: MakeRun, **changes: object) -> Reader:
    names = changes.pop("names", ("north", "east", "south", "west"))
    path = write_report(make_run(names, **changes))
    assert path.name == "report.html"
    return Reader(path.read_text(encoding="utf-8"))


def test_every_number_is_in_the_report(make_run: MakeRun) -> None:
    text = read(make_run).text
    for number in ("0.712", "0.463", "0.968", "6.42", "1e-5", "24 MB", "24,012,345", "3 min 07 s", "0.412", "0.521",
                   "1,000", "0-4, 7", "6.42 of 8", "5.13", "1.214", "0.0512", "3.731", "1,900,245", "1 min 24 s",
                   "26.9 s", "16384", "1.21 MB", "0.643", "0.699"):  # fmt: skip
        assert number in text, number


def test_every_section_and_statement_is_there(make_run: MakeRun) -> None:
    reader = read(make_run)
    assert reader.open == []
    anchors = [attributes["id"] for tag, attributes in reader.tags if tag == "section" and "id" in attributes]
    assert anchors == ["samples", "quality", "silos", "privacy", "uploads", "traffic", "timings", "parameters", "notes"]
    assert reader.text.count("(6.42, 1e-05)-DP for one image, add/remove") == 4
    assert "outside the privacy guarantee" in reader.text
    assert "the leader spends more steps" in reader.text


def test_an_unprotected_upload_is_a_warning(make_run: MakeRun) -> None:
    reader = read(make_run)
    classes = [attributes.get("class") for _, attributes in reader.tags]
    assert classes.count("badge bad") == 1
    assert classes.count("warning") == 1
    assert "Not hidden" in reader.text


def test_samples_are_pictures_inside_the_page(make_run: MakeRun) -> None:
    sources = [attributes["src"] for tag, attributes in read(make_run).tags if tag == "img"]
    assert len(sources) == 4
    for source in sources:
        kind, _, data = (source or "").partition(",")
        assert kind == "data:image/png;base64"
        assert Image.open(io.BytesIO(base64.b64decode(data))).size == (2 * (4 * 9 - 1), 2 * (10 * 9 - 1))


def test_nothing_is_loaded_from_outside(make_run: MakeRun) -> None:
    page = write_report(make_run()).read_text(encoding="utf-8")
    reader = Reader(page)
    assert not {"script", "link", "iframe", "object"} & {tag for tag, _ in reader.tags}
    links = [a.get(key) or "" for _, a in reader.tags for key in ("src", "href") if key in a]
    assert all(link.startswith(("data:", "#")) for link in links)
    assert "http:" not in page
    assert "https:" not in page
    assert not re.search(r"url\(|@import", page)


@pytest.mark.parametrize("evil", [EVIL, '"><img src=x onerror=alert(1)>', "a&b<b>'c'"])
def test_names_cannot_become_markup(make_run: MakeRun, evil: str) -> None:
    reader = read(make_run, names=("north", evil, "south", "west"), name=evil, parameters={evil: evil})
    assert reader.open == []
    assert {tag for tag, _ in reader.tags} & {"script", "b"} == set()
    assert all("onerror" not in attributes for _, attributes in reader.tags)
    assert reader.text.count(evil) >= 5


def test_privacy_off_says_no_guarantee(make_run: MakeRun) -> None:
    text = read(make_run, epsilon=None, delta=None).text
    assert "no guarantee" in text
    assert "Differential privacy was off" in text


def test_a_meaningless_epsilon_is_called_so(make_run: MakeRun) -> None:
    text = read(make_run, epsilon=340.0).text
    assert "340 (no meaningful guarantee)" in text
    assert "treat this model as if it had no such guarantee" in text


def test_a_global_model_that_lost_says_so(make_run: MakeRun) -> None:
    assert "did not beat the best silo alone (0.800)" in read(make_run, best_silo_accuracy=0.8).text


def test_what_was_not_measured_is_named(make_run: MakeRun) -> None:
    text = read(make_run, accuracy={}, best_silo_accuracy=None, real_data_accuracy=None).text
    assert "not measured" in text


def test_a_measurement_without_a_frechet_distance_leaves_its_cell_empty(make_run: MakeRun) -> None:
    run_dir = make_run()
    bare = QualityMetric(stage="final", accuracy={"cnn": 0.7123})
    write_metrics(run_dir, [bare])
    assert "<td class=number>0.712</td><td class=number></td>" in write_report(run_dir).read_text(encoding="utf-8")


def test_a_second_report_replaces_the_first(make_run: MakeRun) -> None:
    run_dir = make_run()
    first = write_report(run_dir).read_text(encoding="utf-8")
    assert write_report(run_dir).read_text(encoding="utf-8") == first
    assert not list(run_dir.glob(".report*"))
    assert read_run(run_dir).summary.name == "Digits, label skew"


def test_a_folder_without_a_run_has_no_report(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="not a run's folder"):
        write_report(tmp_path)
    assert not (tmp_path / "report.html").exists()


def test_crowded_labels_move_apart_and_keep_their_order() -> None:
    placed = spread([100.0, 10.0, 12.0, 11.0], 15.0)
    assert placed[0] == 100.0
    ordered = sorted(placed)
    assert [placed.index(value) for value in ordered] == [1, 3, 2, 0]
    assert min(b - a for a, b in itertools.pairwise(ordered)) >= 15.0 - 1e-9


def test_rounds_lie_between_the_phases() -> None:
    assert abscissae(["Warm start", "Phase 1 average", "Round 1", "After tuning"]) == [0.0, 0.5, 0.75, 1.0]
    assert abscissae(["Warm start"]) == [0.0]
    assert abscissae([]) == []
