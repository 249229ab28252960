"""The plan that both sides compute from a session: who masks with whom, how many open a secret, where sums wrap."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property

from siloseal.federation.sums.masked.words import WordRing


class Round(IntEnum):
    """The rounds, in order."""

    ADVERTISE = 0
    SHARE = 1
    UPLOAD = 2
    CONFIRM = 3
    REVEAL = 4


@dataclass(frozen=True)
class Plan:
    """The graph, threshold and word ring of one session."""

    neighbours: Mapping[str, tuple[str, ...]]
    complete: bool
    """Whether everyone is everyone's neighbour."""
    threshold: int
    """Number of shares that recover a silo's secret."""
    ring: WordRing
    fewest: int
    """Number of silos that must upload: as many as the session demands, and as the graph needs."""
    fewest_openers: int
    """Number of silos that must answer after the uploads: as many as the graph needs."""

    @cached_property
    def most_near(self) -> int:
        """Number of silos of the largest neighbourhood, its centre included."""
        return max(len(near) for near in self.neighbours.values()) + 1

    @property
    def fewest_near(self) -> int:
        """Number of silos of a neighbourhood, its centre included, that must be there for the sum to open.

        On the complete graph a silo holds a share of its own seed as well, so that t of n open it. On a ring it does
        not: the bound on an aggregator that lies, 2 t > k + corrupted, is for shares that only the k neighbours have.
        """
        return self.threshold if self.complete else self.threshold + 1

    def near(self, silo: str) -> tuple[str, ...]:
        """Return the silo and its neighbours."""
        return tuple(sorted((silo, *self.neighbours[silo])))

    def holders(self, silo: str) -> tuple[str, ...]:
        """Return the silos that hold a share of the silo's seed."""
        return self.near(silo) if self.complete else self.neighbours[silo]
