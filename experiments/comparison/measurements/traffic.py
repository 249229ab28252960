"""Traffic by formula as a measurement: how it grows with the rounds."""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from siloseal.experiments.comparison.rows import Row
from siloseal.experiments.traffic import bytes_of_a_model, bytes_of_a_round
from siloseal.federation.config.section import Section
from siloseal.federation.sums.config import SecureSumConfig


class TrafficMeasurement(Section):
    """All silos' bytes until a round, where the first may be summed otherwise than those after it."""

    kind: Literal["traffic"]
    first: SecureSumConfig = Field(description="the sum of the first round: of phase 1, where there are two phases")
    others: SecureSumConfig = Field(description="the sum of each round after it")
    silos: int = Field(ge=2, le=1000, description="silos that take part")
    parameters: int = Field(ge=1, le=10**9, description="parameters of the model that travels")
    rounds: tuple[Annotated[int, Field(ge=1)], ...] = Field(
        min_length=1, description="rounds after which the traffic is told"
    )
    silos_keep_the_sum: bool = Field(
        default=False, description="paillier only: silos decrypt the sum for themselves, and no model is sent to them"
    )
    seed: int = Field(default=0, ge=0, description="a seed that makes no difference")

    @model_validator(mode="after")
    def _only_those_who_can(self) -> Self:
        if self.silos_keep_the_sum and {self.first.kind, self.others.kind} != {"paillier"}:
            raise ValueError(
                "silos_keep_the_sum is true, but only under paillier silos decrypt the sum; set it to false"
            )
        return self

    def run(self, folder: Path) -> list[Row]:
        """Return the bytes until each round. The last model goes to everyone, too."""
        first, other = (
            bytes_of_a_round(config, length=self.parameters, silos=self.silos, kept=self.silos_keep_the_sum)
            for config in (self.first, self.others)
        )
        last = 0 if self.silos_keep_the_sum else bytes_of_a_model(length=self.parameters, silos=self.silos)
        until = {number: first + (number - 1) * other + last for number in self.rounds}
        return [
            Row(measure="parameters", value=self.parameters),
            *(Row(measure="predicted_bytes", value=size, unit="B", stage=f"round {n}") for n, size in until.items()),
        ]
