"""A few-shot run: one table in the terminal and in the report, and a report that speaks of tasks."""

import itertools
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from siloseal.cli.console import Console
from siloseal.federation.errors import RunError
from siloseal.report.accuracy_chart import halves
from siloseal.report.document import Table, text_of
from siloseal.report.result_table import MOST_ROUNDS
from siloseal.report.run_report import write_report
from siloseal.report.score_table import TITLE, chance, headline, score_table
from siloseal.report.silo_table import silo_table
from siloseal.run_folder.metrics import Metric, NoteMetric, PrivacyMetric, QualityMetric, TimingMetric
from siloseal.run_folder.run import Run, write_metrics, write_summary
from siloseal.run_folder.summary import RunSummary, SiloSummary
from tests.siloseal.report.test_run_report import EVIL, MakeRun, Reader, chart

Show = Callable[[RunSummary], str]
NAMES = ("north", "east")
TWO_PHASES = {"warm_start": 0.566, "phase_1": 0.795, "round_1": 0.819, "round_2": 0.853, "final": 0.853}
MEASURES = ("5-way 1-shot", "5-way 5-shot")
TASK = "one training task, and so each image, which is in one task only"


def score(stage: str, value: float, silo: str | None = None, measures: tuple[str, ...] = MEASURES) -> QualityMetric:
    accuracy = {name: value + 0.1 * place for place, name in enumerate(measures)}
    return QualityMetric(stage=stage, silo=silo, accuracy=accuracy, margin=dict.fromkeys(measures, 0.0071))


def few_shot(
    course: dict[str, float] = TWO_PHASES,
    *,
    names: tuple[str, ...] = NAMES,
    alone: bool = True,
    pooled: bool = True,
    measures: tuple[str, ...] = MEASURES,
) -> RunSummary:
    """Silos are measured in the order in which they are done: here the last one first."""
    scores = [score(stage, value, measures=measures) for stage, value in course.items()]
    own = {name: 0.7 + 0.02 * place for place, name in enumerate(names)}
    scores += [score("silo_trained", own[name] + 0.01, name, measures) for name in reversed(names)]
    scores += [score("silo_alone", own[name], name, measures) for name in reversed(names) if alone]
    scores += [score("pooled", 0.876, measures=measures)] if pooled else []
    silos = [
        SiloSummary(name=name, examples=1600, tasks=1053, labels=[0, 1], epsilon=9.98, budget=10.0,
                    accuracy_alone=own[name] if alone else None, accuracy_trained=own[name] + 0.01, statement="so much")
        for name in names
    ]  # fmt: skip
    return RunSummary(
        name="strokes", accuracy=course, best_silo_accuracy=max(own.values(), default=None) if alone else None,
        real_data_accuracy=None, pooled_accuracy=0.876 if pooled else None, epsilon=9.98, delta=1e-3, bytes=5_659_006,
        seconds=101.1, run_dir="runs/strokes", learner="protonet", classifier=measures[0], scores=scores, silos=silos,
        parameters={"unit of privacy": TASK},
    )  # fmt: skip


def write(run_dir: Path, summary: RunSummary) -> str:
    metrics: list[Metric] = [*summary.scores, TimingMetric(stage="pooled", seconds=24.1), NoteMetric(text="a note")]
    metrics += [
        PrivacyMetric(silo=silo.name, phase="total", epsilon=silo.epsilon, delta=None) for silo in summary.silos
    ]
    write_metrics(run_dir, metrics)
    write_summary(run_dir, summary)
    return write_report(run_dir).read_text(encoding="utf-8")


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Show:
    """What the terminal shows of a summary, with its lines joined."""
    monkeypatch.setenv("COLUMNS", "200")

    def show(summary: RunSummary) -> str:
        Console(quiet=False, json=False).final(Run(Path(summary.run_dir), summary, (), {}))
        return " ".join(capsys.readouterr().out.split())

    return show


def names_of(table: Table) -> list[str]:
    return [str(name) for name, *_ in table.rows]


def titles(table: Table) -> list[list[str]]:
    return [names_of(table)[start:end] for start, end in itertools.pairwise((*table.groups, len(table.rows)))]


def fedavg(rounds: int) -> dict[str, float]:
    course = {f"round_{n}": 0.5 + 0.002 * n for n in range(1, rounds + 1)}
    return {"warm_start": 0.4, **course, "final": course[f"round_{rounds}"]}


