"""What a guarantee says beside its numbers, and the one sentence that states it. It imports no accountant."""

from dataclasses import dataclass

from siloseal.federation.privacy.epsilon import delta_text, epsilon_text, weakness


@dataclass(frozen=True)
class Guarantee:
    """What a person needs to know beside epsilon and delta."""

    unit: str
    """What may be there or not without anyone being able to tell."""
    noise: str
    """Kind of noise, who adds it, and who is trusted to."""
    relation: str = "add/remove"
    """What neighbouring data sets differ in."""
    public: str = "the number of examples and the set of classes"
    """Facts that are not hidden; empty if there are none."""
    over: str = "all phases"
    """Releases that the guarantee covers together."""
    planned: float = 0.0
    """Epsilon of all releases that may be made, also where fewer are: whether a query ends early depends on data."""

    def stated(self, charged: float) -> float:
        """Epsilon that may be stated where this much was charged: no less than planned."""
        return max(charged, self.planned)

    def statement(self, epsilon: float, delta: float, *, accounting: str) -> str:
        """The guarantee in one line that a person can quote."""
        epsilon = self.stated(epsilon)
        public = f"; {self.public} count as public" if self.public else ""
        return (
            f"({epsilon_text(epsilon)}, {delta_text(delta)})-differential privacy{weakness(epsilon)} for {self.unit} "
            f"({self.relation}) over {self.over}; {self.noise}; {accounting}{public}."
        )


NO_GUARANTEE = "no guarantee; privacy was switched off in the job."
