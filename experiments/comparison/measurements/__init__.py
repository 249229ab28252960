"""What a cell may measure: one module a kind."""

from typing import Annotated

from pydantic import Field

from experiments.comparison.measurements.attacks import AuditMeasurement, CheatingMeasurement, InversionMeasurement
from experiments.comparison.measurements.jobs import JobMeasurement
from experiments.comparison.measurements.noise import NoiseMeasurement
from experiments.comparison.measurements.sums import SumMeasurement
from experiments.comparison.measurements.traffic import TrafficMeasurement

Measurement = Annotated[
    JobMeasurement
    | SumMeasurement
    | NoiseMeasurement
    | TrafficMeasurement
    | InversionMeasurement
    | AuditMeasurement
    | CheatingMeasurement,
    Field(discriminator="kind"),
]

__all__ = ["JobMeasurement", "Measurement"]
