"""What chapters say of numbers that are made by hand: whole sentences, so that no exchanged word goes unnoticed."""

from itertools import product
from pathlib import Path

import pytest

from siloseal.experiments.comparison.rows import Label, Measured, Row
from siloseal.experiments.report.averages import numbers
from siloseal.experiments.report.chapters import (
    audit,
    cheating,
    draw,
    inversion,
    optimizers,
    silos,
    starts,
    words,
)
from siloseal.report import charts
from siloseal.report.intervals import Mean

from .by_hand import cell, scored


def test_a_number_of_a_cell_is_the_mean_of_its_rows() -> None:
    assert numbers([cell(scored(0.2), scored(0.6)), cell(), cell(scored(0.5))], "accuracy") == pytest.approx([0.4, 0.5])


@pytest.mark.parametrize(
    ("means", "said"),
    [
        ({"B": Mean(0.41, 0.01, 3), "A": Mean(0.62, 0.01, 3)}, "A reaches 0.62, B 0.41"),
        (
            {"A": Mean(0.62, 0.01, 3), "B": Mean(0.6, 0.02, 3)},
            "A reaches 0.62, B 0.60 (the first cannot be told from B)",
        ),
        ({"A": Mean(0.62, 0.01, 3), "B": Mean(0.41, None, 1)}, "A reaches 0.62, B 0.41 (no intervals)"),
        (
            {"A": Mean(0.62, 0.01, 3), "B": Mean(0.6, 0.005, 3), "C": Mean(0.55, 0.2, 3), "D": Mean(0.1, None, 1)},
            "A reaches 0.62, B 0.60, C 0.55, D 0.10 (the first cannot be told from C; no interval to compare with D)",
        ),
        (
            {"A": Mean(0.62, 0.1, 3), "B": Mean(0.6, 0.1, 3), "C": Mean(0.55, 0.1, 3)},
            "A reaches 0.62, B 0.60, C 0.55 (the first cannot be told from the others)",
        ),
        ({"A": Mean(0.62, None, 1)}, "A reaches 0.62"),
    ],
)
def test_a_ranking_says_who_cannot_be_told_from_the_best(means: dict[str, Mean], said: str) -> None:
    assert words.ranking(means) == said


def attacked(*psnr: float, protection: str = "plain") -> list[Measured]:
    """An image a number, against a guess of 11 dB."""
    return [
        cell(Row(measure="psnr", value=value), Row(measure="baseline_psnr", value=11.0), seed=n, protection=protection)
        for n, value in enumerate(psnr)
    ]


def test_an_attack_that_is_seldom_stuck_is_not_called_a_guess() -> None:
    """A wide interval acquits nobody, wherever its middle is."""
    assert inversion.verdict(Mean(0.3, 16.0, 3)) == "not decided"
    assert inversion.message(attacked(45, 14, 12)) == (
        "Images are rebuilt best under “plain” (PSNR 23.7 dB); not decided under “plain”"
    )


def test_a_protection_holds_where_the_whole_interval_is_near_the_guess() -> None:
    cells = [
        *attacked(45, 44, 46),
        *attacked(9.0, 9.1, 9.2, protection="noise"),
        *attacked(12.9, 13.0, 13.1, protection="blur"),
        *attacked(5.0, protection="one image"),
    ]
    assert inversion.message(cells) == (
        "Images are rebuilt best under “plain” (PSNR 45.0 dB); no closer than a guess under “noise”; "
        "not decided under “one image”"
    )
    assert [row[4] for row in inversion.table(cells).rows] == [
        "closer than a guess",
        "no closer than a guess",
        "closer than a guess",
        "not decided",
    ]


def audited(bound: float, epsilon: float, flaw: str = "none", seed: int = 0) -> Measured:
    rows = (("lower_bound", bound), ("epsilon", epsilon), ("confidence", 0.95), ("delta", 1e-5), ("steps", 400),
            ("broken", bound > epsilon))  # fmt: skip
    return cell(*(Row(measure=name, value=value) for name, value in rows), seed=seed, epsilon=epsilon, flaw=flaw)


