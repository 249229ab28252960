"""What every query is: what a silo counts, how far one record moves that, and what a noisy total means.

A query takes one release or several; what a later one counts may follow from the noisy totals of the earlier ones,
which are public. Intervals are about the noise alone, each on its own: they say where the figure of the silos' pooled
records lies, and nothing about a wider population that the records might stand for.
"""

import hashlib
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from siloseal.federation.analytics.shared_noise import SharedNoise
from siloseal.federation.config.section import Section
from siloseal.federation.privacy.mechanism import Mechanism
from siloseal.federation.sums.session import RealDomain

Column = NDArray[np.object_] | NDArray[np.float64]
"""One silo's column, an entry a record: texts or numbers."""

Counts = NDArray[np.int64]


class CountingMechanism(Mechanism, Protocol):
    """A mechanism that can say how wide its noise is."""

    def spread(self, contributors: int) -> float:
        """Of counts the standard deviation of the noise on each, of bits the chance of a flip."""


@dataclass(frozen=True, eq=False)
class NoisyTotal:
    """What one release told."""

    values: NDArray[np.float64]
    spread: float
    """As its mechanism says."""


@dataclass(frozen=True)
class Progress:
    """How far a query has come: all that its next release depends on, and all of it public."""

    key: bytes = b""
    """Of hashes; the same at every silo, and different in every run."""
    totals: tuple[NoisyTotal, ...] = field(default=())

    def after(self, total: NoisyTotal) -> "Progress":
        """One release later."""
        return replace(self, totals=(*self.totals, total))

    @property
    def digest(self) -> bytes:
        """Names it, so that silos which were told different totals notice."""
        parts = [total.values.astype("<f8").tobytes() + repr(total.spread).encode() for total in self.totals]
        digest = hashlib.sha256(self.key)
        for part in parts:
            digest.update(hashlib.sha256(part).digest())
        return digest.digest()


class Estimate(Section):
    """One figure with its 95 % interval. No value where the noise hides it; the interval holds all the same."""

    name: str
    value: float | None
    low: float
    high: float
    note: str = ""


class Answer(Section):
    """What a query found."""

    query: str
    estimates: tuple[Estimate, ...]
    remark: str = ""


class Query(Section, ABC):
    """See the module's text."""

    numeric: ClassVar[bool]
    """Whether the column must hold numbers."""

    column: str = Field(min_length=1, max_length=200, description="the column that it looks at")

    @property
    @abstractmethod
    def title(self) -> str:
        """For people."""

    @property
    def releases(self) -> int:
        """How many it takes at most."""
        return 1

    @abstractmethod
    def mechanism(self, noise: SharedNoise) -> CountingMechanism:
        """The noise on each of its releases."""

    @abstractmethod
    def length(self, progress: Progress) -> int:
        """How many entries the next release has."""

    @abstractmethod
    def count(self, column: Column, progress: Progress) -> Counts:
        """What one silo contributes to the next release."""

    @abstractmethod
    def answer(self, progress: Progress) -> Answer:
        """What the totals mean, once it is finished."""

    def largest_entry(self, records: int) -> int:
        """No entry of a silo with so many records is larger in magnitude."""
        return records

    def finished(self, progress: Progress) -> bool:
        """Whether the totals are all that it needs."""
        return len(progress.totals) >= self.releases

    def domain(self, progress: Progress, records: int) -> RealDomain:
        """Of the next release, among silos of at most so many records."""
        return RealDomain(self.length(progress), float(self.largest_entry(records)))
