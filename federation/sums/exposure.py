"""Exposure: who learns what from a secure sum, and what a silent silo does to it, as one value on each scheme.

This is the one place that says so. Documents, reports, config descriptions and error messages print these words, and
the checks of a job ask these numbers. In the words, n is the number of silos that a sum asks, t its threshold.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import assert_never

EVERYONE_MUST_STAY = "every silo must stay until its last message, or there is an error and no sum"
"""What a silent silo does to a sum in which nobody can stand in for another."""


class NoisedBy(StrEnum):
    """The party that adds the noise of a mechanism, which decides who sees what without it."""

    NOBODY = "nobody"
    EACH_SILO = "each silo"
    """Each silo adds all that its own guarantee needs."""
    SILOS_TOGETHER = "the silos together"
    """Each silo adds a part, which is too little on its own."""
    AGGREGATOR = "the aggregator"


@dataclass(frozen=True, kw_only=True)
class Exposure:
    """Who learns what from one sum, beside its contributors and sizes, which everyone learns."""

    aggregator_learns: str
    """What the aggregator learns by itself, while it follows the protocol."""
    silo_learns: str
    """What a silo learns by itself."""
    colluders: str
    """The silos that may tell the aggregator all they know; together they learn the sum of the other silos only."""
    if_more_collude: str
    """What a larger coalition learns."""
    if_a_silo_is_silent: str
    """What becomes of the sum when a silo falls silent."""
    assumes: str = ""
    """What the lines above rest on beyond genuine identity keys; empty if all parties may lie."""
    hides_contributions: bool
    """Whether the aggregator, while it follows the protocol, can compute no silo's vector."""
    may_collude: Callable[[int], int] = field(repr=False)
    """The number behind `colluders` among n silos; 0 if the aggregator must be alone."""
    opens_what_it_is_given: bool = False
    """Whether a lying aggregator may have any silo's contribution opened as if it were the sum."""
    shows_silos_the_exact_sum: bool = False
    """Whether a silo sees the sum before the aggregator, which may be the one to noise it."""
    noised_by: NoisedBy = NoisedBy.NOBODY
    """The party that adds noise to what is summed, or to the sum."""
    baseline: bool = False
    """Whether the scheme is here to be compared with, and protects less than the others."""

    @property
    def hides_split_noise(self) -> bool:
        """Whether nobody sees a single silo's part of a noise that protects only once all parts are added up."""
        return self.hides_contributions and not self.opens_what_it_is_given

    def rows(self, silos: int, fewest: int) -> dict[str, str]:
        """Return the lines of the exposure for a sum that asks this many silos and needs `fewest` of them."""
        collude, silent = self.may_collude(silos), silos - fewest or "none"
        rows = {
            "the aggregator learns": self.aggregator_learns,
            "a silo learns": self.silo_learns,
            "who may collude": f"{self.colluders}; here, of n = {silos} silos, {collude}",
            "if more collude": self.if_more_collude,
            "a silent silo": f"{self.if_a_silo_is_silent}; here, of n = {silos} silos, {silent}",
        }
        return {**rows, "assumes": self.assumes} if self.assumes else rows

    def noised(self, by: NoisedBy) -> "Exposure":
        """Return the exposure of the same sum with this noise."""
        hidden, noised, trust = self.hides_contributions, self.silo_learns.replace("the sum", "the noised sum"), ""
        match by:
            case NoisedBy.NOBODY:
                return self
            case NoisedBy.EACH_SILO:
                learns = "the noised sum" if hidden else "every silo's vector, with noise that protects it on its own"
            case NoisedBy.SILOS_TOGETHER:
                learns = "the noised sum" if hidden else "every silo's vector, with too little noise to protect it"
                trust = "that no more silos than mechanism.colluding tell the aggregator their part of the noise"
            case NoisedBy.AGGREGATOR:
                learns, noised = "the exact sum" if hidden else "each silo's exact contribution", self.silo_learns
                trust = (
                    "that the aggregator noises the sum before anyone else sees it, and keeps what it learnt to itself"
                )
            case _:
                assert_never(by)
        assumes = "; and ".join(filter(None, (self.assumes, trust)))
        return replace(self, aggregator_learns=learns, silo_learns=noised, assumes=assumes, noised_by=by)


def nobody_may_collude(silos: int) -> int:
    """Always 0: no silo may tell the aggregator what it knows."""
    return 0
