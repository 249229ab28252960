"""Quantiles of a number, from one noisy release of counts in 1, 2, 4, ... 2^h equal parts of a range.

Each record counts once a level, h + 1 times in all. The rank of a leaf's edge is then a sum of at most h counts, and
not of all the leaves below it, so its noise grows with h and not with 2^h (Hay et al. 2010, without their weights).
"""

import math
from typing import ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from siloseal.federation.analytics.counting import RangeQuery
from siloseal.federation.analytics.intervals import RELIABLE, TWO_SIDED
from siloseal.federation.analytics.query import Answer, Column, Counts, Estimate, NoisyTotal, Progress
from siloseal.federation.privacy.mechanisms.integer_noise import Move


class Quantiles(RangeQuery):
    """The numbers below which given shares of the records lie."""

    figure: ClassVar[str] = "quantiles"
    kind: Literal["quantiles"] = Field(description="medians, quartiles and others of a number")
    shares: tuple[float, ...] = Field(
        default=(0.25, 0.5, 0.75),
        min_length=1,
        max_length=100,
        description="shares of the records that lie below an answer; 0.5 asks for the median",
    )
    depth: int = Field(default=8, ge=2, le=16, description="the range has 2^depth leaves; an answer is no finer")

    @model_validator(mode="after")
    def _shares_are_shares(self) -> Self:
        if not all(0 < share < 1 for share in self.shares):
            raise ValueError("shares must lie between 0 and 1; write 0.5 for the median")
        return self

    @property
    def move(self) -> Move:
        """One record is in one part a level."""
        levels = self.depth + 1
        return Move(l2=math.sqrt(levels), l1=float(levels), linf=1.0, coordinates=2 ** (self.depth + 1) - 1)

    def length(self, progress: Progress) -> int:
        return self.move.coordinates

    def count(self, column: Column, progress: Progress) -> Counts:
        leaves = 2**self.depth
        scaled = (column.astype(np.float64) - self.low) / (self.high - self.low) * leaves
        leaf = np.clip(np.floor(scaled), 0, leaves - 1).astype(np.int64)
        levels = [np.bincount(leaf >> (self.depth - level), minlength=2**level) for level in range(self.depth + 1)]
        return np.concatenate(levels).astype(np.int64)

    def answer(self, progress: Progress) -> Answer:
        (total,) = progress.totals
        if total.values[0] <= RELIABLE * total.spread:
            unknown = tuple(
                Estimate(name=f"{share:g}", value=None, low=self.low, high=self.high, note="too few to tell")
                for share in self.shares
            )
            return Answer(query=self.title, estimates=unknown, remark="too few records to tell")
        return Answer(query=self.title, estimates=tuple(self._quantile(share, total) for share in self.shares))

    def _quantile(self, share: float, total: NoisyTotal) -> Estimate:
        """Edges that are below the quantile beyond doubt, and edges that are above, leave the interval between them.

        The noise of an edge's rank and of the number of records are independent: the root is in no edge's sum. Whoever
        knows the truth finds its two neighbouring edges misjudged one time in forty each.
        """
        ranks, terms = self._ranks(total.values)
        target = share * float(total.values[0])
        reach = TWO_SIDED * total.spread * np.sqrt(terms + share**2)
        open_below = np.flatnonzero(ranks - target >= -reach)
        open_above = np.flatnonzero(ranks - target <= reach)
        low, high = max(0, int(open_below[0]) - 1), min(2**self.depth, int(open_above[-1]) + 1)
        place = min(max(_crossing(np.maximum.accumulate(ranks), target), low), high)
        return Estimate(name=f"{share:g}", value=self._edge(place), low=self._edge(low), high=self._edge(high))

    def _ranks(self, values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The number of records below each of the 2^h + 1 edges, and the number of noisy counts that each rank adds up.

        The binary digits of an edge say which parts lie below it. The first edge has none, and the last has them all.
        """
        edges = np.arange(2**self.depth)
        ranks, terms = np.zeros(edges.size), np.zeros(edges.size)
        for level in range(1, self.depth + 1):
            nodes = values[2**level - 1 : 2 ** (level + 1) - 1]
            place = edges >> (self.depth - level)
            odd = (place & 1).astype(bool)  # then the part to the left of it, of this level, lies below the edge
            ranks[odd] += nodes[place[odd] - 1]
            terms += odd
        return np.append(ranks, values[0]), np.append(terms, 1.0)

    def _edge(self, place: float) -> float:
        part: float = place / 2**self.depth
        return self.low + (self.high - self.low) * part


def _crossing(ranks: NDArray[np.float64], target: float) -> float:
    """The point where repaired ranks, which never fall, reach the target; between two edges by a straight line."""
    right = min(int(np.searchsorted(ranks, target)), ranks.size - 1)
    if right == 0:
        return 0.0
    step = float(ranks[right] - ranks[right - 1])
    part = (target - float(ranks[right - 1])) / step if step > 0 else 1.0
    return right - 1 + min(max(part, 0.0), 1.0)
