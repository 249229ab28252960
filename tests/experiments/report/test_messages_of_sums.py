"""What chapters say of sums, noise and traffic that are made by hand: whole sentences, and who learns what."""

from pathlib import Path

from siloseal.experiments.comparison.rows import Row
from siloseal.experiments.report.chapters import (
    draw,
    noise,
    slides,
    sums,
)
from siloseal.experiments.report.chapters.draft import Album
from siloseal.federation.sums.plain.plain_sum import PlainSum
from siloseal.report import charts
from siloseal.report.intervals import Mean

from .by_hand import cell, scored


def test_of_two_noises_the_smaller_error_is_the_better(tmp_path: Path) -> None:
    curves = {"local": [(1.0, Mean(4.5, 0.1, 3))], "DDG": [(1.0, Mean(1.01, 0.01, 3))]}
    rows = (Row(measure="rmse", value=1.0), Row(measure="delta", value=1e-5))
    drawn = noise.errors(curves, [cell(*rows, noise=kind) for kind in curves], Album(tmp_path, "noise", 20))
    assert drawn.message == "Error of a sum at epsilon 1, relative to the central Gaussian's: DDG 1.01, local 4.50"
    assert "Epsilons are at delta 1e-5." in drawn.caption


def test_traffic_names_the_best_accuracy_and_its_price(tmp_path: Path) -> None:
    cells = [
        cell(scored(value), Row(measure="sent_bytes", value=size), scheme="ours", rounds=rounds)
        for rounds, value, size in ((1, 0.3, 1e6), (2, 0.7, 2e6), (3, 0.5, 3e6))
    ]
    messages = [figure.message for figure in draw("traffic", "traffic", cells, tmp_path, dpi=20).figures]
    assert "Best accuracy: ours 0.70 for 2 MB" in messages


def test_a_sum_that_a_dropout_ends_among_few_silos_only_says_so() -> None:
    cells = [
        cell(Row(measure="dropout_before_upload", value=value), sum="SecAgg", silos=count)
        for count, value in ((3, 0.0), (10, 1.0))
    ]
    assert sums.outcome(cells, "SecAgg", "dropout_before_upload") == "the sum comes out, but not among 3 silos"
    assert sums.outcome(cells[1:], "SecAgg", "dropout_before_upload") == "the sum comes out"
    assert sums.outcome(cells, "ring", "dropout_before_upload") == "not tried"


def test_a_kind_of_noise_looks_alike_in_every_picture() -> None:
    cells = [cell(noise=kind) for kind in ("DP-Adam", "local", "DDG")]
    looks = []
    for kinds in (("DP-Adam", "local", "DDG"), ("local", "DDG")):
        _, (axes,) = charts.panels(1)
        noise.drawn(axes, {kind: [(1.0, Mean(1.0, 0.1, 3))] for kind in kinds}, cells)
        looks.append({line.get_label(): (line.get_color(), line.get_marker()) for line in axes.get_lines()})
    assert looks[1] == {kind: looks[0][kind] for kind in ("local", "DDG")}
    assert len(set(looks[0].values())) == 3


def test_the_slides_stand_beside_both_ways_to_count_batchcrypt(tmp_path: Path) -> None:
    formula = {
        slides.OURS: {100: 2e9, 250: 4e9},
        slides.NEAREST[0]: {100: 5e9, 250: 9e9},
        slides.NEAREST[1]: {100: 3e9, 250: 5e9},
    }
    drawn = slides.slides(formula, "prototype", Album(tmp_path, "traffic", 20))
    assert drawn is not None
    assert drawn.message == (
        "Traffic, in times of ours: at 250 epochs BatchCrypt every round 2.25, BatchCrypt as published 1.25 (slides: 2.9); "
        "at 100 epochs BatchCrypt every round 2.50, BatchCrypt as published 1.50 (slides: 12.1)"
    )
    assert "73 against 211 GB at 250 epochs, 90 against 1,090 GB at 100 epochs" in drawn.caption


def test_the_bytes_of_each_silo_are_told() -> None:
    rows = [Row(measure=f"{way}_bytes", value=value, stage=stage, silo=silo)
            for way, stage, silo, value in (("sent", "phase_1", "a", 1000), ("sent", "phase_2", "a", 500),
                                            ("sent", "phase_1", "b", 2000), ("received", "phase_1", "a", 10))]  # fmt: skip
    assert sums.by_silo([cell(*rows, sum="ring")]).rows == (
        ("ring", "a", "1.5 kB", "10 bytes"), ("ring", "b", "2 kB", "not measured")
    )  # fmt: skip
    many = [Row(measure="sent_bytes", value=1000 + (n * 7) % 20, stage="phase_1", silo=f"s{n}") for n in range(20)]
    assert [row[1:3] for row in sums.by_silo([cell(*many, sum="ring")]).rows] == [("s0", "1 kB"), ("s17", "1.02 kB")]


def test_who_learns_what_goes_by_the_scheme_and_not_by_its_label() -> None:
    liar = cell(sum="SecAgg").model_copy(update={"kinds": {"secure_sum": "plain"}})
    assert sums.knowledge([liar]).rows[0][:2] == ("SecAgg", PlainSum.exposure.aggregator_learns)
    other = cell(sum="SecAgg", seed=1).model_copy(update={"kinds": {"secure_sum": "secagg"}})
    assert sums.knowledge([liar, other]).rows[0][:2] == ("SecAgg", "not described here")
    central = cell(noise="DDG").model_copy(update={"kinds": {"mechanism": "gaussian_central"}})
    assert noise.table([central]).rows[0][:2] == ("DDG", "the aggregator")
