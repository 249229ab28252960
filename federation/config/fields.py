"""Kinds of fields that several sections have."""

import math
import re
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field

from siloseal.federation.config.quoting import quoted


def _require_printable(text: str) -> str:
    if not text.isprintable():
        raise ValueError(f"found {text!r}, expected printable characters only: reports and terminals show this text")
    return text


def _require_rising(bounds: tuple[float, float]) -> tuple[float, float]:
    low, high = bounds
    if not 0 < high - low < math.inf:
        raise ValueError(f"found {low:g} and {high:g}, expected the lower bound first, below the upper one")
    return bounds


def _value_text(value: object) -> object:
    """A whole number as text; a word that YAML reads as a boolean is refused, because its spelling is lost."""
    if isinstance(value, bool):
        raise ValueError(  # noqa: TRY004 (pydantic explains values)
            f"found {str(value).lower()}, as YAML reads yes, no, on, off, true and false; put the word in quotes, as "
            'it stands in the table: "yes"'
        )
    return str(value) if isinstance(value, int) else value


def spelled(pattern: str, expected: str) -> AfterValidator:
    """A check that a whole text matches the pattern; its error says what is expected in words, and no pattern."""

    def check(text: str) -> str:
        if not re.fullmatch(pattern, text):
            raise ValueError(f"found {quoted(text, 120)}, expected {expected}")
        return text

    return AfterValidator(check)


Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$")]
Printable = Annotated[str, AfterValidator(_require_printable)]
"""Text without line breaks and other characters that a terminal or a page would obey."""
Value = Annotated[Printable, BeforeValidator(_value_text)]
"""Value of a field of a table. YAML reads 1 as a number; columns hold texts."""
Range = Annotated[tuple[float, float], AfterValidator(_require_rising)]
"""Lower and upper bound of a number, declared and not taken from data."""
Host = Annotated[str, Field(pattern=r"^[A-Za-z0-9]([A-Za-z0-9.:-]{0,252}[A-Za-z0-9])?$|^::1?$")]
Port = Annotated[int, Field(ge=1, le=65535)]
Delta = Annotated[float, Field(ge=1e-100, lt=0.1)]
"""Probability that an epsilon does not hold. Far below 1e-100, accountants would round it to 0, each in its own way."""
Steps = Annotated[int, Field(ge=1, le=10_000_000)]
Batch = Annotated[int, Field(ge=1, le=10_000_000)]
