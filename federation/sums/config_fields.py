"""Config fields that several sums share."""

from typing import Annotated

from pydantic import Field

PrecisionBits = Annotated[
    int, Field(ge=8, le=40, description="entries are rounded to multiples of bound / 2^precision_bits")
]
"""Precision of reals in sums over integers."""

Threshold = Annotated[
    int | None,
    Field(
        ge=2,
        description="silos that stand in for one that dropped out; more than half, two thirds and one if not given",
    ),
]
"""Number of silos that recover what a silent one left; None for two thirds and one."""
