"""What a guarantee says beside its numbers, and the one sentence that states it. It imports no accountant."""

import math
from dataclasses import dataclass

from siloseal.federation.privacy.epsilon import delta_text, epsilon_text, weakness

ZERO_OUT = "zero-out"
"""Relation of data sets that differ in one unit's contribution, which is there or is nothing.

How many units there are is public (Kairouz et al. 2021, "Practical and private (deep) learning without sampling or
shuffling"). Sampling rates, averages and rosters may then follow from that number.
"""
ADD_REMOVE = "add/remove"
"""Relation of data sets of which one has a unit more: not even the number of units is public."""

_FORMER_NAMES = {ZERO_OUT: ("add/remove", "there or zeros"), ADD_REMOVE: ()}
"""Names that ledgers of earlier versions give the same relation."""


@dataclass(frozen=True)
class Guarantee:
    """What a person needs to know beside epsilon and delta."""

    unit: str
    """What may be there or not without anyone being able to tell."""
    noise: str
    """Kind of noise, who adds it, and who is trusted to."""
    public: str = "the number of examples and the set of classes"
    """Facts that are not hidden; empty if there are none."""
    over: str = "all phases"
    """Releases that the guarantee covers together."""
    planned: float = 0.0
    """Epsilon of all releases that may be made, also where fewer are: whether a query ends early depends on data."""

    @property
    def relation(self) -> str:
        """Relation of neighbouring data sets. It follows from whether anything about the units is public."""
        return ZERO_OUT if self.public else ADD_REMOVE

    def goes_by(self, relation: object) -> bool:
        """Whether a ledger that names this relation, perhaps an earlier version's, is of this guarantee's."""
        return relation == self.relation or relation in _FORMER_NAMES[self.relation]

    @property
    def protected(self) -> str:
        """Unit and relation, for a short statement."""
        return f"{self.unit} ({self.relation})"

    def stated(self, charged: float) -> float:
        """Epsilon that may be stated where this much was charged: no less than planned."""
        return max(charged, self.planned)

    def statement(self, epsilon: float, delta: float, *, accounting: str) -> str:
        """The guarantee in one line that a person can quote."""
        epsilon = self.stated(epsilon)
        public = f"; {self.public} count as public" if self.public else ""
        return (
            f"({epsilon_text(epsilon)}, {delta_text(delta)})-differential privacy{weakness(epsilon)} for "
            f"{self.protected} over {self.over}; {self.noise}; {accounting}{public}."
        )


def in_short(epsilon: float, delta: float | None, *, protected: str = "") -> str:
    """Epsilon, delta and what they protect, for a table or a line below one."""
    at = "" if delta is None else f" at delta {delta_text(delta)}"
    return f"epsilon {epsilon_text(epsilon)}{weakness(epsilon)}{at}" + (f" for {protected}" if protected else "")


def for_one_example(epsilon: float, delta: float) -> str:
    """What one example costs, in words, where the protected unit is another. It may be infinite."""
    most = f"at most {epsilon_text(epsilon)}{weakness(epsilon)}" if math.isfinite(epsilon) else "nothing bounds it"
    return f"for one example, as silos' policies count it: {most} at delta {delta_text(delta)}"


NO_GUARANTEE = "no guarantee; privacy was switched off in the job."