def test_the_audit_counts_verdicts_and_says_how_many_bounds_may_be_wrong() -> None:
    cells = [audited(0.73, 2.0), audited(0.5, 4.0), audited(2.2, 2.0, "noise off"), audited(0.1, 4.0, "noise off")]
    assert audit.message(cells) == (
        "None of 2 lower bounds breaks the ledger: the nearest is 0.73 under epsilon 2.00; "
        "planted flaws found: noise off in 1 of 2"
    )
    assert audit.message([*cells, audited(2.5, 2.0, seed=1)]).startswith(
        "1 of 3 lower bounds break the ledger: 2.50 over epsilon 2.00; 1 of 3 sound silos are called broken"
    )
    assert audit.caption(cells) == (
        "A point is one seed; those of one epsilon stand side by side, and larger bounds at the upper edge. 400 steps a "
        "point. Epsilons are at delta 1e-5. Each bound holds with confidence 95 %; of 2 on sound silos at most 0.1 are wrong on average."
    )
    assert audit.table(cells).rows[0] == ("2", "none", "2.00", "0.73", "0.73", "0 of 1")


def test_a_silo_alone_is_averaged_over_silos_first_and_then_over_seeds() -> None:
    """Seeds with more silos do not count for more."""
    first = cell(scored(0.8), *(scored(value, "silo_alone", f"s{value}") for value in (0.1, 0.3)), silos=2)
    second = cell(
        scored(0.8), *(scored(value, "silo_alone", f"s{value}") for value in (0.5, 0.6, 0.7)), silos=2, seed=1
    )
    alone = silos.alone([first, second])
    assert alone is not None
    assert (alone.value, alone.count) == (pytest.approx(0.4), 2)


@pytest.mark.parametrize(
    ("spread", "said"), [(0.04, " ± 0.04"), (0.2, " ± 0.20, may be chance,"), (None, " (no interval)")]
)
def test_a_gain_that_may_be_chance_says_so(spread: float | None, said: str) -> None:
    dealt: dict[Label, silos.Kinds] = {"IID": {silos.GAIN: [(5.0, Mean(0.1, spread, 3))]}}
    assert silos.message(dealt) == (
        f"What federating adds to the mean silo's accuracy: +0.10{said} among 5 silos (IID)"
    )


def test_a_gain_is_taken_seed_by_seed() -> None:
    """The seeds differ by 0.3, the gain by nothing."""
    cells = [
        cell(
            scored(0.6 + luck), scored(0.5 + luck, "silo_alone", "a"), scored(0.3 + luck, "silo_alone", "b"), seed=seed
        )
        for seed, luck in enumerate((0.0, 0.1, 0.3))
    ]
    gain = silos.gained(cells)
    assert gain is not None
    assert (gain.value, gain.half_width) == (pytest.approx(0.2), pytest.approx(0, abs=1e-9))
    assert silos.measured_alone(cells) == " The mean silo alone is that of 2 silos of each seed."


def test_only_pooled_data_are_a_level_where_one_number_of_silos_was_measured() -> None:
    _, (axes,) = charts.panels(1)
    silos.draw_kinds(axes, {kind: [(5.0, Mean(0.5, 0.1, 3))] for kind in silos.KINDS})
    markers = {line.get_label(): line.get_marker() for line in axes.get_lines()}
    assert markers == {"federation": "o", "mean silo alone": "s", "pooled": "None"}


def test_the_best_silo_is_the_best_of_each_seed() -> None:
    seeds = [((0.2, 0.5), 0), ((0.7, 0.3), 1)]
    cells = [
        cell(*(scored(value, "silo_trained", f"s{value}") for value in values), seed=seed, start="none")
        for values, seed in seeds
    ]
    best = starts.best_silo(cells)
    assert best is not None
    assert best.value == pytest.approx(0.6)


def test_starts_are_ordered_by_their_ends() -> None:
    ends: starts.Starts = {"none": {"final": Mean(0.4, 0.01, 3)}, "public": {"final": Mean(0.7, 0.01, 3)}}
    assert starts.message({"": ends}) == "Final accuracy by start: public 0.70, none 0.40"


