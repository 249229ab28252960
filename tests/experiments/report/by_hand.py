"""Cells and rows that a test writes down itself."""

from siloseal.experiments.comparison.rows import Label, Measured, Row


def cell(*rows: Row, seed: int = 0, **labels: Label) -> Measured:
    """A cell of a grid with these rows."""
    return Measured(comparison="c", cell=f"{labels}{seed}", labels=labels, seed=seed, rows=rows)


def scored(value: float, stage: str = "final", silo: str = "") -> Row:
    """An accuracy."""
    return Row(measure="accuracy", value=value, stage=stage, silo=silo, detail="cnn")
