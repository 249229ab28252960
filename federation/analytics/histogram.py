"""How often each of some known values occurs."""

from typing import ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from siloseal.federation.analytics.counting import CountQuery
from siloseal.federation.analytics.intervals import count_estimate
from siloseal.federation.analytics.query import Answer, Column, Counts, Progress
from siloseal.federation.config.fields import Value
from siloseal.federation.privacy.mechanisms.integer_noise import Move

OTHER = "(other)"


class Histogram(CountQuery):
    """Counts of named values, and of all others together, so that every record counts once."""

    numeric: ClassVar[bool] = False
    figure: ClassVar[str] = "histogram"
    kind: Literal["histogram"] = Field(description="how often each of these values occurs")
    values: tuple[Value, ...] = Field(
        min_length=1, max_length=10_000, description="the values to count; others are counted together"
    )

    @model_validator(mode="after")
    def _values_differ(self) -> Self:
        if len(set(self.values)) != len(self.values):
            raise ValueError("values lists one twice, expected each once; remove the copy")
        return self

    @property
    def move(self) -> Move:
        """One record is in one cell."""
        return Move(l2=1.0, l1=1.0, linf=1.0, coordinates=len(self.values) + 1)

    def length(self, progress: Progress) -> int:
        return len(self.values) + 1

    def count(self, column: Column, progress: Progress) -> Counts:
        places = {value: place for place, value in enumerate(self.values)}
        cells = np.array([places.get(str(entry), len(places)) for entry in column], dtype=np.int64)
        return np.bincount(cells, minlength=self.length(progress)).astype(np.int64)

    def answer(self, progress: Progress) -> Answer:
        (total,) = progress.totals
        cells = zip((*self.values, OTHER), total.values.tolist(), strict=True)
        return Answer(
            query=self.title, estimates=tuple(count_estimate(value, count, total.spread) for value, count in cells)
        )
