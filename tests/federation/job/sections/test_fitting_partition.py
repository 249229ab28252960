"""How data are dealt must fit the data: by class, by fractions, or not at all."""

from typing import Any

import pytest
from pydantic import ValidationError

from siloseal.federation.analytics.config import AnalyticsJob
from siloseal.federation.job.job import Job
from siloseal.federation.job.sections.fitting_partition import has_file_each
from siloseal.federation.job.sections.tables import CsvTables
from tests.conftest import SMALL_JOB

from .test_columns import DIAGNOSIS, OWN, SIZE, table_job

NAMES = ["north", "east", "south"]
FOLDER: dict[str, Any] = {"file": None, "folder": "tables"}
QUERIES: dict[str, Any] = {
    "name": "look", "silos": {"names": NAMES}, "privacy": {"epsilon": 4, "delta": 1e-5}, "secure_sum": {"kind": "secagg"},
    "queries": [{"kind": "histogram", "column": "sex", "values": ["f"]}],
}  # fmt: skip


def silos(kind: str, **settings: Any) -> dict[str, Any]:
    return {"names": NAMES, "partition": {"kind": kind, **settings}}


def test_tables_of_a_folder_are_the_silos_own_without_a_word() -> None:
    job = table_job(data=FOLDER, silos={"names": NAMES})
    assert job.silos.partition.kind == "files"
    assert has_file_each(job.data)
    assert table_job(data=FOLDER, silos=silos("files")) == job
    assert table_job(silos={"names": NAMES}).silos.partition.kind == "iid"


@pytest.mark.parametrize(
    "sections",
    [
        {"silos": silos("files")},
        {"data": FOLDER, "silos": silos("iid")},
        {"silos": silos("sizes", fractions=[0.5, 0.5])},
        {"data": {"target": SIZE}, "learner": OWN, "silos": silos("by_class", classes_per_silo=1)},
        {"data": {"target": SIZE}, "learner": OWN, "silos": silos("dirichlet", alpha=1.0)},
    ],
)
def test_a_partition_that_does_not_fit_the_data_is_refused(sections: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        table_job(**sections)


def test_classes_of_a_table_can_be_dealt_by() -> None:
    assert (
        table_job(data={"target": DIAGNOSIS}, silos=silos("dirichlet", alpha=1.0)).silos.partition.kind == "dirichlet"
    )


def test_images_have_no_files_of_their_own() -> None:
    with pytest.raises(ValidationError):
        Job.model_validate({**SMALL_JOB, "silos": silos("files")})


def test_queries_take_a_file_for_each_silo_and_no_declared_columns() -> None:
    folder = {"kind": "csv", "folder": "tables"}
    assert AnalyticsJob.model_validate({**QUERIES, "data": folder, "silos": silos("files")}).data == CsvTables(**folder)
    for refused in (
        {"data": {"kind": "csv", "file": "x.csv"}, "silos": silos("files")},
        {"data": folder, "silos": silos("disjoint_classes")},
        {"data": {"kind": "at_silos", "columns": [DIAGNOSIS], "target": SIZE}},
    ):
        with pytest.raises(ValidationError):
            AnalyticsJob.model_validate({**QUERIES, **refused})
