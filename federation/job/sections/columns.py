"""The columns of a table that a job learns from, as the job declares them.

How a record becomes numbers follows from the declaration and from that record alone. No smallest value, mean or list
of values is taken from the data: the encoding reveals nothing, and is the same at every silo.
"""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from siloseal.federation.config.fields import Printable, Range, Value
from siloseal.federation.config.section import Section

MOST_COLUMNS = 10_000
MOST_VALUES = 10_000

ColumnName = Annotated[Printable, Field(min_length=1, max_length=200)]
_NAME = "the column's name in the first line of every silo's table, which is public"


class _Number(Section):
    kind: Literal["number"] = Field(description="a measured number")
    name: ColumnName = Field(description=_NAME)
    range: Range = Field(
        description="the smallest and the largest value, from knowledge of the field and not from the data; what lies "
        "beyond them counts as the nearest of both"
    )
    scale: Literal["linear", "log"] = Field(
        default="linear", description="how the range becomes 0 to 1: evenly, or by logarithms, for values of many sizes"
    )

    @model_validator(mode="after")
    def _logarithms_exist(self) -> Self:
        if self.scale == "log" and self.range[0] <= 0:
            raise ValueError(f"range begins at {self.range[0]:g}, but scale is log, which takes numbers above 0 only")
        return self


class _Category(Section):
    kind: Literal["category"] = Field(description="one of some known values")
    name: ColumnName = Field(description=_NAME)
    values: tuple[Value, ...] = Field(
        min_length=1, max_length=MOST_VALUES, description="the known values, as they stand in the tables"
    )

    @model_validator(mode="after")
    def _values_differ(self) -> Self:
        if len(set(self.values)) != len(self.values):
            raise ValueError("values lists one twice, expected each once; remove the copy")
        if any(value != value.strip() or not value for value in self.values):
            raise ValueError(
                "values has one that is empty, or begins or ends with a space; spaces around a field do not count, and "
                "an empty field is a missing value"
            )
        return self


class NumberColumn(_Number):
    """A measured number as an input, scaled to [0, 1] by its declared range."""

    missing: Literal["refuse", "middle", "indicator"] = Field(
        default="refuse",
        description="what an empty field counts as: refuse the table; middle, the middle of the range; or indicator, "
        "the middle and a further input that is 1 where the field is empty",
    )

    @property
    def inputs(self) -> int:
        """Number of inputs that the column becomes."""
        return 1 + (self.missing == "indicator")


class CategoryColumn(_Category):
    """A known value as an input: one number a value, 1 for the record's own and 0 for the others."""

    other: bool = Field(
        default=False,
        description="a further input that is 1 for a value that is not listed; without it, such a value is all zeros",
    )
    missing: Literal["refuse", "zeros", "indicator"] = Field(
        default="refuse",
        description="what an empty field counts as: refuse the table; zeros, none of the values; or indicator, zeros "
        "and a further input that is 1 where the field is empty",
    )

    @property
    def inputs(self) -> int:
        """Number of inputs that the column becomes."""
        return len(self.values) + self.other + (self.missing == "indicator")


_MISSING_TARGET = "what happens to a record whose target is empty: refuse the table, or leave the record out"


class NumberTarget(_Number):
    """A measured number that is to be learnt, scaled to [0, 1] by its declared range: regression."""

    missing: Literal["refuse", "leave_out"] = Field(default="refuse", description=_MISSING_TARGET)

    @property
    def classes(self) -> int:
        """No classes: the target is measured."""
        return 0


class CategoryTarget(_Category):
    """A known value that is to be learnt; classes are numbered in the order of the values."""

    values: tuple[Value, ...] = Field(
        min_length=2, max_length=MOST_VALUES, description="the classes, as they stand in the tables; others are refused"
    )
    missing: Literal["refuse", "leave_out"] = Field(default="refuse", description=_MISSING_TARGET)

    @property
    def classes(self) -> int:
        """Number of classes."""
        return len(self.values)


Column = Annotated[NumberColumn | CategoryColumn, Field(discriminator="kind")]
Target = Annotated[NumberTarget | CategoryTarget, Field(discriminator="kind")]
DeclaredColumns = Annotated[tuple[Column, ...], Field(min_length=1, max_length=MOST_COLUMNS)]

COLUMNS = "the columns to learn from; a table may have others, which are not looked at"
TARGET = "the column to be learnt"


class Columns(Section):
    """The part of a table that a job learns from, and how each record becomes numbers."""

    columns: DeclaredColumns = Field(description=COLUMNS)
    target: Target = Field(description=TARGET)

    @model_validator(mode="after")
    def _each_column_once(self) -> Self:
        names = [self.target.name, *(column.name for column in self.columns)]
        if doubles := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"columns and target name {', '.join(doubles)} more than once; name each column once")
        return self

    @property
    def inputs(self) -> int:
        """Number of inputs of one record."""
        return sum(column.inputs for column in self.columns)
