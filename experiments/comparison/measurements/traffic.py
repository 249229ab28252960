"""Traffic by formula as a measurement: how it grows with the rounds."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from experiments.comparison.rows import Row
from federation.config.section import Section
from federation.config.sums import SecureSumConfig


class TrafficMeasurement(Section):
    """All silos' bytes until a round, where the first may be summed otherwise than those after it."""

    kind: Literal["traffic"]
    first: SecureSumConfig = Field(description="the sum of the first round: of phase 1, where there are two phases")
    others: SecureSumConfig = Field(description="the sum of each round after it")
    silos: int = Field(ge=2, le=1000, description="who take part")
    parameters: int = Field(ge=1, le=10**9, description="of the model that travels")
    rounds: tuple[Annotated[int, Field(ge=1)], ...] = Field(min_length=1, description="after which to tell")
    seed: int = Field(default=0, ge=0, description="makes no difference")

    def run(self, folder: Path) -> list[Row]:
        """The last model goes to everyone, too."""
        from experiments.traffic import FLOAT_BYTES, bytes_of_a_round  # here: it imports torch, other cells need none

        first, other = (
            bytes_of_a_round(config, length=self.parameters, silos=self.silos) for config in (self.first, self.others)
        )
        last = self.silos * FLOAT_BYTES * self.parameters
        until = {number: first + (number - 1) * other + last for number in self.rounds}
        return [
            Row(measure="parameters", value=self.parameters),
            *(Row(measure="predicted_bytes", value=size, unit="B", stage=f"round {n}") for n, size in until.items()),
        ]