def test_a_gap_that_is_sure_comes_before_a_wider_one() -> None:
    surer = {"A": Mean(0.6, 0.01, 3), "B": Mean(0.5, 0.01, 3)}
    wider = {"A": Mean(0.7, 0.3, 3), "B": Mean(0.5, 0.3, 3)}
    assert optimizers.most_apart({1: wider, 2: surer}, [1, 2]) == "at sigma 2 A reaches 0.60, B 0.50"


def test_a_sigma_without_a_recorded_epsilon_does_not_count_as_private() -> None:
    cells = [
        cell(scored(value), *spent, sigma=sigma, optimizer=name)
        for (sigma, spent, values) in (
            (0.1, (), (0.9, 0.1)),
            (5, (Row(measure="epsilon", value=1.0, stage="total"),), (0.6, 0.5)),
        )
        for name, value in zip(("DP-Adam", "DP-SGD"), values, strict=True)
    ]
    assert optimizers.message(cells) == (
        "At sigma 5 DP-Adam reaches 0.60, DP-SGD 0.50 (no intervals); without a meaningful guarantee, "
        "at sigma 0.1 DP-Adam reaches 0.90, DP-SGD 0.10 (no intervals)"
    )


def cheated(**outcomes: str) -> list[Measured]:
    """By sum, the outcome of one cheat."""
    values = {"learnt": 1.0, "does not apply": -1.0}
    return [
        cell(Row(measure="learnt", value=values.get(outcome, 0.0), stage=outcome, detail="opens_one"), sum=name)
        for name, outcome in outcomes.items()
    ]


@pytest.mark.parametrize(
    ("outcomes", "said"),
    [
        ({"a": "refused", "b": "does not apply"}, "No cheat that was tried got a silo's vector from a"),
        ({"a": "does not apply"}, "No cheat applies to any of these sums"),
        ({"a": "learnt", "b": "harmless"}, "Sums that yield to cheats: a to 1; b to none"),
    ],
)
def test_only_cheats_that_apply_are_counted(outcomes: dict[str, str], said: str) -> None:
    assert cheating.message(cheating.outcomes(cheated(**outcomes))) == said


def test_a_second_session_is_told_apart_from_cheats_within_one() -> None:
    found = {
        "a": {"opens one": "learnt", "two sessions": "learnt"},
        "b": {"opens one": "refused", "two sessions": "learnt"},
    }
    assert cheating.message(found) == (
        "Sums that yield to cheats: a to 1; b to none; a second session without a silo tells its vector in every sum"
    )


def test_nobody_is_said_to_have_refused_whom_nobody_saw_refuse() -> None:
    assert cheating.outcomes(cheated(a=""))["a"] == {"opens one": "not learnt"}


def test_an_axis_that_is_not_shown_is_named(tmp_path: Path) -> None:
    cells = [audited(0.1, 2.0, seed=seed) for seed in (0, 1)]
    varied = [
        one.model_copy(update={"labels": {**one.labels, "batch": batch}}) for one, batch in product(cells, (1, 2))
    ]
    chapter = draw("audit", "audit", varied, tmp_path, dpi=20)
    assert chapter.notes[0] == "This grid also varies batch, which nothing in this chapter tells apart."


def test_an_overview_names_the_combinations_that_it_cannot_show(tmp_path: Path) -> None:
    shown = [
        cell(Row(measure="seconds", value=0.00032123, unit="s"), judge="a"),
        cell(Row(measure="other", value=1), judge="b"),
    ]
    drawn = draw("overview", "mine", shown, tmp_path, dpi=20)
    assert drawn.tables[0].rows == (("a", "0.000321 s", "1"),)
    assert "Not shown, because these did not measure it: judge b." in drawn.notes
    other_axes = [cell(Row(measure="seconds", value=2.0, unit="s"), judge="c", silos=silos) for silos in (3, 4)]
    drawn = draw("overview", "mine", [*shown[:1], *other_axes], tmp_path, dpi=20)
    assert "Not shown, because these did not measure it: judge a." in drawn.notes


def test_a_label_with_dollars_is_text_in_a_picture(tmp_path: Path) -> None:
    cells = [cell(scored(0.5), start="a $x b"), cell(scored(0.6), start=r"$\frac{$")]
    assert "$x" in draw("overview", "mine", cells, tmp_path, dpi=20).figures[0].svg.decode()
