"""Rows share a pass only where no code of a user's own sees the batch."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from siloseal.federation.errors import UnclippableModule
from siloseal.models.classifier.learner import ClassifierLearner
from siloseal.models.classifier.networks import built_in
from siloseal.silo.data.examples import Examples
from siloseal.silo.training.clipping.book_keeping import BookKeeping
from siloseal.silo.training.clipping.plain import is_plain
from siloseal.silo.training.clipping.probe import Probe
from siloseal.silo.training.clipping.row_by_row import RowByRow
from siloseal.silo.training.gradients import ExampleGradients, unit_gradients

CLIP_NORM = 0.5
ROOT = Path(__file__).parents[4]


class Rescaling(nn.Sequential):
    """Rows that are divided by 255 if any of them looks like bytes: honest code, and one row moves all others."""

    def forward(self, rows: Tensor) -> Tensor:
        return super().forward(rows / 255 if rows.max() > 1 else rows)


class Cropping(nn.Sequential):
    """Rows that are cut to the longest of the batch: the places where all of them are zero are dropped."""

    def forward(self, rows: Tensor) -> Tensor:
        used = int(rows.ne(0).any(0).nonzero().max()) + 1 if rows.any() else 1
        return super().forward(nn.functional.pad(rows[:, :used], (0, rows.shape[1] - used), value=used / 10))


def layers() -> list[nn.Module]:
    torch.manual_seed(0)
    return [nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3)]


def way_of(network: nn.Module, data: Examples) -> Any:
    gradients = unit_gradients(ClassifierLearner(network), data)
    assert isinstance(gradients, ExampleGradients)
    return gradients._way.way  # type: ignore[union-attr]


def data() -> Examples:
    """Eleven rows, the first of which is unlike the others: large, and with no zeros."""
    torch.manual_seed(1)
    rows = torch.rand(11, 6)
    rows[:, 3:] = 0.0
    rows[0] = 200.0
    return Examples(rows, torch.arange(11) % 3, 3)


def test_a_network_that_looks_at_the_largest_row_is_refused() -> None:
    with pytest.raises(UnclippableModule):
        way_of(Rescaling(*layers()), data())


def test_one_row_moves_the_clipped_sum_by_the_clip_norm_at_most() -> None:
    gradients = unit_gradients(ClassifierLearner(Cropping(*layers())), data())
    everyone = torch.arange(11)
    moved = gradients.sum(everyone, clip_norm=CLIP_NORM) - gradients.sum(everyone[1:], clip_norm=CLIP_NORM)
    assert float(moved.norm()) <= CLIP_NORM * (1 + 1e-4)


def test_rows_of_networks_with_code_of_a_users_own_run_alone() -> None:
    assert isinstance(way_of(Cropping(*layers()), data()), RowByRow)


def test_rows_of_plain_networks_share_a_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        Probe, "keeps_rows_apart", lambda *_, **__: True
    )  # for rows of odd lengths not every machine does
    assert isinstance(way_of(nn.Sequential(*layers()), data()), BookKeeping)


def test_losses_of_a_users_own_make_rows_run_alone() -> None:
    class Own(ClassifierLearner):
        def row_losses(self, rows: Any) -> Tensor:
            return super().row_losses(rows)

    gradients = unit_gradients(Own(nn.Sequential(*layers())), data())
    assert isinstance(gradients._way.way, RowByRow)  # type: ignore[attr-defined]


def test_code_that_a_layer_of_torchs_holds_is_no_torchs() -> None:
    class Watched(nn.Parameter):
        """A parameter that runs code in every operation."""

    weight = nn.Linear(2, 2)
    weight.weight = Watched(torch.zeros(2, 2))
    scaled = nn.TransformerEncoderLayer(4, 2, activation=lambda rows: rows / rows.abs().max())
    assert not is_plain(weight)
    assert not is_plain(scaled)
    assert is_plain(nn.TransformerEncoderLayer(4, 2, activation=nn.functional.gelu))
    assert is_plain(nn.TransformerEncoderLayer(4, 2, activation=torch.relu))


def test_hooks_of_all_modules_are_code_of_somebodys_own() -> None:
    handle = nn.modules.module.register_module_forward_pre_hook(lambda *_: None)
    try:
        assert not is_plain(nn.Linear(2, 2))
    finally:
        handle.remove()
    assert is_plain(nn.Linear(2, 2))


OWN_RULE = """
import torch
from tests.silo.training.clipping.test_plain import CLIP_NORM, ClassifierLearner, data, layers, nn, unit_gradients

class Guard(torch.autograd.Function):
    @staticmethod
    def forward(rows):
        return rows.clone()
    @staticmethod
    def setup_context(ctx, inputs, output): ...
    @staticmethod
    def backward(ctx, gradient):
        return gradient
    @staticmethod
    def vmap(info, in_dims, rows):
        return Guard.apply(rows) * (100 if rows.abs().max() > 100 else 1), in_dims[0]

class Guarding(nn.Module):
    def forward(self, rows):
        return layer(Guard.apply(rows))

layer = nn.Linear(6, 6)
gradients = unit_gradients(ClassifierLearner(nn.Sequential(Guarding(), *layers())), data())
everyone = torch.arange(11)
moved = gradients.sum(everyone, clip_norm=CLIP_NORM) - gradients.sum(everyone[1:], clip_norm=CLIP_NORM)
print(gradients._way.way._vectorised, float(moved.norm()) <= CLIP_NORM * (1 + 1e-4))
"""


def test_rows_run_one_after_the_other_where_somebody_wrote_a_rule_for_vmap() -> None:
    """Such a rule is given all rows of a chunk. In a process of its own: a class stays known to torch."""
    done = subprocess.run([sys.executable, "-c", OWN_RULE], check=True, capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.split() == ["False", "True"]


def test_what_is_plain() -> None:
    assert is_plain(nn.Sequential(*layers()))
    assert is_plain(built_in("resnet", (1, 8, 8), 3))
    assert is_plain(nn.TransformerEncoderLayer(4, 2))
    hooked, patched = nn.Linear(2, 2), nn.Linear(2, 2)
    hooked.register_forward_hook(lambda *_: None)
    patched.forward = lambda rows: rows  # type: ignore[method-assign]
    assert not any(is_plain(network) for network in (hooked, patched, Rescaling(), nn.Sequential(Cropping())))


def test_where_torch_can_vectorise_rows_that_run_alone_it_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        Probe, "keeps_rows_apart", lambda *_, **__: True
    )  # for rows of odd lengths not every machine does

    class Same(nn.Sequential):
        def forward(self, rows: Tensor) -> Tensor:
            return super().forward(rows)

    assert way_of(Same(*layers()), data())._vectorised
