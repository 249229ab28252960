"""What one unit adds, clipped, over all magnitudes of single precision, in every layer that has a formula."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from siloseal.silo.training.clipping.layers.convolution import convolution_rows
from siloseal.silo.training.clipping.layers.embedding import EmbeddingRows
from siloseal.silo.training.clipping.layers.linear import linear_rows
from siloseal.silo.training.clipping.layers.normalisation import norm_rows
from siloseal.silo.training.clipping.layers.rows import LayerRows, WrittenRows

BOTH = frozenset({"weight", "bias"})
MAGNITUDES = [10.0**power for power in range(-19, 20, 3)] + [1.8e19]


def convolution(maps: Tensor, derivatives: Tensor) -> LayerRows:
    return convolution_rows(nn.Conv2d(2, derivatives.shape[1], 3), maps, derivatives, BOTH)


def words(derivatives: Tensor) -> LayerRows:
    return EmbeddingRows(nn.Embedding(4, derivatives.shape[2]), torch.tensor([[1, 2, 1, 3]]), derivatives)


LAYERS: dict[str, Callable[[float, float], LayerRows]] = {
    "linear": lambda a, g: linear_rows(normal(1, 9) * a, normal(1, 40) * g, BOTH),
    "one input, many outputs": lambda a, g: linear_rows(torch.full((1, 1), a), normal(1, 1000) * g, BOTH),
    "sequence, written": lambda a, g: linear_rows(normal(1, 6, 4) * a, normal(1, 6, 5) * g, BOTH),
    "sequence by Gram": lambda a, g: linear_rows(normal(1, 4, 400) * a, normal(1, 4, 200) * g, BOTH),
    "one position with both": lambda a, g: linear_rows(apart(4, 400) * a, apart(4, 200).flip(1) * g, BOTH),
    "convolution, written": lambda a, g: convolution(normal(1, 2, 6, 6) * a, normal(1, 3, 4, 4) * g),
    "convolution by Gram": lambda a, g: convolution(normal(1, 2, 4, 4) * a, normal(1, 90, 2, 2) * g),
    "group norm": lambda a, g: norm_rows(nn.GroupNorm(1, 3), normal(1, 3, 4) * a, normal(1, 3, 4) * g, BOTH),
    "embedding": lambda a, g: words(torch.cat([normal(1, 3, 5) * a, normal(1, 1, 5) * g], dim=1)),
    "embedding that cancels": lambda a, g: words(
        torch.tensor([1.0, g / a, -1.0, 0.0]).view(1, 4, 1).expand(1, 4, 5) * a
    ),
    "anything": lambda a, g: WrittenRows({"one": normal(1, 9) * a, "other": normal(1, 9) * g}),
}


def normal(*shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(1))


def apart(positions: int, entries: int) -> Tensor:
    """Positions (1, L, N) of which each is a billionth of the one before."""
    return normal(1, positions, entries) * torch.logspace(0, -9 * (positions - 1), positions).view(1, -1, 1)


def clipped_norm(rows: LayerRows, clip_norm: float) -> float:
    norms = rows.squared_norms().sqrt()
    if not norms.isfinite().all():
        rows = rows.without(~norms.isfinite())
        norms = rows.squared_norms().sqrt()
    parts = rows.weighted_sum(clip_norm / norms.clamp(min=clip_norm)).values()
    return float(torch.cat([part.flatten() for part in parts]).double().norm())


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("flushed", [False, True])
def test_one_unit_adds_the_clip_norm_at_most_whatever_its_magnitudes_are(name: str, flushed: bool) -> None:
    torch.set_flush_denormal(flushed)  # as training does
    try:
        for inputs in MAGNITUDES:
            for derivatives in MAGNITUDES:
                for clip_norm in (1.0, 1e-2):
                    assert clipped_norm(LAYERS[name](inputs, derivatives), clip_norm) <= clip_norm * (1 + 1e-5)
    finally:
        torch.set_flush_denormal(False)


@pytest.mark.parametrize("name", LAYERS)
def test_a_unit_of_ordinary_magnitude_keeps_its_clip_norm(name: str) -> None:
    assert clipped_norm(LAYERS[name](1.0, 1.0), 1e-2) >= 0.95e-2


def test_an_embedding_whose_places_cancel_leaves_the_sum_of_the_others() -> None:
    derivatives = torch.tensor([[1.0, 1.0, 1.0, 1.0], [1e10, 0.0, -1e10, 0.0]])[:, :, None]
    rows = EmbeddingRows(nn.Embedding(4, 1), torch.ones(2, 4, dtype=torch.int64), derivatives)
    weights = 1 / rows.squared_norms().sqrt().clamp(min=1.0)
    assert rows.weighted_sum(weights)["weight"][1].item() == pytest.approx(1.0)
