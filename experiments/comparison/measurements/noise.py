"""A noised sum as a measurement: how far off it is at an epsilon, and what it costs in bytes."""

from pathlib import Path
from statistics import fmean
from typing import Literal, Self

import numpy as np
from pydantic import Field, model_validator

from siloseal.experiments.comparison.measurements.sums import require_admitted
from siloseal.experiments.comparison.rows import Row
from siloseal.federation.config.fields import Delta
from siloseal.federation.config.section import Section
from siloseal.federation.job.noise_on_sums import mechanism_for
from siloseal.federation.job.sections.fitting_noise import require_hidden_parts
from siloseal.federation.job.sections.mechanisms import MechanismConfig, SplitConfig
from siloseal.federation.privacy.mechanisms.calibration import Demand, renyi_gaussian_multiplier
from siloseal.federation.sums.config import SecureSumConfig
from siloseal.federation.sums.in_process import sum_in_process
from siloseal.federation.sums.noisy_sum import NoisySum
from siloseal.federation.sums.session import RealDomain

CLIP_NORM = 1.0


class NoiseMeasurement(Section):
    """Sums of vectors of norm 1, each protected as a whole, through a mechanism and a secure sum."""

    kind: Literal["noise"]
    mechanism: MechanismConfig = Field(description="the noise")
    epsilon: float = Field(gt=0, le=1000, description="epsilon of one release")
    delta: Delta = Field(default=1e-5, description="delta of one release")
    secure_sum: SecureSumConfig = Field(description="the sum below the noise")
    silos: int = Field(default=20, ge=2, le=1000, description="silos that take part")
    length: int = Field(default=1000, ge=1, le=1_000_000, description="entries of a vector")
    seed: int = Field(default=0, ge=0, description="seed of the vectors; never of noise")

    @model_validator(mode="after")
    def _noise_is_hidden(self) -> Self:
        require_admitted(self.secure_sum, self.length, self.silos)
        if isinstance(self.mechanism, SplitConfig):
            require_hidden_parts(self.secure_sum, "secure_sum", self.mechanism, asked=self.silos)
        return self

    def run(self, folder: Path) -> list[Row]:
        """Measure one release."""
        honest = self.silos - (self.mechanism.colluding if isinstance(self.mechanism, SplitConfig) else 0)
        demand = Demand(self.epsilon, self.delta, releases=1, silos=self.silos, honest=honest, length=self.length)
        domain, inner = RealDomain(self.length, CLIP_NORM), self.secure_sum.build()
        scheme = NoisySum(mechanism_for(self.mechanism, demand, CLIP_NORM, inner, domain, whole=True), inner)
        directions = np.random.default_rng(self.seed).normal(size=(self.silos, self.length))
        directions *= CLIP_NORM / np.linalg.norm(directions, axis=1, keepdims=True)
        vectors = {f"silo{number:03}": vector for number, vector in enumerate(directions)}
        result = sum_in_process(scheme, vectors, domain=domain)
        error = float(np.sqrt(np.mean((result.total - directions.sum(axis=0)) ** 2)))
        return [
            Row(measure="rmse", value=error),
            Row(measure="delta", value=self.delta),
            Row(measure="central_rmse", value=renyi_gaussian_multiplier(demand) * CLIP_NORM),
            Row(measure="sent_bytes", value=fmean(result.sent.values()), unit="B"),
        ]
