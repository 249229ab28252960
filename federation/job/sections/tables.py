"""Tables of records, as config sections: for queries, and for training, where the job declares their columns."""

from pathlib import Path
from typing import Literal, Self

from pydantic import Field, model_validator

from siloseal.federation.config.section import Section
from siloseal.federation.job.sections.columns import Columns
from siloseal.federation.job.sections.source import HeldOut, ReadSource


class CsvTables(Section):
    """Records as lines of text, with the names of the columns in the first line."""

    kind: Literal["csv"] = Field(description="tables as CSV files")
    file: Path | None = Field(
        default=None,
        description="one table: a silo's own in its silo.yaml; in a job, one that a simulation deals to the silos",
    )
    folder: Path | None = Field(default=None, description="a folder with one NAME.csv for each silo")
    delimiter: str = Field(
        default=",", min_length=1, max_length=1, description="the character between two fields of a line"
    )

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.file is None) == (self.folder is None):
            raise ValueError("name either a file, which is dealt to the silos, or a folder with a table for each silo")
        return self


class _Records(Columns, ReadSource):
    """Records of a table, encoded as the job declares."""

    held_out: HeldOut = Field(
        default=0.2,
        description="the fraction of records kept for evaluation, stratified by class; of each silo's, in a folder",
    )

    @property
    def declared(self) -> Columns:
        return self


class CsvRecords(_Records, CsvTables):
    """Tables to train on. Each record becomes numbers by the declared columns alone, whatever the other records are."""

    def of_silo(self, silo: str) -> "CsvRecords":
        """The table of one silo, where a folder has one for each."""
        return self.model_copy(update={"file": (self.folder or Path()) / f"{silo}.csv", "folder": None})


class EmbeddedTable(_Records):
    """scikit-learn's table of 569 breast tumours (Wolberg, Street and Mangasarian 1995), with no download.

    It has the column `diagnosis`, malignant or benign, and ten measures of cell nuclei, each as its mean, error and
    worst value: `mean radius`, `radius error`, `worst radius`, and so on for texture, perimeter, area, smoothness,
    compactness, concavity, concave points, symmetry and fractal dimension.
    """

    kind: Literal["embedded_table"] = Field(description="scikit-learn's table of breast tumours")
