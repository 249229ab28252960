"""Means with confidence intervals, and the words that go with them: one seed has no interval."""

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from scipy import special

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Mean:
    """A mean and half the width of its 95 % confidence interval; None where one value has none."""

    value: float
    half_width: float | None
    count: int
    by_seed: Mapping[int, float] = field(default_factory=dict, compare=False, repr=False)
    """The number of each seed, where each has one."""

    @property
    def low(self) -> float:
        """The lower end; the value itself where there is no interval."""
        return self.value - (self.half_width or 0.0)

    @property
    def high(self) -> float:
        """The upper end; the value itself where there is no interval."""
        return self.value + (self.half_width or 0.0)

    def apart(self, other: "Mean") -> bool:
        """Whether two means differ beyond chance, at 95 %.

        Means of the same seeds are compared seed by seed: what a seed gives to both, data and start, cancels. Others
        are apart where their intervals do not meet, which is stricter than need be.
        """
        if len(self.by_seed) > 1 and self.by_seed.keys() == other.by_seed.keys():
            gap = mean([value - other.by_seed[seed] for seed, value in self.by_seed.items()])
            return gap is not None and gap.half_width is not None and abs(gap.value) > gap.half_width
        known = self.half_width is not None and other.half_width is not None
        return known and (self.low > other.high or other.low > self.high)

    def text(self, places: int = 3) -> str:
        """The mean with its interval, like 0.620 ± 0.012."""
        margin = "" if self.half_width is None else f" ± {self.half_width:.{places}f}"
        return f"{self.value:.{places}f}{margin}"


def mean(values: Sequence[float]) -> Mean | None:
    """The mean of some numbers; None where there are none.

    Its interval is Student's, because seeds are few and the deviation is estimated from them.
    """
    if not values:
        return None
    if len(values) == 1:
        return Mean(values[0], None, 1)
    quantile = float(special.stdtrit(len(values) - 1, (1 + CONFIDENCE) / 2))
    half_width = quantile * statistics.stdev(values) / math.sqrt(len(values))
    return Mean(statistics.fmean(values), half_width, len(values))


def ends(means: Iterable[Mean]) -> list[float]:
    """The lower and upper ends of all intervals: what an axis has to show."""
    return [end for found in means for end in (found.low, found.high)]


def bands(means: Iterable[Mean], over: str = "seeds") -> str:
    """The sentence of a figure's caption that says what the bands are, or why there are none."""
    counts, one = sorted({found.count for found in means}), over.removesuffix("s")
    if not counts or counts == [1]:
        return f"One {one} a point, so there is no confidence interval."
    several = [count for count in counts if count > 1]
    number = f"{several[0]}" if len(several) == 1 else f"{several[0]} to {several[-1]}"
    alone = f" A point of one {one} has none." if 1 in counts else ""
    return f"Means with 95 % confidence intervals (Student t) over {number} {over}.{alone}"


def averaged(title: str, means: Iterable[Mean], over: str = "seeds") -> str:
    """The caption of a table: its title, and what its numbers are."""
    known, one = {found.half_width is not None for found in means}, over.removesuffix("s")
    if True not in known:
        return f"{title}, one {one} each"
    alone = f"; a number without ± is of one {one}" if False in known else ""
    return f"{title}, mean ± half the width of its 95 % confidence interval over {over}{alone}"
