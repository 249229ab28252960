"""The published grid: every cell is a valid job that keeps the promised budget, and no two are the same."""

import itertools

import pytest

from experiments.mnist_gan import PARTITIONS, STARTS, Cell
from federation.config.privacy import ExampleLevel
from federation.config.schedule import TwoPhase

CELLS = [Cell(*choice, seed=0) for choice in itertools.product(PARTITIONS, STARTS)]


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.name)
def test_a_cell_is_what_its_name_says(cell: Cell) -> None:
    job = cell.job()
    assert job.warm_start.kind == cell.start
    assert job.silos.partition.kind == PARTITIONS[cell.partition]["kind"]
    assert isinstance(job.privacy, ExampleLevel)
    assert (job.privacy.epsilon, job.privacy.delta) == (10, 1e-5)
    assert isinstance(job.schedule, TwoPhase)
    assert job.schedule.tuning_rounds == 10


def test_no_two_cells_are_the_same_job() -> None:
    jobs = [Cell(cell.partition, cell.start, seed).job().digest for cell in CELLS for seed in (0, 1)]
    assert len(set(jobs)) == len(jobs)


def test_the_starts_that_grow_differ_in_the_start_alone() -> None:
    public, cold = (Cell("IID", start, seed=0).job() for start in ("public", "none"))
    assert public.model_copy(update={"warm_start": cold.warm_start, "name": cold.name}) == cold