def test_rows_go_from_the_start_over_the_silos_to_the_pooled_model() -> None:
    table = score_table(few_shot())
    assert table.columns == ("Model", *MEASURES)
    assert titles(table) == [
        ["Before phase 1", "Phase 1 average", "Round 1", "Round 2, final"],
        ["After local training, north", "north alone", "After local training, east", "east alone"],
        ["Pooled, without privacy"],
    ]
    cells = {name: cells for name, *cells in table.rows}
    assert cells["Round 1"] == ["81.9 % ± 0.7", "91.9 % ± 0.7"]
    assert cells["north alone"][0] == "70.0 % ± 0.7"
    assert cells["east alone"][0] == "72.0 % ± 0.7"


def test_a_final_model_with_other_numbers_has_a_row_of_its_own() -> None:
    assert titles(score_table(few_shot({**TWO_PHASES, "final": 0.6})))[0][-2:] == ["Round 2", "Final"]
    assert titles(score_table(few_shot({"final": 0.6})))[0] == ["Final"]


def test_without_rounds_the_average_is_final() -> None:
    course = {"warm_start": 0.5, "phase_1": 0.8, "final": 0.8}
    assert titles(score_table(few_shot(course)))[0] == ["Before phase 1", "Phase 1 average, final"]


def test_what_was_not_measured_leaves_no_gap() -> None:
    assert [len(group) for group in titles(score_table(few_shot(alone=False, pooled=False)))] == [4, 2]
    assert len(titles(score_table(few_shot(alone=False, pooled=False, names=())))) == 1


def test_fedavg_has_no_phase_1() -> None:
    assert titles(score_table(few_shot(fedavg(2))))[0] == ["Before round 1", "Round 1", "Round 2, final"]


@pytest.mark.parametrize("rounds", [1, 2, MOST_ROUNDS, MOST_ROUNDS + 1, 20, 21, 99, 101, 166])
def test_many_rounds_are_thinned_out_in_the_terminal_only(rounds: int) -> None:
    summary = few_shot(fedavg(rounds))
    every = titles(score_table(summary))[0][1:]
    some = score_table(summary, most_rounds=MOST_ROUNDS)
    kept = titles(some)[0][1:]
    assert len(every) == rounds
    assert len(kept) <= MOST_ROUNDS
    assert (kept[0], kept[-1]) == (every[0], every[-1])
    assert (kept == every) == (rounds <= MOST_ROUNDS)
    assert (f"Of {rounds} rounds" in some.note) == (kept != every)


def test_of_forty_rounds_every_fourth_is_shown() -> None:
    table = score_table(few_shot(fedavg(40)), most_rounds=12)
    numbers = [int(title.split()[1].rstrip(",")) for title in titles(table)[0][1:]]
    assert numbers == [1, *range(4, 41, 4)]
    assert "Of 40 rounds: the first, one in 4, and the last; the report has all." in table.note


@pytest.mark.parametrize(("ways", "expected"), [(5, "20.0 %"), (3, "33.3 %"), (20, "5.0 %")])
def test_chance_follows_from_the_ways(ways: int, expected: str) -> None:
    summary = few_shot(measures=(f"{ways}-way 1-shot",))
    assert chance(summary) == expected
    assert f"Chance: {expected}." in score_table(summary).note


@pytest.mark.parametrize("measure", ["cnn", "0-way 1-shot", "5-way"])
def test_a_measure_that_is_no_kind_of_task_is_refused(measure: str) -> None:
    with pytest.raises(RunError, match=f"'{measure}'"):
        score_table(few_shot(measures=(measure,)))


def test_headlines_are_those_of_the_summary() -> None:
    summary = few_shot()
    found = [headline(summary, stage) for stage in ("final", "silo_alone", "pooled", "real")]
    assert found == ["85.3 % ± 0.7", "72.0 % ± 0.7", "87.6 % ± 0.7", "not measured"]
    values = (summary.final_accuracy, summary.best_silo_accuracy, summary.pooled_accuracy)
    assert values == (0.853, 0.72, 0.876)


def test_terminal_and_report_show_the_same_table(tmp_path: Path, shown: Show) -> None:
    summary = few_shot()
    table, terminal = score_table(summary), shown(summary)
    page = write(tmp_path, summary)
    text = Reader(page).text
    assert f"strokes: {TITLE.lower()}" in terminal
    assert TITLE in text
    for words in (*table.columns[1:], table.note):
        assert words in terminal
        assert words in text
    for name, *cells in table.rows:
        assert " │ ".join((str(name), *map(str, cells))) in terminal
        pairs = zip(table.columns[1:], cells, strict=True)
        written = "".join(f'<td data-label="{column}" class=number>{cell}</td>' for column, cell in pairs)
        assert f'<th scope=row data-label="Model">{name}</th>{written}' in page
    assert not re.search(r"<details>(?:(?!</details>).)*Phase 1 average", page, re.DOTALL)


