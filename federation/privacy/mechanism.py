"""The interface of every mechanism: noise that travels with a sum.

A mechanism is an encoding that adds noise, and so has a cost. `federation/sums/noisy_sum.py` composes it with any
secure sum.
"""

from typing import Protocol

from siloseal.federation.privacy.events import Event
from siloseal.federation.sums.encoding import Encoding
from siloseal.federation.sums.session import RealDomain


class Mechanism(Encoding, Protocol):
    """A mechanism: clip, round, noise; the way back; and what it costs."""

    def event(self, outer: RealDomain, honest: int) -> Event:
        """The cost of one release of a vector of `outer` while at least this many contributors are honest."""

    def deviation(self, outer: RealDomain, contributors: int) -> float:
        """The standard deviation of an entry of the total: of noise, and of rounding at its worst."""
