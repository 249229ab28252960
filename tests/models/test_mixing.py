"""Layers that mix rows, or keep a trace of them, are refused by name."""

import pytest
from torch import nn

from siloseal.federation.errors import UnclippableModule
from siloseal.models.mixing import refuse_mixing
from siloseal.silo.training.clipping.book_keeping import BookKeeping
from siloseal.silo.training.clipping.row_by_row import RowByRow

MIXING: dict[str, nn.Module] = {
    "BatchNorm1d": nn.BatchNorm1d(4),
    "BatchNorm2d": nn.BatchNorm2d(4, affine=False),
    "BatchNorm3d": nn.BatchNorm3d(4, track_running_stats=False).eval(),
    "SyncBatchNorm": nn.SyncBatchNorm(4),
    "InstanceNorm2d": nn.InstanceNorm2d(4, track_running_stats=True),
    "Embedding": nn.Embedding(4, 4, max_norm=1.0),
    "EmbeddingBag": nn.EmbeddingBag(4, 4, scale_grad_by_freq=True),
}


@pytest.mark.parametrize("name", MIXING)
def test_a_layer_that_mixes_rows_is_refused_by_name(name: str) -> None:
    module = nn.Sequential(nn.Linear(4, 4), nn.Sequential(MIXING[name]))
    with pytest.raises(UnclippableModule, match=f"layer '1.0' is {name}"):
        refuse_mixing(module)


def test_sparse_gradients_are_refused() -> None:
    with pytest.raises(UnclippableModule, match="sparse"):
        refuse_mixing(nn.Embedding(4, 4, sparse=True))


@pytest.mark.parametrize("layer", [nn.BatchNorm2d(4).eval(), nn.InstanceNorm2d(4, track_running_stats=True).eval()])
def test_fixed_statistics_mix_nothing(layer: nn.Module) -> None:
    refuse_mixing(nn.Sequential(layer))


@pytest.mark.parametrize("way", [BookKeeping, RowByRow])
def test_statistics_that_come_alive_after_the_plan_are_refused(way: type[BookKeeping] | type[RowByRow]) -> None:
    module = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4).eval())
    chosen = way(module, vectorised=True)
    module.train()
    with pytest.raises(UnclippableModule, match="BatchNorm1d"):
        chosen.gradient_sum(lambda rows: rows.inputs, None, clip_norm=1.0)  # type: ignore[arg-type]
