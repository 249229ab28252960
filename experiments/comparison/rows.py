"""One number a row: the tidy table that every figure is drawn from."""

from pydantic import Field

from siloseal.run_folder.record import Record

Label = str | int | float


class Row(Record):
    """One number that a cell measured. What a cell varies is not in it: the grid knows that (`Measured.labels`)."""

    measure: str
    """Name of what was measured: "accuracy", "sent_bytes", "seconds", ..."""
    value: float
    unit: str = ""
    stage: str = ""
    """A phase or stage of a job, or a round of a protocol."""
    silo: str = ""
    detail: str = ""
    """Detail that distinguishes rows that are equal so far: a classifier, an attack, a scheme's round."""


class Measured(Record):
    """A finished cell of a grid: what it was, and what it measured."""

    comparison: str
    cell: str
    """The digest of its settings, which names its folder, too."""
    labels: dict[str, Label] = Field(default_factory=dict)
    """The point of the grid: axis to choice, the order of the config."""
    seed: int = 0
    kinds: dict[str, str] = Field(default_factory=dict)
    """Kinds of `secure_sum` and `mechanism`, as the settings have them: labels are free text."""
    rows: tuple[Row, ...]

    def find(self, measure: str, **where: str) -> list[Row]:
        """Return the rows of one measure, with these fields."""
        return [
            row
            for row in self.rows
            if row.measure == measure and all(getattr(row, name) == value for name, value in where.items())
        ]

    def value(self, measure: str, **where: str) -> float:
        """Return the one number of that kind; `KeyError` where there is none or several."""
        found = self.find(measure, **where)
        if len(found) != 1:
            raise KeyError(f"{self.labels} has {len(found)} rows of {measure} with {where}, expected one")
        return found[0].value
