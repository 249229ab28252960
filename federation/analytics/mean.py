"""Mean and variance of a number, from noisy sums of 1, u and u^2 - 1.

With u the number clipped to [low, high] and scaled to [-1, 1], a record sends (K, K u, K (u^2 - 1)), rounded to
integers. Its square norm is K^2 (2 - u^2 + u^4) <= 2 K^2, where (K, K u, K u^2) would reach 3 K^2: the noise is smaller
by sqrt(2/3). Rounding can add a little to that, because the last entry falls from its largest more slowly than a step
of the second: `_farthest` looks at every pair of integers.

The mean and the number of records gain all of that. The variance gains where numbers are spread over the range; where
they crowd in its middle it loses up to a sixth, because 1 - u^2 then carries the error of their number.

The intervals follow from the noise by the delta method and add, as a worst case, what rounding can do: half a step in
each record's entries.
"""

import math
from functools import lru_cache
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
        """The farthest records in L2 are near the middle of the range, in L1 halfway to an end."""
        return _farthest(self.steps)

    def length(self, progress: Progress) -> int:
        return 3

    def largest_entry(self, records: int) -> int:
        return records * self.steps

    def count(self, column: Column, progress: Progress) -> Counts:
        unit = np.clip((column.astype(np.float64) - self._middle) / self._half, -1.0, 1.0)
        entries = np.stack([np.ones_like(unit), unit, unit**2 - 1])  # (3, records)
        counts: Counts = np.rint(self.steps * entries).astype(np.int64).sum(axis=1)
        return counts

    def answer(self, progress: Progress) -> Answer:
        (total,) = progress.totals
        records = count_estimate("records", float(total.values[0]) / self.steps, total.spread / self.steps)
        if total.values[0] <= RELIABLE * total.spread:
            return Answer(query=self.title, estimates=(*self._unknown(), records), remark="too few records to tell")
        return Answer(query=self.title, estimates=(*self._known(total), records))

    def _known(self, total: NoisyTotal) -> tuple[Estimate, Estimate]:
        weight, first, lowered = total.values.tolist()
        mean, lack = first / weight, -lowered / weight  # lack is the mean of 1 - u^2
        relative = total.spread / weight
        mean_reach = TWO_SIDED * relative * math.hypot(1.0, mean) + 0.5 / self.steps
        # v = 1 - lack - m^2 has the gradient (2 m^2 + lack, -2 m, 1) / weight in the three sums.
        noise_reach = TWO_SIDED * relative * math.hypot(2 * mean**2 + lack, 2 * mean, 1.0)
        rounding = (0.5 + abs(mean) + 0.25 / self.steps) / self.steps
        reach = noise_reach + rounding
        return self._mean(mean, mean_reach), self._variance(1 - lack - mean**2, reach)

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


@lru_cache(maxsize=16)
def _farthest(steps: int) -> Move:
    """The farthest that one record's integers can be from zero, exactly.

    The second entry is a, up to its sign, where |u| >= (a - 1/2) / K. There K (1 - u^2) is at most
    K - (2 a - 1)^2 / (4 K), and the third entry is that, rounded. It is found in whole numbers. It is 1 / (4 K) or more
    away from where rounding would change, so a silo's double precision gives no other.
    """
    second = np.arange(steps + 1, dtype=np.int64)
    nearest = np.maximum(2 * second - 1, 0)  # of |u|, in halves of a step
    third = (4 * steps**2 - nearest**2 + 2 * steps) // (4 * steps)
    l2 = math.sqrt(steps**2 + int((second**2 + third**2).max()))
    return Move(l2=l2, l1=float(steps + int((second + third).max())), linf=float(steps), coordinates=3)


def _within(value: float, low: float, high: float) -> float:
    return min(max(value, low), high)
