"""The report: complete, self-contained, and safe to open whatever the silos call themselves."""

import base64
import html
import io
import itertools
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest
from PIL import Image

from siloseal.federation.errors import RunError
from siloseal.federation.job.phases import Phase
from siloseal.report import charts
from siloseal.report.accuracy_chart import abscissae, spread
from siloseal.report.cost_charts import traffic_charts
from siloseal.report.result_table import print_result
from siloseal.report.run_report import run_report, write_report
from siloseal.report.sentences import spent_on_silos_alone
from siloseal.report.terminal import as_text
from siloseal.run_folder.metrics import QualityMetric, TrafficMetric
from siloseal.run_folder.run import read_run, write_metrics, write_summary

MakeRun = Callable[..., Path]
EVIL = '<script>alert("x")</script>'


class Reader(HTMLParser):
    """Text, tags and attributes as a browser would see them; checks that tags are closed in order."""

    VOID = frozenset({"meta", "img", "link"})

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
    names = ("samples", "quality", "silos", "privacy", "uploads", "traffic", "timings", "parameters", "notes")
    assert anchors == [f"chapter-{name}" for name in names]
    assert reader.text.count("(6.42, 1e-5)-DP for one image, zero-out") == 4
    assert "the leader spends more steps" in reader.text


def test_a_statement_stands_below_the_silos_name_and_does_not_repeat_it(make_run: MakeRun) -> None:
    text = read(make_run).text
    assert "north: (" not in text
    assert "north" in text


def test_an_unprotected_upload_is_a_warning(make_run: MakeRun) -> None:
    reader = read(make_run)
    classes = [attributes.get("class") for _, attributes in reader.tags]
    assert classes.count("badge bad") == 1
    assert classes.count("warning") == 1
    assert "Not hidden" in reader.text


def test_samples_are_pictures_inside_the_page(make_run: MakeRun) -> None:
    images = [attributes for tag, attributes in read(make_run).tags if tag == "img"]
    parts = [(image["src"] or "").partition(",")[::2] for image in images]
    grids = [base64.b64decode(data) for kind, data in parts if kind == "data:image/png;base64"]
    assert len(grids) == 4
    assert len(parts) - len(grids) == 4  # charts: accuracy, bytes by phase and by silo, seconds
    assert {kind for kind, _ in parts} == {"data:image/png;base64", "data:image/svg+xml;base64"}
    assert all(image["alt"] for image in images)
    for grid in grids:
        assert Image.open(io.BytesIO(grid)).size == (4 * (4 * 9 - 1), 4 * (10 * 9 - 1))


def test_nothing_is_loaded_from_outside(make_run: MakeRun) -> None:
    page = write_report(make_run()).read_text(encoding="utf-8")
    reader = Reader(page)
    assert not {"script", "iframe", "object"} & {tag for tag, _ in reader.tags}
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


def test_silos_alone_that_spent_the_same_epsilon_again_are_said_to(make_run: MakeRun) -> None:
    """Epsilon is 6.418, and 0.05 alone. Page and terminal say it; nothing does where no silo was trained alone."""
    twice, run = "it is epsilon 6.47 at delta 2e-5 for one image", read_run(make_run())
    silos = [silo.model_copy(update={"epsilon_alone": 0.05}) for silo in run.summary.silos]
    write_summary(run.directory, run.summary.model_copy(update={"silos": silos}))
    run = read_run(run.directory)
    terminal = as_text(lambda shown: print_result(shown, run))
    assert twice in " ".join(Reader(write_report(run.directory).read_text(encoding="utf-8")).text.split())
    assert twice in " ".join(terminal.split())
    silos = [silo.model_copy(update={"accuracy_alone": None}) for silo in run.summary.silos]
    assert spent_on_silos_alone(run.summary.model_copy(update={"silos": silos})) is None
    silos = [silo.model_copy(update={"budget": None}) for silo in run.summary.silos]
    assert spent_on_silos_alone(run.summary.model_copy(update={"silos": silos})) is None


def test_privacy_off_says_no_guarantee(make_run: MakeRun) -> None:
    text = read(make_run, epsilon=None, delta=None).text
    assert "no guarantee" in text
    assert "Differential privacy was off" in text


def test_a_meaningless_epsilon_is_called_so(make_run: MakeRun) -> None:
    text = read(make_run, epsilon=340.0).text
    assert "340 (no meaningful guarantee)" in text
    assert "as if it had no such guarantee" in text


