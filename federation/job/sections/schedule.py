"""The course of a job."""

import math
from typing import Annotated, Literal

from pydantic import Field

from siloseal.federation.config.fields import Batch, Steps
from siloseal.federation.config.section import Section
from siloseal.federation.job.sections.server_optimizers import ServerAverage, ServerOptimizerConfig
from siloseal.federation.sums.config import SecureSumConfig
from siloseal.federation.sums.plain.config import PlainSumConfig


class TwoPhase(Section):
    """Train locally and aggregate once; then tune in cheap rounds."""

    kind: Literal["two_phase"] = Field(description="the two phases of SiloSeal")
    batch: Batch = Field(description="expected examples, or tasks, of a Poisson batch, in both phases")
    local_steps: Steps = Field(description="training steps of each silo before the one aggregation")
    tuning_rounds: int = Field(default=10, ge=0, le=10_000, description="rounds of phase 2; they drift after about 20")
    tuning_steps: Steps = Field(default=10, description="training steps that a silo takes in one tuning round")
    server: ServerOptimizerConfig = Field(
        default=ServerAverage(),
        description="how a tuning round moves the global model; the one aggregation of phase 1 is the plain average",
    )
    tuning_sum: SecureSumConfig = Field(
        default=PlainSumConfig(kind="plain"),
        description="the sum of the tuning rounds, whose updates are private already",
    )

    def participant_count(self, silos: int) -> int:
        """Number of silos that a round asks: all of them."""
        return silos


class FedAvg(Section):
    """Federated averaging of both networks from the first step, as a baseline (McMahan et al. 2017)."""

    kind: Literal["fedavg"] = Field(description="plain federated averaging")
    rounds: int = Field(ge=1, le=100_000, description="rounds of averaging")
    fraction: float = Field(default=1.0, gt=0, le=1, description="C: the part of the silos that a round asks")
    local_epochs: float = Field(default=1.0, gt=0, le=10_000, description="E: passes over a silo's data in one round")
    batch: Batch = Field(description="B: expected examples, or tasks, of a Poisson batch")
    server: ServerOptimizerConfig = Field(
        default=ServerAverage(), description="how a round moves the global model; average is FedAvg as published"
    )

    def participant_count(self, silos: int) -> int:
        """Number of silos that a round asks: a fraction of all."""
        return max(1, math.ceil(self.fraction * silos))


ScheduleConfig = Annotated[TwoPhase | FedAvg, Field(discriminator="kind")]
