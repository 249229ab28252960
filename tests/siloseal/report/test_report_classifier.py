"""A classifier's run: tables by model, silo and class, a matrix that stays a matrix, and words for a hospital's reader."""

import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from siloseal.report import charts
from siloseal.report.classifier_tables import (
    MOST_CLASSES,
    MOST_SILOS,
    class_table,
    confusion_table,
    missed_classes,
    served_table,
)
from siloseal.report.classifier_words import own_learnt, record_headlines, records_learnt
from siloseal.report.document import Cell, Table, text_of
from siloseal.report.reliability_chart import calibration_message, overconfidence, reliability_chart
from siloseal.report.result_table import print_result
from siloseal.report.run_report import run_report, write_report
from siloseal.report.score_table import score_table
from siloseal.report.terminal import as_text
from siloseal.run_folder.classification import ClassificationMetric, ReliabilityBin
from siloseal.run_folder.metrics import QualityMetric, TimingMetric
from siloseal.run_folder.run import Run, read_run, write_metrics, write_summary
from siloseal.run_folder.summary import ModelSummary, RunSummary, SiloSummary
from tests.siloseal.report.test_run_report import EVIL, Reader

NAMES = ("north", "east", "south")
COURSE = {"warm_start": 0.1, "round_1": 0.7, "round_2": 0.82, "final": 0.82}
SERVED = {"north": 0.9, "east": 0.61, "south": 0.84}
ALONE = {"north": 0.93, "east": 0.5, "south": 0.7}


def bins(*, too_sure: float) -> list[ReliabilityBin]:
    return [
        ReliabilityBin(low=low, high=low + 0.1, records=20, confidence=low + 0.06, accuracy=low + 0.06 - too_sure)
        for low in (0.4, 0.5, 0.6, 0.7)
    ]


def details(classes: int = 4, by_silo: dict[str, float] = SERVED, *, too_sure: float = 0.2) -> ClassificationMetric:
    """A classifier that takes most of class 1 for class 0."""
    confusion = np.diag([40] * classes)
    confusion[1, :2] = 30, 10
    recall = [0.25 if label == 1 else 1.0 for label in range(classes)]
    return ClassificationMetric(
        recall=[*recall[:-1], None], precision=[0.57, *recall[1:]], records=confusion.sum(1).tolist(),
        confusion=confusion.tolist(), calibration_error=abs(too_sure), reliability=bins(too_sure=too_sure), by_silo=by_silo,
        silo_records=dict.fromkeys(by_silo, 150),
    )  # fmt: skip


def measured(
    stage: str, value: float, silo: str | None = None, found: ClassificationMetric | None = None
) -> QualityMetric:
    accuracy = {"accuracy": value, "balanced accuracy": value - 0.01, "AUC": min(1.0, value + 0.1)}
    return QualityMetric(stage=stage, silo=silo, accuracy=accuracy, classification=found)


def classifier(
    names: tuple[str, ...] = NAMES,
    *,
    final: ClassificationMetric | None = None,
    class_names: tuple[str, ...] = (),
    personal: bool = False,
    learner: str = "classifier",
) -> RunSummary:
    found = final or details(by_silo=dict(zip(names, SERVED.values(), strict=False)))
    scores = [measured(stage, value, found=found if stage == "final" else None) for stage, value in COURSE.items()]
    alone = dict(zip(names, ALONE.values(), strict=False))
    scores += [measured("silo_alone", 0.4, name, details(by_silo={name: value})) for name, value in alone.items()]
    scores += [measured("final", found.by_silo[name], name) for name in names if personal]
    scores += [measured("pooled", 0.95)]
    silos = [
        SiloSummary(name=name, examples=1600, labels=[0, 1], epsilon=2.98, budget=3.0, accuracy_alone=0.4,
                    accuracy_trained=None, statement="so much")
        for name in names
    ]  # fmt: skip
    return RunSummary(
        name="wards", accuracy=COURSE if not personal else {"final": 0.82}, best_silo_accuracy=0.4, real_data_accuracy=None,
        pooled_accuracy=0.95, epsilon=2.98, delta=1e-5, bytes=5_659_006, seconds=101.1, run_dir="runs/wards", learner=learner,
        personal=personal, classifier="accuracy", scores=scores, silos=silos, parameters={},
        model=ModelSummary(parameters=650, shape=(1, 8, 8), classes=4, class_names=class_names),
    )  # fmt: skip


def write(run_dir: Path, summary: RunSummary) -> Path:
    run_dir.mkdir(exist_ok=True)
    write_metrics(run_dir, [*summary.scores, TimingMetric(stage="pooled", seconds=24.1)])
    write_summary(run_dir, summary)
    return write_report(run_dir)


