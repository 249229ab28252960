"""What a run's folder says of a classifier beyond its accuracy: by class, by confidence and by silo."""

import math
import statistics

from pydantic import Field, NonNegativeInt

from siloseal.run_folder.record import Record, Share


class ReliabilityBin(Record):
    """Held-out records whose confidence, the largest of a record's probabilities, lies in (low, high].

    >>> one = siloseal.ReliabilityBin(low=0.8, high=0.9, records=40, confidence=0.86, accuracy=0.7)
    >>> f"{one.confidence - one.accuracy:.2f} too sure of itself"
    '0.16 too sure of itself'
    """

    low: Share
    high: Share
    records: NonNegativeInt
    confidence: Share
    """Mean confidence of these records."""
    accuracy: Share
    """Share of them that are named rightly."""


class ClassificationMetric(Record):
    """A classifier class by class, by its own confidence, and for each silo.

    >>> halves = dict(recall=[1.0, 0.5], precision=[0.67, 1.0], records=[10, 10], calibration_error=0.1)
    >>> measured = siloseal.ClassificationMetric(**halves, by_silo={"north": 0.9, "east": 0.6})
    >>> measured.worst_silo, round(measured.spread, 2)
    ('east', 0.3)
    """

    recall: list[Share | None]
    """Share of each class's records that are named so; None where no held-out record is of the class."""
    precision: list[Share | None]
    """Share of the records named so that are of the class; None where nothing is named so."""
    records: list[NonNegativeInt]
    """Number of held-out records of each class."""
    confusion: list[list[NonNegativeInt]] = Field(default_factory=list)
    """Number of records by actual class (rows) and named class; empty for a mean, and for more than 50 classes."""
    calibration_error: Share
    """Expected calibration error: how far confidence and accuracy are apart, on average."""
    reliability: list[ReliabilityBin] = Field(default_factory=list)
    """Bins of confidence that hold a record, in order; empty for a mean over silos' own models."""
    by_silo: dict[str, Share] = Field(default_factory=dict)
    """Accuracy for each silo: on its own held-out records, or over its mix of classes.

    The latter is made of the recalls, each by the silo's share of its class.
    """
    own_records: bool = False
    """Whether `by_silo` is measured on each silo's own held-out records, which silos with files of their own have."""

    @property
    def worst_silo(self) -> str | None:
        """The silo that is served worst; None where silos differ by no more than other held-out records would do."""
        if self.spread is None or self.spread <= self.chance:
            return None
        return min(self.by_silo, key=self.by_silo.__getitem__)

    @property
    def chance(self) -> float:
        """Two standard errors of a silo's accuracy: how far silos that are served alike may seem to be apart."""
        held_out = sum(self.records) / (len(self.by_silo) if self.own_records and self.by_silo else 1)
        if not self.by_silo or not held_out:
            return 0.0
        mean = statistics.fmean(self.by_silo.values())
        return 2 * math.sqrt(mean * (1 - mean) / held_out)

    @property
    def measured_on(self) -> str:
        """What of its own a silo is measured on, in words."""
        return "own held-out records" if self.own_records else "own mix of classes"

    @property
    def spread(self) -> float | None:
        """Distance of the best served silo from the worst served."""
        return max(self.by_silo.values()) - min(self.by_silo.values()) if self.by_silo else None
