"""Mean and variance of a number, from noisy sums of 1, u and u^2.

With u the number clipped to [low, high] and scaled to [-1, 1], a record sends (K, K u, K u^2), rounded to integers: one
record moves each entry by K at most, and all three by K at the ends. The intervals follow from the noise by the delta
method and add, as a worst case, what rounding can do: half a step in each record's entries.
"""

import math
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from siloseal.federation.analytics.counting import RangeQuery
from siloseal.federation.analytics.intervals import RELIABLE, TWO_SIDED, count_estimate
from siloseal.federation.analytics.query import Answer, Column, Counts, Estimate, NoisyTotal, Progress
from siloseal.federation.privacy.mechanisms.integer_noise import Move


class Mean(RangeQuery):
    """Mean, variance and number of records. All three are of the clipped numbers."""

    figure: ClassVar[str] = "mean"
    kind: Literal["mean"] = Field(description="mean and variance of a number")
    steps: int = Field(default=1024, ge=16, le=65_536, description="grid steps in half of the range")

    @property
    def move(self) -> Move:
        """The farthest records are those at an end of the range: they send (K, K, K) or (K, -K, K)."""
        return Move(l2=math.sqrt(3) * self.steps, l1=3.0 * self.steps, linf=float(self.steps), coordinates=3)

    def length(self, progress: Progress) -> int:
        return 3

    def largest_entry(self, records: int) -> int:
        return records * self.steps

    def count(self, column: Column, progress: Progress) -> Counts:
        unit = np.clip((column.astype(np.float64) - self._middle) / self._half, -1.0, 1.0)
        entries = np.stack([np.ones_like(unit), unit, unit**2])  # (3, records)
        counts: Counts = np.rint(self.steps * entries).astype(np.int64).sum(axis=1)
        return counts

    def answer(self, progress: Progress) -> Answer:
        (total,) = progress.totals
        records = count_estimate("records", float(total.values[0]) / self.steps, total.spread / self.steps)
        if total.values[0] <= RELIABLE * total.spread:
            return Answer(query=self.title, estimates=(*self._unknown(), records), remark="too few records to tell")
        return Answer(query=self.title, estimates=(*self._known(total), records))

    def _known(self, total: NoisyTotal) -> tuple[Estimate, Estimate]:
        weight, first, second = total.values.tolist()
        mean, square = first / weight, second / weight
        relative = total.spread / weight
        mean_reach = TWO_SIDED * relative * math.hypot(1.0, mean) + 0.5 / self.steps
        # v = s - m^2 has the gradient (2 m^2 - s, -2 m, 1) / weight in the three sums.
        noise_reach = TWO_SIDED * relative * math.hypot(2 * mean**2 - square, 2 * mean, 1.0)
        rounding = (0.5 + abs(mean) + 0.25 / self.steps) / self.steps
        reach = noise_reach + rounding
        return self._mean(mean, mean_reach), self._variance(square - mean**2, reach)

    def _mean(self, mean: float, reach: float) -> Estimate:
        value, low, high = (self._middle + self._half * _within(m, -1, 1) for m in (mean, mean - reach, mean + reach))
        return Estimate(name="mean", value=value, low=low, high=high)

    def _variance(self, variance: float, reach: float) -> Estimate:
        ends = (variance, variance - reach, variance + reach)
        value, low, high = (self._half**2 * _within(v, 0, 1) for v in ends)
        return Estimate(name="variance", value=value, low=low, high=high)

    def _unknown(self) -> tuple[Estimate, Estimate]:
        return (
            Estimate(name="mean", value=None, low=self.low, high=self.high, note="too few to tell"),
            Estimate(name="variance", value=None, low=0.0, high=self._half**2, note="too few to tell"),
        )

    @property
    def _middle(self) -> float:
        return self.low / 2 + self.high / 2

    @property
    def _half(self) -> float:
        return self.high / 2 - self.low / 2


def _within(value: float, low: float, high: float) -> float:
    return min(max(value, low), high)