def cells(table: Table | None) -> dict[str, list[str]]:
    assert table is not None
    return {text_of(name): [text_of(cell) for cell in others] for name, *others in table.rows}


class TestTables:
    def test_every_model_has_its_measures_with_three_digits(self) -> None:
        table = score_table(classifier())
        assert table.columns == ("Model", "accuracy", "balanced accuracy", "AUC")
        assert cells(table)["Round 2, final"] == ["0.820", "0.810", "0.920"]
        assert cells(table)["Pooled, without privacy"] == ["0.950", "0.940", "1.000"]
        assert "Before round 1" in cells(table)

    def test_each_silo_is_served_beside_what_it_has_alone(self) -> None:
        table = served_table(classifier())
        assert cells(table) == {
            "north": ["0.900", "0.930", "-0.030"],
            "east": ["0.610, worst", "0.500", "+0.110"],
            "south": ["0.840", "0.700", "+0.140"],
        }
        assert table is not None
        assert isinstance(lost := table.rows[0][3], Cell)
        assert lost.tone == "bad"
        assert "east, 0.610" in table.note
        assert "0.290" in table.note

    def test_of_many_silos_those_that_are_served_worst_are_shown(self) -> None:
        many = {f"silo{n}": 1 - n / 100 for n in range(MOST_SILOS + 10)}
        table = served_table(classifier((), final=details(by_silo=many)))
        assert list(cells(table)) == [f"silo{n}" for n in reversed(range(10, MOST_SILOS + 10))]
        assert table is not None
        assert "10 more" in table.note

    def test_a_class_most_of_which_is_missed_is_marked(self) -> None:
        table = class_table(classifier(class_names=("well", "ill", "worse", "never")))
        assert cells(table)["ill"] == ["40", "0.250", "0.250"]
        assert cells(table)["never"][1] == "none"
        assert table is not None
        badges = [text_of(row[0]) for row in table.rows if isinstance(row[2], Cell) and row[2].tone == "bad"]
        assert badges == ["ill"]

    def test_of_many_classes_those_with_the_lowest_recall_are_shown(self) -> None:
        table = class_table(classifier(final=details(classes=MOST_CLASSES + 5)))
        assert len(cells(table)) == MOST_CLASSES
        assert next(iter(cells(table))) == "1"

    def test_the_matrix_has_rows_of_actual_classes_shaded_by_their_share(self) -> None:
        table = confusion_table(classifier())
        assert cells(table)["1"] == ["30", "10", "0", "0"]
        assert table is not None
        assert [cell.shade for cell in table.rows[1][1:] if isinstance(cell, Cell)] == [0.75, 0.25, 0.0, 0.0]

    def test_what_was_not_measured_has_no_table(self) -> None:
        nothing = classifier().model_copy(update={"scores": []})
        assert served_table(nothing) is class_table(nothing) is confusion_table(nothing) is None
        assert missed_classes(nothing) == []

    def test_personal_parts_have_a_mean_and_a_row_for_each_silo(self) -> None:
        table = cells(score_table(classifier(personal=True)))
        assert "Mean over silos, final" in table
        assert table["east at the end, with its own part"][0] == "0.610"
        assert served_table(classifier(personal=True)).columns[1] == "Own final model"  # type: ignore[union-attr]


class TestConfidence:
    @pytest.mark.parametrize(
        ("too_sure", "word"), [(0.2, "too sure"), (-0.2, "too modest"), (0.01, "means what it says")]
    )
    def test_the_message_says_which_way_it_errs(self, too_sure: float, word: str) -> None:
        assert word in calibration_message(details(too_sure=too_sure))
        assert overconfidence(bins(too_sure=too_sure)) == pytest.approx(too_sure)

    def test_errors_on_both_sides_are_no_tendency(self) -> None:
        both = [*bins(too_sure=0.2)[:2], *bins(too_sure=-0.2)[2:]]
        message = calibration_message(details().model_copy(update={"reliability": both}))
        assert "too sure" not in message
        assert "0.200" in message

    def test_the_diagram_shows_every_bin(self) -> None:
        with charts.style():
            figure = reliability_chart(details())
        assert figure.message == calibration_message(details())
        assert b"<svg" in figure.svg


