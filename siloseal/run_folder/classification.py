"""What a run's folder says of a classifier beyond its accuracy: by class, by confidence and by silo."""

from pydantic import Field, NonNegativeInt

from siloseal.run_folder.chance import FALSE_ALARMS, chances_of_worst
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

    >>> halves = dict(recall=[1.0, 0.5], precision=[0.67, 1.0], records=[40, 40], calibration_error=0.1)
    >>> served = dict(by_silo={"north": 0.9, "east": 0.6}, silo_records={"north": 40, "east": 40}, own_records=True)
    >>> measured = siloseal.ClassificationMetric(**halves, **served)
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
    silo_records: dict[str, NonNegativeInt] = Field(default_factory=dict)
    """Number of held-out records that each silo's accuracy rests on.

    Over a mix of classes it is the largest sample of that mix that the held-out records can make.
    """
    own_records: bool = False
    """Whether `by_silo` is measured on each silo's own held-out records, which silos with files of their own have."""

    @property
    def worst_silo(self) -> str | None:
        """The silo that is served worst, of those that fall below the others together by more than chance; or None.

        Where all silos are served alike, one is named in at most 5 % of runs.
        """
        below = [name for name, chance in self._chances().items() if chance <= FALSE_ALARMS]
        return min(below, key=self.by_silo.__getitem__, default=None)

    @property
    def chance(self) -> float:
        """The chance, at most, that silos that are served alike seem to be as unlike; 1 where that is not known."""
        return min(self._chances().values(), default=1.0)

    def _chances(self) -> dict[str, float]:
        return chances_of_worst(self.by_silo, self.silo_records, shared=not self.own_records)

    @property
    def measured_on(self) -> str:
        """What of its own a silo is measured on, in words."""
        return "own held-out records" if self.own_records else "own mix of classes"

    @property
    def spread(self) -> float | None:
        """Distance of the best served silo from the worst served."""
        return max(self.by_silo.values()) - min(self.by_silo.values()) if self.by_silo else None