def test_the_report_has_all_rounds_and_the_terminal_some(tmp_path: Path, shown: Show) -> None:
    summary = few_shot(fedavg(40))
    terminal, page = shown(summary), write(tmp_path, summary)
    assert page.count('<th scope=row data-label="Model">Round ') == 40
    assert ">Round 39</th>" in page
    assert "Of 40 rounds" not in page
    assert "Round 39 " not in terminal
    assert "Of 40 rounds" in terminal


def test_the_report_speaks_of_tasks_and_not_of_images_that_were_drawn(tmp_path: Path) -> None:
    reader = Reader(write(tmp_path, few_shot()))
    assert reader.open == []
    anchors = [attributes["id"] for tag, attributes in reader.tags if tag == "section" and "id" in attributes]
    names = ("quality", "silos", "privacy", "uploads", "traffic", "timings", "parameters", "notes")
    assert anchors == [f"chapter-{name}" for name in names]
    for words in ("Fréchet", "artificial", "generated", "Real data", "real data", "classifier", "Warm start"):
        assert words not in reader.text, words
    for words in (
        "2 institutions trained one model that learns to tell new kinds of images apart from a few examples",
        "once it has seen 1 labelled example of each of 5 kinds",
        "guessing would be right 20.0 % of the time: 85.3 % for the joint model, 72.0 % for the best institution on "
        "its own and 87.6 % for a model trained on all images in one place, without privacy.",
        f"Epsilon 9.98 bounds what can be learnt about {TASK}, from what was released",
        "differences smaller than the two margins together should be read as equal. The intervals are over tasks, not "
        "over training runs.",
        "a note",
    ):
        assert words in reader.text, words


def test_cards_carry_the_measure_and_the_margins(tmp_path: Path) -> None:
    text = " ".join(Reader(write(tmp_path, few_shot())).text.split())
    assert (
        "Accuracy, global model 85.3 % ± 0.7 5-way 1-shot Best silo alone 72.0 % ± 0.7 accuracy without the others "
        "Pooled, without privacy 87.6 % ± 0.7 accuracy with all images in one place Epsilon 9.98 largest of any silo; silos alone spend more "
        "Delta 0.001"
    ) in text


def test_the_curve_is_read_against_each_silo_alone_and_the_pooled_model(tmp_path: Path) -> None:
    write(tmp_path, few_shot())
    message, words = chart(tmp_path, "accuracy")
    assert message == (
        "The global model reaches 85.3 %, the best silo alone 72.0 %, pooled data without privacy 87.6 %"
    )
    for text in ("north 0.70", "east 0.72", "pooled 0.88", "accuracy (5-way 1-shot)"):
        assert text in words, text


@pytest.mark.parametrize(("label", "lines"), [
    ("Before phase 1", ["Before", "phase 1"]), ("Phase 1 average", ["Phase 1", "average"]),
    ("Warm start", ["Warm", "start"]), ("Round 12", ["Round", "12"]), ("Final", ["Final"]),
])  # fmt: skip
def test_a_label_takes_two_even_lines(label: str, lines: list[str]) -> None:
    assert halves(label) == lines


@pytest.mark.parametrize("summary", [
    few_shot(alone=False), few_shot(pooled=False), few_shot(alone=False, pooled=False, measures=("3-way 2-shot",)),
    few_shot(fedavg(3)), few_shot(fedavg(1), names=("only",), alone=False), few_shot({"warm_start": 0.2}),
    few_shot().model_copy(update={"epsilon": None, "delta": None, "parameters": {"privacy": "off"}}),
    few_shot().model_copy(update={"scores": [], "accuracy": {}, "silos": [], "best_silo_accuracy": None}),
    few_shot().model_copy(update={"scores": [score("final", 0.5).model_copy(update={"margin": {}})]}),
])  # fmt: skip
def test_whatever_was_not_measured_the_rest_is_shown(tmp_path: Path, shown: Show, summary: RunSummary) -> None:
    reader, terminal = Reader(write(tmp_path, summary)), shown(summary)
    assert reader.open == []
    for name in names_of(score_table(summary)):
        assert name in reader.text
        assert name in terminal
    assert ("for the best institution on its own" in reader.text) == (summary.best_silo_accuracy is not None)
    assert ("in one place, without privacy" in reader.text) == (summary.pooled_accuracy is not None)
    assert ("Dashed lines" in reader.text) == any(silo.accuracy_alone is not None for silo in summary.silos)
    assert ("Differential privacy was off" in reader.text) == (summary.epsilon is None)
    assert not re.search(r"\bNone\b(?! recorded)", reader.text + terminal)


