"""The part of a scheme that all masked sums share: they add integers exactly, in words of as few bits as suffice.

What a scheme says itself is its rounds, who learns what, how many silos must stay, and how its masks may fail.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar

from siloseal.federation.sums.session import Domain, require_integers


class MaskedSum(ABC):
    """A sum under masks or shares that are uniform in Z_{2^b}."""

    sums_modulo: ClassVar[bool] = True
    """Always True: whoever adds uploads sees words modulo 2^b."""

    @abstractmethod
    def fewest(self, silos: int) -> int:
        """Return how many of these silos must stay; `DomainError` for too few to hide anything."""

    @abstractmethod
    def statistical_distance(self, domain: Domain, silos: int) -> float:
        """Return the probability that what is left of the masks of a silo is not uniform."""

    def admit(self, domain: Domain, silos: int) -> None:
        """Require enough silos to hide one among them, and a modulus that holds their sum."""
        self.fewest(silos)
        require_integers(domain, silos)

    def grid(self, domain: Domain) -> float:
        """Always 0: integers are exact."""
        return 0.0

    def describe(self, domain: Domain, silos: int) -> Mapping[str, str]:
        """Describe what a sum rests on; nothing unless the scheme has more to say than its exposure."""
        return {}
