"""Rows that run alone, at once and one after the other: for every network, whatever books could do."""

import pytest
import torch
from torch import Tensor, nn

from siloseal.federation.errors import UnclippableModule
from siloseal.models.learner import Rows
from siloseal.silo.training.clipping.chunks import CHUNK_BYTES, CHUNK_ROWS, chunk_rows
from siloseal.silo.training.clipping.row_by_row import RowByRow
from tests.silo.training.clipping.networks import NETWORKS, case_of, clipped, flat

UNKNOWN_TO_VMAP = {"lstm", "gru", "gru with rows second", "hidden state of a gru", "bilinear, with keywords"}


@pytest.mark.filterwarnings("ignore:Using padding='same'")
@pytest.mark.parametrize("vectorised", [True, False], ids=["at once", "one after the other"])
@pytest.mark.parametrize("name", NETWORKS)
def test_the_sum_equals_that_of_micro_batches(name: str, vectorised: bool) -> None:
    if vectorised and name in UNKNOWN_TO_VMAP:
        pytest.skip("vmap does not know this layer")
    case = case_of(name).without_dropout()
    rows = case.public_rows(5)
    gradients = case.row_gradients(rows)
    clip_norm = float(torch.stack([row.norm() for row in gradients]).median()) * 0.9
    found = RowByRow(case.module, vectorised=vectorised).gradient_sum(case.row_losses, rows, clip_norm=clip_norm)
    torch.testing.assert_close(flat(found), clipped(gradients, clip_norm), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("vectorised", [True, False])
def test_a_row_that_overflows_has_no_influence(vectorised: bool) -> None:
    case = case_of("layer that runs twice")
    rows = case.public_rows(4)
    others = [gradient for n, gradient in enumerate(case.row_gradients(rows)) if n != 2]
    spoilt = Rows(rows.inputs.index_fill(0, torch.tensor(2), float("inf")), rows.labels)
    found = RowByRow(case.module, vectorised=vectorised).gradient_sum(case.row_losses, spoilt, clip_norm=0.01)
    torch.testing.assert_close(flat(found), clipped(others, 0.01))


@pytest.mark.parametrize("vectorised", [True, False])
def test_more_losses_than_rows_are_refused(vectorised: bool) -> None:
    case = case_of("linear")
    way = RowByRow(case.module, vectorised=vectorised)
    with pytest.raises(UnclippableModule):
        way.gradient_sum(lambda rows: case.row_losses(rows).repeat(2), case.public_rows(3), clip_norm=1.0)


def test_many_rows_are_taken_in_chunks_that_fit_the_budget() -> None:
    torch.manual_seed(0)
    module, rows = nn.Linear(3, 2), Rows(torch.randn(2 * CHUNK_ROWS + 5, 3), torch.zeros(2 * CHUNK_ROWS + 5))
    sizes: list[int] = []

    def row_losses(batch: Rows) -> Tensor:
        sizes.append(len(batch.labels))
        return module(batch.inputs).square().sum(1)

    found = RowByRow(module, vectorised=True).gradient_sum(row_losses, rows, clip_norm=0.5)
    alone = RowByRow(module, vectorised=False).gradient_sum(row_losses, rows, clip_norm=0.5)
    torch.testing.assert_close(flat(found), flat(alone))
    assert sizes == [1] * (3 + len(rows.labels))  # three chunks, in each of which every row is a batch of its own


def test_a_chunk_has_at_least_one_row_and_at_most_what_fits() -> None:
    assert chunk_rows([torch.empty(10)]) == CHUNK_ROWS
    assert chunk_rows([torch.empty(CHUNK_BYTES // 4 // 5)]) == 5
    assert chunk_rows([torch.empty(CHUNK_BYTES)]) == 1