def test_a_global_model_that_lost_says_so(make_run: MakeRun) -> None:
    assert "did not beat the best silo alone (0.800)" in read(make_run, best_silo_accuracy=0.8).text


def test_what_was_not_measured_is_named(make_run: MakeRun) -> None:
    text = read(make_run, accuracy={}, best_silo_accuracy=None, real_data_accuracy=None).text
    assert "not measured" in text


def test_a_measurement_without_a_frechet_distance_leaves_its_cell_empty(make_run: MakeRun) -> None:
    run_dir = make_run()
    bare = QualityMetric(stage="final", accuracy={"cnn": 0.7123})
    write_metrics(run_dir, [bare])
    (table,) = run_report(read_run(run_dir)).chapters[1].tables
    assert table.rows == (("Final", "global", "0.712", ""),)


def test_a_second_report_replaces_the_first(make_run: MakeRun) -> None:
    run_dir = make_run()
    first = write_report(run_dir).read_text(encoding="utf-8")
    assert write_report(run_dir).read_text(encoding="utf-8") == first
    assert not list(run_dir.glob(".report*"))
    assert read_run(run_dir).summary.name == "Digits, label skew"


def test_a_folder_without_a_run_has_no_report(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=str(tmp_path)):
        write_report(tmp_path)
    assert not (tmp_path / "report.html").exists()


def chart(run_dir: Path, name: str) -> tuple[str, str]:
    """The message of a chart, and the words in its picture."""
    figures = [figure for chapter in run_report(read_run(run_dir)).chapters for figure in chapter.figures]
    (found,) = (figure for figure in figures if figure.name == name)
    words = html.unescape(" ".join(re.findall(r"<text[^>]*>([^<]*)<", found.svg.decode())))
    return found.message, words.replace("\u00a0", " ")


def test_the_accuracy_axis_fits_the_data_and_says_so(make_run: MakeRun) -> None:
    """All of it lies between 0.389 and 0.968; an axis from 0 would flatten the curve."""
    run_dir = make_run()
    message, words = chart(run_dir, "accuracy")
    assert message == "The global model reaches 0.712, the best silo alone 0.463, real data 0.968"
    for text in ("Phase 1", "average", "north 0.41", "real data 0.97", "accuracy (cnn)"):
        assert text in words, text
    assert "0.2 " not in words
    assert "The axis runs from 0.3 to 1, not from zero." in run_report(read_run(run_dir)).chapters[1].figures[0].caption


def test_many_silos_are_a_band_and_not_a_thicket(make_run: MakeRun) -> None:
    run_dir = make_run()
    summary = read_run(run_dir).summary
    silos = [summary.silos[n % 4].model_copy(update={"name": f"silo{n}"}) for n in range(30)]
    write_summary(run_dir, summary.model_copy(update={"silos": silos}))
    _, words = chart(run_dir, "accuracy")
    assert "30 silos" in words
    assert "0.39 to 0.46" in words
    assert "silo7" not in words


def test_bytes_and_seconds_are_told_by_phase_and_by_silo(make_run: MakeRun) -> None:
    run_dir = make_run()
    message, words = chart(run_dir, "traffic-phases")
    assert message == "By phase: most bytes, 11.4 MB, are those of Phase 1"
    assert "north" in words
    assert "1.21 MB" in words
    message, words = chart(run_dir, "traffic-silos")
    assert message == "By silo: each silo 5.99 MB"
    assert words.count("5.99 MB") == 5  # four bars, and the message
    assert chart(run_dir, "timings")[0] == "Phase 1 takes longest: 1 min 24 s"


def test_bars_that_are_written_alike_have_no_winner() -> None:
    sent = {"north": 727_400, "east": 727_100, "south": 500_000}
    entries = [
        TrafficMetric(stage=Phase.PHASE_1, silo=silo, sent_bytes=count, received_bytes=0)
        for silo, count in sent.items()
    ]
    with charts.style():
        of_all, of_two = traffic_charts(entries)[1], traffic_charts(entries[:2])[1]
    assert of_all.message == "By silo: most bytes, 727 kB, are those of north and east"
    assert of_two.message == "By silo: each silo 727 kB"


def test_a_deployed_run_without_scores_and_data_has_a_report(make_run: MakeRun) -> None:
    nothing = {"accuracy": {}, "best_silo_accuracy": None, "real_data_accuracy": None, "silos": []}
    run_dir = make_run(**nothing)
    write_metrics(run_dir, [])
    text = Reader(write_report(run_dir).read_text(encoding="utf-8")).text
    assert "No accuracy was measured." in text
    assert text.count("None recorded.") == 2


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
