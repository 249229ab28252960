"""How many different values there are over all silos, those that several silos have counted once.

Every value is hashed to one of m cells; `noisy_bits` tells, noisily, which cells are empty at all silos. A noisy bit is
1 with chance f for an empty cell and 1/2 for any other, so (1/2 - ones / m) / (1/2 - f) is an unbiased estimate of the
share of empty cells, and m ln(1 / share) estimates the number of values (linear counting, Whang et al. 1990).

What to expect: with t values a cell the standard error is about sqrt(m) e^t / (1 - 2 f) values, where 1 - 2 f is the
contrast of the honest silos' flips to the power of contributors / honest. With 16,384 cells, as many values, and four
silos of which three are honest, that is 640 values or 4 % where the count alone has epsilon 1, and 2,700 or 16 % where
it has epsilon 1/4. So choose about as many cells as values are expected; a few hundred values cannot be counted well at
a small epsilon.

The hash has a key, which differs from run to run so that two runs err independently. It is public: whoever sees the
bits can hash a list of guesses. Only the noise stands between a guess and an answer.
"""

import hashlib
import math
from typing import ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from siloseal.federation.analytics.intervals import TWO_SIDED
from siloseal.federation.analytics.noisy_bits import NoisyBits
from siloseal.federation.analytics.query import Answer, Column, Counts, Estimate, Progress, Query
from siloseal.federation.analytics.shared_noise import SharedNoise


class Distinct(Query):
    """The number of different values."""

    numeric: ClassVar[bool] = False
    figure: ClassVar[str] = "distinct values"
    kind: Literal["distinct"] = Field(description="how many different values there are over all silos")
    cells: int = Field(
        default=16_384, ge=64, le=2**22, description="a power of two, about as many as values are expected"
    )

    @model_validator(mode="after")
    def _power_of_two(self) -> Self:
        if self.cells & (self.cells - 1):
            raise ValueError(f"cells is {self.cells}; take a power of two, such as {1 << self.cells.bit_length()}")
        return self

    def mechanism(self, noise: SharedNoise) -> NoisyBits:
        return noise.bits()

    def length(self, progress: Progress) -> int:
        return self.cells

    def largest_entry(self, records: int) -> int:
        return 1

    def count(self, column: Column, progress: Progress) -> Counts:
        """A record sets one cell, or finds it set: it moves one entry by 1 at most."""
        bitmap = np.zeros(self.cells, dtype=np.int64)
        for text in {str(entry) for entry in column}:
            digest = hashlib.blake2b(text.encode(), key=progress.key[:64], digest_size=8).digest()
            bitmap[int.from_bytes(digest, "little") % self.cells] = 1
        return bitmap

    def answer(self, progress: Progress) -> Answer:
        (total,) = progress.totals
        contrast = 0.5 - total.spread
        empty = (0.5 - float(total.values.mean())) / contrast
        likely = min(max(empty, 0.0), 1.0)
        noise = likely * total.spread * (1 - total.spread) + (1 - likely) / 4  # variance of one bit
        reach = TWO_SIDED * math.sqrt((noise / contrast**2 + _hashing_variance(likely)) / self.cells)
        low, high = self._values(empty + reach), self._values(empty - reach)
        value: float | None = self._values(empty)
        note = ""
        if empty - reach < 1 / self.cells:
            value, note = None, "too many values for these cells, or too much noise: take more cells, or raise epsilon"
        elif high > 5 * max(low, 1.0):
            value, note = None, "too noisy to tell: raise epsilon, or ask less with it"
        return Answer(
            query=self.title, estimates=(Estimate(name="values", value=value, low=low, high=high, note=note),)
        )

    def _values(self, share: float) -> float:
        """Number of values for a share of empty cells. A share below half a cell is noise, which bounds the number."""
        return linear_count(self.cells, min(max(share, 0.5 / self.cells), 1.0) * self.cells)


def linear_count(cells: int, empty: float) -> float:
    """The number of values that leave this many of the cells empty, on average."""
    return cells * math.log(cells / empty)


def _hashing_variance(share: float) -> float:
    """The variance of the share of empty cells, times the cells: values collide by chance (Whang et al., Theorem 1)."""
    return share * (1 - share * (1 - math.log(share))) if share > 0 else 0.0