def test_an_accuracy_without_a_margin_stands_alone() -> None:
    bare = score("final", 0.5).model_copy(update={"margin": {}})
    table = score_table(few_shot().model_copy(update={"scores": [bare]}))
    assert table.rows == (("Final", "50.0 %", "60.0 %"),)
    assert "±" not in table.note
    assert "interval" not in table.note


def test_a_model_without_one_of_the_measures_says_so() -> None:
    less = score("pooled", 0.5, measures=MEASURES[:1])
    table = score_table(few_shot().model_copy(update={"scores": [score("final", 0.5), less]}))
    assert table.rows[-1][1:] == ("50.0 % ± 0.7", "not measured")


def test_several_examples_are_examples(tmp_path: Path) -> None:
    text = Reader(write(tmp_path, few_shot(measures=("20-way 5-shot",)))).text
    assert "once it has seen 5 labelled examples of each of 20 kinds" in text


def test_nothing_measured_is_said(tmp_path: Path) -> None:
    nothing = {"scores": [], "accuracy": {}, "best_silo_accuracy": None, "pooled_accuracy": None}
    text = Reader(write(tmp_path, few_shot().model_copy(update=nothing))).text
    assert "of the time: not measured." in text


def test_a_global_model_that_lost_says_so_with_margins(tmp_path: Path) -> None:
    lost = few_shot({"warm_start": 0.2, "final": 0.6})
    words = "the global model (60.0 % ± 0.7) did not beat the best silo alone (72.0 % ± 0.7)"
    assert words in Reader(write(tmp_path, lost)).text
    assert "did not beat" in Reader(write(tmp_path, few_shot({"warm_start": 0.2, "final": 0.72}))).text
    assert "did not beat" not in Reader(write(tmp_path, few_shot())).text


def test_tasks_are_counted_where_a_run_has_them(tmp_path: Path, shown: Show) -> None:
    summary = few_shot()
    examples = [silo.model_copy(update={"tasks": None}) for silo in summary.silos]
    without = summary.model_copy(update={"silos": examples, "learner": "embedding"})
    assert "north │ 1,600 │ 1,053 │ 0-1 │ 9.98 of 10 │ │" in shown(summary)
    assert "north │ 1,600 │ 0-1 │ 9.98 of 10 │ │" in shown(without)
    table = silo_table(summary)
    assert table.columns == (
        "Silo", "Examples", "Tasks", "Classes declared", "Epsilon spent", "Accuracy alone", "After local training"
    )  # fmt: skip
    assert tuple(map(text_of, table.rows[0])) == ("north", "1,600", "1,053", "0-1", "9.98 of 10", "70.0 %", "71.0 %")
    assert "<th scope=col class=number>Tasks</th>" in write(tmp_path, summary)
    assert "Tasks</th>" not in write(tmp_path, without)


@pytest.mark.parametrize("evil", [EVIL, '"><img src=x onerror=alert(1)>', "a&b<b>'c'"])
def test_names_cannot_become_markup(tmp_path: Path, evil: str) -> None:
    summary = few_shot(names=("north", evil))
    hurtful = {"name": evil, "parameters": {"unit of privacy": evil}}
    page = write(tmp_path, summary.model_copy(update=hurtful))
    reader = Reader(page)
    assert reader.open == []
    assert {tag for tag, _ in reader.tags} & {"script", "b"} == set()
    assert all("onerror" not in attributes for _, attributes in reader.tags)
    assert f"After local training, {evil}" in reader.text
    assert f"{evil} alone" in reader.text
    assert "http:" not in page
    assert "https:" not in page
    assert not re.search(r"url\(|@import", page)


def test_markup_of_the_terminal_in_a_name_is_shown_as_it_is(shown: Show) -> None:
    assert "After local training, [red]north" in shown(few_shot(names=("[red]north", "east")))


def test_a_run_of_before_few_shot_learning_reads_as_it_did(make_run: MakeRun) -> None:
    run_dir = make_run()
    now = write_report(run_dir).read_text(encoding="utf-8")
    summary = json.loads((run_dir / "summary.json").read_text())
    for field in ("learner", "scores", "pooled_accuracy"):
        del summary[field]
    for silo in summary["silos"]:
        del silo["tasks"]
    (run_dir / "summary.json").write_text(json.dumps(summary))
    lines = [json.loads(line) for line in (run_dir / "metrics.jsonl").read_text().splitlines()]
    for line in lines:
        line.pop("margin", None)
    (run_dir / "metrics.jsonl").write_text("\n".join(map(json.dumps, lines)))
    assert write_report(run_dir).read_text(encoding="utf-8") == now
    text = Reader(now).text
    assert "trained one model that draws artificial images" in text
    for words in ("Tasks", "Pooled", "pooled", TITLE, "margins", "Before"):
        assert words not in text, words
