"""A look before the training: which questions a consortium asks about its pooled records, and what they may cost."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from siloseal.federation.analytics.distinct import Distinct
from siloseal.federation.analytics.heavy_hitters import HeavyHitters
from siloseal.federation.analytics.histogram import Histogram
from siloseal.federation.analytics.mean import Mean
from siloseal.federation.analytics.quantiles import Quantiles
from siloseal.federation.config.fields import Delta, Name, Printable
from siloseal.federation.config.section import Section
from siloseal.federation.errors import DomainError
from siloseal.federation.job.phase_sums import quorum_of
from siloseal.federation.job.sections.data import (
    AtSilos,
    ClassFolders,
    DicomFolders,
    Digits,
    EmbeddedMnist,
    IdxFiles,
    NpzFile,
)
from siloseal.federation.job.sections.fitting_noise import require_hidden_parts
from siloseal.federation.job.sections.fitting_partition import require_fitting_partition
from siloseal.federation.job.sections.partition import BY_CLASS
from siloseal.federation.job.sections.silos import Silos
from siloseal.federation.job.sections.tables import CsvTables
from siloseal.federation.sums.config import SecureSumConfig, kinds_where
from siloseal.federation.sums.session import IntegerDomain

TableSource = Annotated[
    CsvTables | EmbeddedMnist | Digits | IdxFiles | ClassFolders | DicomFolders | NpzFile | AtSilos,
    Field(discriminator="kind"),
]
AnyQuery = Annotated[Histogram | Mean | Quantiles | HeavyHitters | Distinct, Field(discriminator="kind")]
QueryKind = Literal["histogram", "mean", "quantiles", "heavy_hitters", "distinct"]
"""Names of the queries, in a job and in a silo's policy."""


class OnePerson(Section):
    """Who a record is about, so that all records of a person are protected together."""

    column: Printable = Field(min_length=1, max_length=200, description="the column that names the person")
    records: int = Field(
        ge=1, le=1000, description="the most records of a person that count, the first ones; noise grows with them"
    )


class RecordLevel(Section):
    """Differential privacy for every record, or for every person, over all queries together."""

    epsilon: float = Field(gt=0, le=1000, description="the most that all queries together may cost")
    delta: Delta = Field(description="the probability that epsilon does not hold; below 1 / records")
    person: OnePerson | None = Field(default=None, description="protect persons; if not given, single records")

    @property
    def records(self) -> int:
        """Number of records that are protected together."""
        return 1 if self.person is None else self.person.records


class SplitNoise(Section):
    """Each silo adds a part of the noise, and what counts is that of the honest ones together."""

    kind: Literal["least", "skellam", "ddg"] = Field(
        default="least",
        description="which integers: skellam, ddg for discrete Gaussians, or least for the one of which less is needed",
    )
    colluding: int = Field(
        default=1, ge=1, description="silos that may tell the aggregator all they know; their noise does not count"
    )


class AnalyticsJob(Section):
    """Everything that the parties agree on before the first count."""

    name: Name = Field(description="names the run folder")
    seed: int = Field(default=0, ge=0, lt=2**31, description="how a simulation deals the records; never noise")
    data: TableSource = Field(description="where the records come from; images have a label and a brightness")
    silos: Silos = Field(description="who takes part")
    privacy: RecordLevel = Field(description="the guarantee")
    mechanism: SplitNoise = Field(default=SplitNoise(), description="the noise")
    secure_sum: SecureSumConfig = Field(description="how counts are added; it must hide each silo's")
    largest_silo: int = Field(default=1_000_000, ge=1, le=10**9, description="the most records that a silo may hold")
    queries: tuple[AnyQuery, ...] = Field(min_length=1, max_length=50, description="the questions, in order")

    @model_validator(mode="after")
    def _agrees_with_itself(self) -> Self:
        asked, scheme = len(self.silos.names), self.secure_sum.build()
        if self.silos.fewest is not None and self.silos.fewest > asked:
            raise ValueError(f"silos.fewest is {self.silos.fewest}, but there are {asked} silos; lower it")
        try:
            scheme.admit(IntegerDomain(1, 2), asked)
        except DomainError as error:
            raise ValueError(f"secure_sum.kind is {self.secure_sum.kind!r}, but {error}") from error
        require_hidden_parts(self.secure_sum, "secure_sum", self.mechanism, asked=asked)
        if not scheme.sums_modulo and any(isinstance(query, Distinct) for query in self.queries):
            modulo = kinds_where(lambda other: other.sums_modulo and other.exposure.hides_split_noise)
            raise ValueError(
                f"secure_sum.kind is {self.secure_sum.kind!r}, which shows a total before it is reduced, but a "
                f"distinct count is private only modulo 2; take {modulo}"
            )
        require_fitting_partition(self.silos, self.data)
        if self.data.kind == "csv" and isinstance(self.silos.partition, BY_CLASS):
            raise ValueError("silos.partition of a table is iid or sizes: it has no classes to deal by")
        if isinstance(self.data, AtSilos) and self.data.columns is not None:
            raise ValueError("data.columns are for training; queries name the columns that they ask about themselves")
        if self.honest < 1:
            raise ValueError(
                f"mechanism.colluding is {self.mechanism.colluding}, but only {self.quorum} of {asked} silos must "
                "remain: nobody's noise would be left to count on; lower it, or raise silos.fewest"
            )
        return self

    @property
    def quorum(self) -> int:
        """Fewest silos that a sum may end up with."""
        return quorum_of(self.silos, self.secure_sum, len(self.silos.names))

    @property
    def honest(self) -> int:
        """Fewest silos whose noise is in a sum: those that must remain, less those that may collude."""
        return self.quorum - self.mechanism.colluding
