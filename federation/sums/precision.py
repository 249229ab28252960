"""Precision of reals in sums over integers: one config field for all of them."""

from typing import Annotated

from pydantic import Field

PrecisionBits = Annotated[
    int, Field(ge=8, le=40, description="entries are rounded to multiples of bound / 2^precision_bits")
]
