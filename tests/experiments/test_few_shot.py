"""The published tables: every row is a valid job, keeps its promise, and differs from the others."""

import pytest

from experiments.few_shot import TABLES, job_of
from federation.config.partition import DisjointClasses
from federation.config.privacy import UnitLevel

ROWS = [(table, row) for table, (_, rows) in TABLES.items() for row in rows]


@pytest.mark.parametrize(("table", "row"), ROWS, ids=lambda value: value.replace(" ", "-"))
def test_a_row_is_what_its_name_says(table: str, row: str) -> None:
    job = job_of(table, row)
    assert job.learner.kind in row
    assert isinstance(job.silos.partition, DisjointClasses)
    assert job.schedule.tuning_rounds > 0  # type: ignore[union-attr]
    if "level" in row:
        assert isinstance(job.privacy, UnitLevel)
        assert job.privacy.kind.split("_")[0] in row
        assert job.privacy.epsilon == (10 if "task" in row else 8)
    else:
        assert job.privacy.kind == "none"


def test_no_two_rows_are_the_same_job() -> None:
    assert len({job_of(table, row).digest for table, row in ROWS}) == len(ROWS)
