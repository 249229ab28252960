"""The chapter on federated averaging: measured rounds stand beside those that the paper reports."""

from pathlib import Path

from siloseal.experiments.comparison.rows import Label, Measured, Row
from siloseal.experiments.report.chapters import draw


def cell(reached: float | None, rounds: int, **labels: Label) -> Measured:
    rows = [
        Row(measure="accuracy", value=0.9 + 0.01 * number / rounds, stage=f"round_{number}") for number in range(rounds)
    ]
    rows += [Row(measure="target", value=0.97), Row(measure="rounds", value=rounds)]
    rows += [] if reached is None else [Row(measure="rounds_to_target", value=reached)]
    return Measured(comparison="c", cell=f"{labels}", labels=labels, rows=tuple(rows))


def test_measured_rounds_stand_beside_the_reported_ones(tmp_path: Path) -> None:
    cells = [
        cell(300.0, 300, data="IID", C=0, E=1, B=10),
        cell(60.4, 61, data="IID", C=0.1, E=1, B=10),
        cell(None, 200, data="by class", C=0.1, E=1, B=10),
        cell(25.0, 25, data="IID", C=0.1, E=5, B=10),
    ]
    chapter = draw("fedavg", "mine", cells, tmp_path, dpi=20)
    rounds, claims = (table.rows for table in chapter.tables)
    assert [row[4:6] for row in rounds] == [
        ("300", "316"),
        ("60", "87"),
        ("25", "no such cell"),
        ("not in 200 rounds", "664"),
    ]
    here = dict(claims)
    assert "IID: C 0 300, C 0.1 60" in here["more silos a round (C) save rounds, with small batches"]
    assert "IID: E 1 60, E 5 25" in here["more passes (E) save rounds"]
    assert here["smaller batches (B) save rounds"] == "not measured"
    assert "IID 60, by class more than 200" in here["silos with two classes each need many more rounds"]
    assert "25 (IID; C 0.1, E 5, B 10)" in chapter.figures[0].message