class TestWords:
    def test_the_lead_compares_and_names_the_worst_silo_and_the_missed_class(self) -> None:
        text = records_learnt(classifier(class_names=("well", "ill", "worse", "never")))
        for part in ("0.820", "0.400", "0.950", "east worst (0.610)", "north best (0.900)", "ill (0.25)"):
            assert part in text, part

    def test_where_no_class_is_missed_the_hardest_is_named(self) -> None:
        well = details().model_copy(update={"recall": [0.9, 0.6, 0.8, None]})
        assert "0.600 of the records of class 1" in records_learnt(classifier(final=well))

    def test_headlines_have_the_worst_silo(self) -> None:
        shown = {one.title: (one.value, one.note) for one in record_headlines(classifier())}
        assert shown["Worst served silo"] == ("0.610", "east; best minus worst 0.290")
        assert shown["Pooled, without privacy"][0] == "0.950"

    def test_silos_that_differ_by_chance_have_no_worst_among_them(self) -> None:
        alike = {"north": 0.81, "east": 0.80, "south": 0.80}
        found = classifier(final=details(by_silo=alike))
        assert "Worst served silo" not in {one.title for one in record_headlines(found)}
        assert "worst (" not in records_learnt(found)
        assert (table := served_table(found)) is not None
        assert "100%" in table.note
        assert ", worst" not in "".join(cells(table)["east"])
        many = details(by_silo=alike).model_copy(update={"silo_records": dict.fromkeys(alike, 100_000)})
        assert many.worst_silo in ("east", "south")

    def test_personal_parts_are_compared_with_the_mean_silo(self) -> None:
        titles = [one.title for one in record_headlines(classifier(personal=True))]
        assert "Mean silo alone" in titles
        assert "Best silo alone" not in titles

    def test_a_measure_of_the_learners_own_is_one_number_a_stage(self, tmp_path: Path) -> None:
        summary = classifier(learner="python")
        assert "0.820 for the joint model" in own_learnt(summary)
        document = run_report(read_run(write(tmp_path / "run", summary).parent))
        quality = document.chapters[0]
        assert (quality.name, len(quality.tables), len(quality.figures)) == ("quality", 1, 1)


def test_the_terminal_shows_models_and_whom_they_serve() -> None:
    summary = classifier()
    text = as_text(lambda terminal: print_result(terminal, Run(Path("runs/wards"), summary, (), {})))
    assert "0.610, worst" in text
    assert "Round 2, final" in text
    assert "not measured" not in text


class TestThePage:
    def test_has_no_samples_and_every_number(self, tmp_path: Path) -> None:
        reader = Reader(write(tmp_path / "run", classifier()).read_text(encoding="utf-8"))
        assert reader.open == []
        assert "Samples" not in reader.text
        for part in ("Confusion matrix", "Class by class", "Whom the model serves", "too sure", "0.610"):
            assert part in reader.text, part

    def test_names_of_classes_and_silos_cannot_become_markup(self, tmp_path: Path) -> None:
        reader = Reader(
            write(tmp_path / "run", classifier((EVIL, "b", "c"), class_names=(EVIL, "x"))).read_text(encoding="utf-8")
        )
        assert "script" not in {tag for tag, _ in reader.tags}
        assert reader.text.count(EVIL) >= 5

    @pytest.mark.parametrize("width", [360, 390, 1100])
    def test_is_whole_on_a_phone_and_the_matrix_of_ten_classes_stays_a_matrix(
        self, tmp_path: Path, browser: Any, width: int
    ) -> None:
        path = write(tmp_path / "run", classifier(final=details(classes=10)))
        browser.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": True},
        )
        browser.get(path.as_uri())
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width
        cut = browser.execute_script(
            "return [...document.querySelectorAll('td, tbody th, .card, figcaption')]"
            ".filter(e => e.getBoundingClientRect().right > window.innerWidth || e.scrollWidth > e.clientWidth + 1)"
            ".map(e => e.textContent)"
        )
        assert cut == []
        tops = browser.execute_script(
            "return [...document.querySelectorAll('.matrix tbody tr:first-child td')].map(e => e.getBoundingClientRect().top)"
        )
        assert len(tops) == 10
        assert len(set(tops)) == 1
        assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []

    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_the_text_of_a_full_cell_stands_out_from_its_ground(
        self, tmp_path: Path, browser: Any, scheme: str
    ) -> None:
        """4.5 to 1, as WCAG 2 asks of text of this size (level AA)."""
        path = write(tmp_path / "run", classifier())
        wanted = {"name": "prefers-color-scheme", "value": scheme}
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [wanted]})
        browser.get(path.as_uri())
        full = browser.find_element("css selector", '.matrix td[style="--shade:1.00"]')
        pixels = np.asarray(Image.open(io.BytesIO(full.screenshot_as_png)).convert("RGB")).reshape(-1, 3)
        ground = np.median(pixels, axis=0)
        ink = np.array([float(part) for part in re.findall(r"\d+", full.value_of_css_property("color"))[:3]])
        lighter, darker = sorted((luminance(ground), luminance(ink)), reverse=True)
        assert (lighter + 0.05) / (darker + 0.05) >= 4.5


def luminance(colour: np.ndarray) -> float:
    """The relative luminance of WCAG 2."""
    parts = colour / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ np.array([0.2126, 0.7152, 0.0722]))
