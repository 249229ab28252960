"""The values that both sides compute from a session alone: all sizes, and who masks key shares with whom."""

from dataclasses import dataclass

from siloseal.federation.sums.ckks.parameters import Parameters
from siloseal.federation.sums.secagg.plan import Plan
from siloseal.federation.sums.session import Session


@dataclass(frozen=True)
class Setting:
    """The setting of one session."""

    session: Session
    parameters: Parameters
    precision_bits: int
    plan: Plan
    """SecAgg's plan, over the entries of key shares."""
