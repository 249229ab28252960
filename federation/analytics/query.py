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
from siloseal.federation.config.fields import Printable
from siloseal.federation.config.section import Section
from siloseal.federation.privacy.mechanism import Mechanism
from siloseal.federation.sums.session import RealDomain

Column = NDArray[np.object_] | NDArray[np.float64]
"""One silo's column, an entry a record: texts or numbers."""

Counts = NDArray[np.int64]


class CountingMechanism(Mechanism, Protocol):
    """A mechanism that can say how wide its noise is."""

    def spread(self, contributors: int) -> float:
        """The noise on a total: for counts its standard deviation, for bits the chance of a flip."""


@dataclass(frozen=True, eq=False)
class NoisyTotal:
    """The noised total of one release."""

    values: NDArray[np.float64]
    spread: float
    """Width of the noise, as its mechanism says."""


@dataclass(frozen=True)
class Progress:
    """How far a query has come: all that its next release depends on, and all of it public."""

    key: bytes = b""
    """Key of hashes; the same at every silo, and different in every run."""
    totals: tuple[NoisyTotal, ...] = field(default=())

    def after(self, total: NoisyTotal) -> "Progress":
        """The progress, one release later."""
        return replace(self, totals=(*self.totals, total))

    @property
    def digest(self) -> bytes:
        """A digest of the progress, so that silos which were shown different totals notice."""
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
    """A question that noised sums answer; see the module's text."""

    numeric: ClassVar[bool]
    """Whether the column must hold numbers."""
    figure: ClassVar[str]
    """The figure that it finds of the column."""

    column: Printable = Field(min_length=1, max_length=200, description="the column that it looks at")

    @property
    def title(self) -> str:
        """The title, for people."""
        return f"{self.figure} of {self.column}"

    @property
    def releases(self) -> int:
        """Number of releases that the query takes at most."""
        return 1

    @abstractmethod
    def mechanism(self, noise: SharedNoise) -> CountingMechanism:
        """The noise on each of its releases."""

    @abstractmethod
    def length(self, progress: Progress) -> int:
        """Number of entries of the next release."""

    @abstractmethod
    def count(self, column: Column, progress: Progress) -> Counts:
        """The contribution of one silo to the next release."""

    @abstractmethod
    def answer(self, progress: Progress) -> Answer:
        """The meaning of the totals, once the query is finished."""

    def largest_entry(self, records: int) -> int:
        """The largest magnitude of an entry of a silo with this many records."""
        return records

    def finished(self, progress: Progress) -> bool:
        """Whether the totals are all that the query needs."""
        return len(progress.totals) >= self.releases

    def domain(self, progress: Progress, records: int) -> RealDomain:
        """The domain of the next release, among silos of at most this many records."""
        return RealDomain(self.length(progress), float(self.largest_entry(records)))
