"""Queries that are answered by noisy counts, and those of them that look at numbers in a range."""

from abc import abstractmethod
from typing import ClassVar, Self

from pydantic import Field, model_validator

from siloseal.federation.analytics.query import Query
from siloseal.federation.analytics.shared_noise import SharedNoise
from siloseal.federation.privacy.mechanisms.counts import NoisyCounts
from siloseal.federation.privacy.mechanisms.integer_noise import Move


class CountQuery(Query):
    """A query whose noise follows from how far one record moves its counts."""

    @property
    @abstractmethod
    def move(self) -> Move:
        """How far one record moves the counts of a release."""

    def mechanism(self, noise: SharedNoise) -> NoisyCounts:
        return noise.counts(self.move)


class RangeQuery(CountQuery):
    """A query about numbers, each clipped to a range that is chosen without looking at the data."""

    numeric: ClassVar[bool] = True
    low: float = Field(
        ge=-1e15, le=1e15, description="smaller numbers count as this one; choose it without looking at the data"
    )
    high: float = Field(
        ge=-1e15, le=1e15, description="larger numbers count as this one; choose it without looking at the data"
    )

    @model_validator(mode="after")
    def _low_is_below_high(self) -> Self:
        if not self.high - self.low > 1e-12 * max(abs(self.low), abs(self.high)):
            raise ValueError(f"low is {self.low:g} and high is {self.high:g}; low must be well below high")
        return self
