"""A job of averages: the silos' own scripts train as they like, and only the weighted average of it all opens."""

from typing import Self

from pydantic import Field, model_validator

from siloseal.federation.config.fields import Name
from siloseal.federation.config.section import Section
from siloseal.federation.errors import DomainError
from siloseal.federation.job.phase_sums import quorum_of
from siloseal.federation.job.sections.partition import Iid
from siloseal.federation.job.sections.privacy import NoPrivacy
from siloseal.federation.job.sections.silos import Silos
from siloseal.federation.job.weighting import weighted_domain
from siloseal.federation.sums.config import SecureSumConfig
from siloseal.federation.sums.session import RealDomain


class AverageJob(Section):
    """Everything that the parties agree on before the first average. The module is the scripts' own business."""

    name: Name = Field(description="names the run")
    silos: Silos = Field(description="who takes part; their scripts load their own data, so nothing is dealt")
    secure_sum: SecureSumConfig = Field(description="how the weighted modules are added; one that hides each silo's")
    averages: int = Field(
        ge=1, le=1_000_000, description="the most averages of the run, which ends earlier when the scripts have left"
    )
    largest_silo: int = Field(
        default=100_000, ge=1, le=10**12, description="the largest weight in the average that a silo may have"
    )
    largest_weight: float = Field(
        default=64.0, ge=1, le=1e6, description="no averaged value of a module is larger in magnitude"
    )

    @model_validator(mode="after")
    def _agrees_with_itself(self) -> Self:
        asked = len(self.silos.names)
        if self.silos.partition != Iid():
            raise ValueError("silos.partition deals a simulation's data, but scripts load their own; remove it")
        if self.silos.fewest is not None and self.silos.fewest > asked:
            raise ValueError(f"silos.fewest is {self.silos.fewest}, but there are {asked} silos; lower it")
        try:
            self.secure_sum.build().admit(self.domain(1), asked)
        except DomainError as error:
            raise ValueError(f"secure_sum.kind is {self.secure_sum.kind!r}, but {error}") from error
        return self

    def domain(self, length: int) -> RealDomain:
        """The domain of weighted modules of this many values."""
        return weighted_domain(length, self.largest_weight)

    @property
    def quorum(self) -> int:
        """Fewest silos that an average may be of."""
        return quorum_of(self.silos, self.secure_sum, len(self.silos.names))

    @property
    def privacy(self) -> NoPrivacy:
        """The guarantee, which is none: an average opens without noise."""
        return NoPrivacy(kind="none")
