"""A comparison's YAML file: grids of measurements, and the chapter of the report that draws them."""

from pathlib import Path
from typing import Any, Self

from pydantic import Field, model_validator

from siloseal.experiments.report.chapter import ChapterKind
from siloseal.federation.config.fields import Name
from siloseal.federation.config.section import Section

Changes = dict[str, Any]
"""Dotted path of a setting to its value: `privacy.epsilon: 3`. A mapping replaces the whole section."""
MOST_CELLS = 10_000
RESERVED = frozenset({"comparison", "cell", "seed", "stage", "silo", "measure", "detail", "value", "unit"})
"""Columns of the table that no axis may be called."""


class Axis(Section):
    """What one axis of a grid may be, by the name that tables and figures show."""

    choices: dict[str | int | float, Changes] = Field(
        min_length=1,
        description="written without this key: a name for each choice and what it changes, "
        "`DDG: {mechanism: {kind: ddg}}`, or one setting and its values, `privacy.epsilon: [1, 3]`",
    )

    @model_validator(mode="before")
    @classmethod
    def _short_or_long(cls, values: Any) -> Any:
        """`{privacy.epsilon: [1, 3]}`, or a name for each choice: `{DDG: {mechanism: {kind: ddg}}}`."""
        if not isinstance(values, dict) or not values:
            raise ValueError(f"found {values!r}, expected `path: [values]` or `name: {{path: value}}` for each choice")
        if len(values) == 1:
            path, listed = next(iter(values.items()))
            if isinstance(listed, list):
                labels = [_label(value) for value in listed]
                if len(set(labels)) != len(labels):
                    raise ValueError(f"{path} lists choices that would be called the same; give each a name of its own")
                return {"choices": {label: {path: value} for label, value in zip(labels, listed, strict=True)}}
        for name, changes in values.items():
            if not isinstance(changes, dict):  # pydantic wants a ValueError
                raise ValueError(  # noqa: TRY004
                    f"{name} is {changes!r}, expected what it changes, as `path: value`"
                )
        return {"choices": values}


def _label(value: Any) -> str | int | float:
    if isinstance(value, dict):
        return str(value.get("kind", value))
    return value if isinstance(value, str | int | float) else str(value)


class Grid(Section):
    """Every combination of the axes, for every seed, of one measurement."""

    measure: dict[str, Any] = Field(
        description="what a cell measures: `kind: job` with the path of a job's file; `kind: rounds` with that and a "
        "target; or `kind: sum`, noise, traffic, inversion, audit or cheating with their settings"
    )
    vary: dict[str, Axis] = Field(default_factory=dict, description="the axes: a name, and what each choice changes")
    seeds: tuple[int, ...] = Field(
        default=(0,), min_length=1, description="seeds of the cells; each makes a cell of its own"
    )

    @model_validator(mode="after")
    def _axes_are_columns_of_their_own(self) -> Self:
        if taken := sorted(set(self.vary) & RESERVED):
            raise ValueError(f"vary has an axis {taken[0]}, which is a column of the table already; rename it")
        return self

    @model_validator(mode="after")
    def _seeds_differ(self) -> Self:
        if len(set(self.seeds)) != len(self.seeds):
            raise ValueError("seeds lists a number twice; remove the copy")
        return self


class Comparison(Section):
    """One chapter of the report: what is compared, and how it is drawn."""

    name: Name = Field(description="names the chapter's files")
    chapter: ChapterKind = Field(
        default="overview", description="the chapter that draws the table; overview suits any grid"
    )
    grids: tuple[Grid, ...] = Field(min_length=1, description="what is measured")


def placed(path: str, beside: Path) -> Path:
    """A file that a comparison names, taken from where the comparison lies."""
    return beside.parent / Path(path).expanduser()
