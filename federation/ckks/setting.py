"""What both sides compute from a session alone: all sizes, and who masks key shares with whom."""

from dataclasses import dataclass

from federation.ckks.parameters import Parameters
from federation.secagg.plan import Plan
from federation.session import Session


@dataclass(frozen=True)
class Setting:
    """The setting of one session."""

    session: Session
    parameters: Parameters
    precision_bits: int
    plan: Plan
    """SecAgg's, over the entries of key shares."""
