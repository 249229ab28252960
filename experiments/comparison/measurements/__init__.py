"""Measurements of a cell: one module a kind."""

from typing import Annotated

from pydantic import Field

from siloseal.experiments.comparison.measurements.attacks import (
    AuditMeasurement,
    CheatingMeasurement,
    InversionMeasurement,
)
from siloseal.experiments.comparison.measurements.jobs import JobMeasurement
from siloseal.experiments.comparison.measurements.noise import NoiseMeasurement
from siloseal.experiments.comparison.measurements.rounds import RoundsMeasurement
from siloseal.experiments.comparison.measurements.sums import SumMeasurement
from siloseal.experiments.comparison.measurements.traffic import TrafficMeasurement

Measurement = Annotated[
    JobMeasurement
    | RoundsMeasurement
    | SumMeasurement
    | NoiseMeasurement
    | TrafficMeasurement
    | InversionMeasurement
    | AuditMeasurement
    | CheatingMeasurement,
    Field(discriminator="kind"),
]

__all__ = ["JobMeasurement", "Measurement", "RoundsMeasurement"]
