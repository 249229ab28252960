"""Each part of a network by itself: which book is kept for it, and its rows' norms."""

import pytest
import torch
from torch import nn
from torch.nn.utils.parametrizations import weight_norm

from siloseal.silo.training.clipping.books import books_of
from siloseal.silo.training.clipping.chunks import CHUNK_ROWS
from siloseal.silo.training.clipping.layers.attention import AttentionRows
from siloseal.silo.training.clipping.layers.convolution import GramRows
from siloseal.silo.training.clipping.layers.embedding import EmbeddingRows
from siloseal.silo.training.clipping.layers.linear import LinearRows, SequenceRows
from siloseal.silo.training.clipping.layers.rows import LayerRows, WrittenRows
from siloseal.silo.training.clipping.parts import parts_of
from siloseal.silo.training.clipping.recording import recording
from tests.silo.training.clipping.networks import BOOK_KEPT, Case, Doubled, case_of

pytestmark = pytest.mark.filterwarnings("ignore:Using padding='same'")
BOOKS: dict[str, list[type[LayerRows]]] = {
    "linear": [LinearRows],
    "linear on a sequence, written": [WrittenRows, LinearRows],
    "linear on a sequence, by Gram": [SequenceRows, SequenceRows, LinearRows],
    "convolution": [WrittenRows, GramRows, LinearRows],
    "grouped convolution": [WrittenRows, GramRows, LinearRows],
    "dilated convolution": [GramRows, GramRows, LinearRows],
    "convolution of volumes": [WrittenRows, LinearRows],
    "convolution by Gram, padded to the same": [GramRows, GramRows, LinearRows],
    "convolution by Gram, reflected": [GramRows, GramRows, LinearRows],
    "group norm": [WrittenRows, WrittenRows, LinearRows],
    "embedding": [EmbeddingRows, SequenceRows, LinearRows],
    "attention to itself": [AttentionRows, LinearRows],
    "attention to another": [WrittenRows, LinearRows],
    "another forward pass": [WrittenRows, LinearRows],
    "frozen parts": [WrittenRows, AttentionRows, LinearRows],
}


def books(case: Case, count: int) -> tuple[dict[str, LayerRows], list[torch.Tensor]]:
    rows, parts = case.public_rows(count), parts_of(case.module)
    with recording(parts) as recorded:
        losses = case.row_losses(rows)
    found = books_of(parts, recorded, losses, vectorised="lstm" not in repr(case.module).lower())
    return found, case.row_gradients(rows)


@pytest.mark.parametrize("name", BOOKS)
def test_each_layer_has_the_book_with_its_formula(name: str) -> None:
    found, _ = books(case_of(name), 3)
    assert [type(book) for book in found.values()] == BOOKS[name]


@pytest.mark.parametrize("name", sorted(set(BOOK_KEPT) - {"gru", "bilinear, with keywords"}))
def test_each_parts_norms_are_those_of_micro_batches(name: str) -> None:
    case = case_of(name).without_dropout()
    found, gradients = books(case, 4)
    sizes = [parameter.numel() for parameter in case.parameters()]
    pieces = [dict(zip(case.parameters(), torch.split(row, sizes), strict=True)) for row in gradients]
    for part_name, part in parts_of(case.module).items():
        expected = [sum(row[parameter].square().sum() for parameter in part.parameters.values()) for row in pieces]
        squares = found[part_name].squared_norms() if part_name in found else torch.zeros(4, dtype=torch.float64)
        torch.testing.assert_close(squares, torch.stack(expected), rtol=1e-6, atol=1e-15)


@pytest.mark.parametrize("positions", [3, 50], ids=["by Gram", "a few rows at a time"])
def test_a_sequence_whose_gradients_are_not_kept_has_the_same_norms_and_sums(positions: int) -> None:
    torch.manual_seed(0)
    inputs, derivatives = (torch.randn(40, positions, size, dtype=torch.float64) for size in (9, 12))
    weights, written = torch.rand(40, dtype=torch.float64), torch.bmm(derivatives.mT, inputs)
    kept = WrittenRows({"weight": written, "bias": derivatives.sum(1)})
    found = SequenceRows(inputs, derivatives, bias=True)
    assert found.by_gram == (positions == 3)
    for one, other in ((found, kept), (found.without(weights < 0.5), kept.without(weights < 0.5))):
        torch.testing.assert_close(one.squared_norms(), other.squared_norms())
        torch.testing.assert_close(one.weighted_sum(weights), other.weighted_sum(weights))


def test_a_module_that_runs_again_takes_many_rows_in_chunks() -> None:
    case = case_of("parametric relu")
    found, gradients = books(case, CHUNK_ROWS + 3)
    weights = torch.rand(CHUNK_ROWS + 3, dtype=torch.float64)
    slope = list(case.module.state_dict()).index("1.weight")
    sizes = [parameter.numel() for parameter in case.parameters()]
    expected = sum(weight * torch.split(row, sizes)[slope] for weight, row in zip(weights, gradients, strict=True))
    torch.testing.assert_close(found["1"].weighted_sum(weights)["weight"], expected)


def hooked() -> nn.Module:
    layer = nn.Linear(4, 4)
    layer.register_forward_hook(lambda module, inputs, output: 2 * output)
    return layer


@pytest.mark.parametrize("layer", [weight_norm(nn.Linear(4, 4)), Doubled(4, 4), hooked()], ids=type)
def test_a_layer_that_may_compute_something_else_has_no_formula(layer: nn.Module) -> None:
    assert {part.kind for part in parts_of(layer).values()} == {"any"}
