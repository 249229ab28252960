"""What the chapter on distributed privacy says of the papers' claims follows from the cells."""

from pathlib import Path

from siloseal.experiments.comparison.rows import Label, Measured, Row
from siloseal.experiments.report.chapters import draw

SEEDS = (0, 1, 2)


def cells(mechanism: str, noise: str, value: float, **labels: Label) -> list[Measured]:
    """Three seeds, whose accuracies are the same but for a shift that all kinds of noise share."""
    return [
        Measured(
            comparison="c",
            cell=f"{noise}{labels}{seed}",
            labels={"noise": noise, **labels},
            seed=seed,
            kinds={"mechanism": mechanism},
            rows=(
                Row(measure="accuracy", value=value + 0.01 * seed, stage="final", detail="accuracy"),
                Row(measure="delta", value=1e-4),
                *([Row(measure="epsilon_if_hidden", value=1.5)] if mechanism == "gaussian_central" else []),
            ),
        )
        for seed in SEEDS
    ]


def drawn(tmp_path: Path, ddg: float, seeds: int = 3) -> dict[str, tuple[tuple[str, ...], ...]]:
    measured = [
        *cells("gaussian_central", "central", 0.80, epsilon=3),
        *cells("gaussian_local", "local", 0.30, epsilon=3),
        *cells("ddg", "DDG", 0.70, bits=10, epsilon=3),
        *cells("ddg", "DDG", ddg, bits=18, epsilon=3),
    ]
    chapter = draw("distributed-dp", "mine", [cell for cell in measured if cell.seed < seeds], tmp_path, dpi=20)
    return {table.caption.split(",")[0]: table.rows for table in chapter.tables}


def here(rows: tuple[tuple[str, ...], ...], word: str) -> str:
    return next(found for _, claim, found in rows if word in claim)


def test_a_noise_that_equals_the_central_one_cannot_be_told_apart(tmp_path: Path) -> None:
    claims = next(rows for caption, rows in drawn(tmp_path, 0.80).items() if caption.startswith("What the papers say"))
    assert "+0.000 at epsilon 3" in here(claims, "ddg with enough bits")
    assert "differs" not in here(claims, "ddg with enough bits")
    assert "-0.100 at 10 bits, epsilon 3" in here(claims, "few bits")
    assert "-0.500 at epsilon 3" in here(claims, "by itself")
    assert here(claims, "skellam") == "not measured"


def test_a_noise_that_is_surely_worse_is_said_to_differ(tmp_path: Path) -> None:
    claims = next(rows for caption, rows in drawn(tmp_path, 0.75).items() if caption.startswith("What the papers say"))
    assert here(claims, "ddg with enough bits").startswith("differs at epsilon 3: -0.050")


def test_of_one_seed_nothing_is_concluded(tmp_path: Path) -> None:
    tables = drawn(tmp_path, 0.3, seeds=1)
    claims = next(rows for caption, rows in tables.items() if caption.startswith("What the papers say"))
    assert here(claims, "ddg with enough bits") == "one seed: -0.500 at epsilon 3"


def test_epsilon_stands_beside_what_hidden_samples_would_make_of_it(tmp_path: Path) -> None:
    tables = drawn(tmp_path, 0.8)
    (rows,) = (rows for caption, rows in tables.items() if caption.startswith("Epsilon of the same"))
    assert rows == (("3", "1.50"),)
