"""Book-keeping against three other ways to the same sum, and what it refuses."""

import warnings
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap
from torch.nn import functional

from siloseal.federation.errors import UnclippableModule
from siloseal.models.gan.discriminators import ConvDiscriminator, MlpDiscriminator
from siloseal.models.learner import Rows
from siloseal.silo.training.clipping.book_keeping import BookKeeping
from siloseal.silo.training.clipping.chunks import CHUNK_BYTES
from siloseal.silo.training.clipping.way import PASS_ROWS
from tests.silo.training.clipping.networks import Tied

ROWS = 6
NOBODY = Rows(torch.empty(0), torch.empty(0))
NETWORKS: dict[str, Callable[[], nn.Module]] = {
    "mlp 8x8": lambda: MlpDiscriminator((1, 8, 8), 10),
    "mlp 28x28": lambda: MlpDiscriminator((1, 28, 28), 10),
    "conv 28x28": lambda: ConvDiscriminator((1, 28, 28), 10),
    "conv rgb 17x12": lambda: ConvDiscriminator((3, 17, 12), 10),
}
SHAPES = {"mlp 8x8": (1, 8, 8), "mlp 28x28": (1, 28, 28), "conv 28x28": (1, 28, 28), "conv rgb 17x12": (3, 17, 12)}


@pytest.fixture(params=list(NETWORKS))
def batch(request: pytest.FixtureRequest) -> "Batch":
    return Batch(request.param)


class Batch:
    """A network, rows for it, and a clip norm that clips about half of them."""

    def __init__(self, name: str) -> None:
        torch.manual_seed(3)
        self.module = NETWORKS[name]().double()
        brightness = torch.logspace(-1, 1, ROWS, dtype=torch.float64)[:, None, None, None]  # so that norms differ
        self.images = torch.rand(ROWS, *SHAPES[name], dtype=torch.float64) * brightness
        self.labels = torch.arange(ROWS) % 10
        self.targets = (torch.arange(ROWS) % 2).double()
        self.row_gradients = [self._gradient(row) for row in range(ROWS)]
        self.norms = torch.stack([flat(gradient).norm() for gradient in self.row_gradients])
        self.clip_norm = float(self.norms.median())

    def row_losses(self) -> Tensor:
        logits = self.module(self.images, self.labels)
        return functional.binary_cross_entropy_with_logits(logits, self.targets, reduction="none")

    def _gradient(self, row: int) -> tuple[Tensor, ...]:
        logit = self.module(self.images[row : row + 1], self.labels[row : row + 1])
        loss = functional.binary_cross_entropy_with_logits(logit, self.targets[row : row + 1])
        return torch.autograd.grad(loss, list(self.module.parameters()))

    def clipped(self, rows: list[Tensor]) -> Tensor:
        return torch.stack([row / max(1.0, float(row.norm()) / self.clip_norm) for row in rows]).sum(0)


def clipped_gradient_sum(module: nn.Module, losses: Callable[[], Tensor], *, clip_norm: float) -> list[Tensor]:
    """The sum for losses that hold their own rows."""
    return BookKeeping(module).gradient_sum(lambda _rows: losses(), NOBODY, clip_norm=clip_norm)


def flat(gradients: list[Tensor] | tuple[Tensor, ...]) -> Tensor:
    return torch.cat([gradient.reshape(-1) for gradient in gradients])


def test_sum_equals_the_micro_batch_ground_truth(batch: Batch) -> None:
    found = clipped_gradient_sum(batch.module, batch.row_losses, clip_norm=batch.clip_norm)
    torch.testing.assert_close(flat(found), batch.clipped([flat(row) for row in batch.row_gradients]))


def test_every_row_alone_is_clipped_by_its_true_norm(batch: Batch) -> None:
    """A clip norm below all norms: what is left of a row has that norm, and the row's direction."""
    clip_norm = float(batch.norms.min()) / 2
    for row, (gradient, norm) in enumerate(zip(batch.row_gradients, batch.norms, strict=True)):
        weight = torch.zeros(ROWS, dtype=torch.float64).index_fill(0, torch.tensor(row), 1.0)
        losses: Callable[[], Tensor] = lambda weight=weight: batch.row_losses() * weight  # noqa: E731
        found = clipped_gradient_sum(batch.module, losses, clip_norm=clip_norm)
        torch.testing.assert_close(flat(found), flat(gradient) * clip_norm / norm)


def test_sum_equals_that_of_vmapped_gradients(batch: Batch) -> None:
    parameters = dict(batch.module.named_parameters())

    def unit_loss(parameters: dict[str, Tensor], image: Tensor, label: Tensor, target: Tensor) -> Tensor:
        logit = functional_call(batch.module, parameters, (image[None], label[None]))
        return functional.binary_cross_entropy_with_logits(logit, target[None])

    if isinstance(batch.module, ConvDiscriminator):
        batch.module.layout = torch.contiguous_format  # vmap knows no other
    rows = vmap(grad(unit_loss), in_dims=(None, 0, 0, 0))(parameters, batch.images, batch.labels, batch.targets)
    expected = batch.clipped([flat([rows[name][row].detach() for name in parameters]) for row in range(ROWS)])
    found = clipped_gradient_sum(batch.module, batch.row_losses, clip_norm=batch.clip_norm)
    torch.testing.assert_close(flat(found), expected)


def test_sum_equals_that_of_opacus(batch: Batch) -> None:
    if isinstance(batch.module, ConvDiscriminator):
        batch.module.layout = torch.contiguous_format  # Opacus unfolds channels-last maps wrongly, without a word
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from opacus.grad_sample import GradSampleModule

        module = GradSampleModule(batch.module, loss_reduction="sum")
        logits = module(batch.images, batch.labels)
        functional.binary_cross_entropy_with_logits(logits, batch.targets, reduction="sum").backward()
    rows = [flat([parameter.grad_sample[row] for parameter in module.parameters()]) for row in range(ROWS)]
    module.to_standard_module()
    found = clipped_gradient_sum(batch.module, batch.row_losses, clip_norm=batch.clip_norm)
    torch.testing.assert_close(flat(found), batch.clipped(rows))


def test_leaving_a_row_out_moves_the_sum_by_at_most_the_clip_norm(batch: Batch) -> None:
    everyone = flat(clipped_gradient_sum(batch.module, batch.row_losses, clip_norm=batch.clip_norm))
    for row in range(ROWS):
        kept = torch.arange(ROWS) != row

        def others(kept: Tensor = kept) -> Tensor:
            logits = batch.module(batch.images[kept], batch.labels[kept])
            return functional.binary_cross_entropy_with_logits(logits, batch.targets[kept], reduction="none")

        without = flat(clipped_gradient_sum(batch.module, others, clip_norm=batch.clip_norm))
        assert (everyone - without).norm() <= batch.clip_norm * (1 + 1e-9)


def test_a_batch_of_no_rows_has_a_zero_gradient(batch: Batch) -> None:
    found = clipped_gradient_sum(
        batch.module, lambda: batch.module(batch.images[:0], batch.labels[:0]), clip_norm=batch.clip_norm
    )
    assert [part.shape for part in found] == [part.shape for part in batch.module.parameters()]
    assert not any(part.any() for part in found)


def test_the_hooks_are_gone_afterwards_even_after_a_refusal(batch: Batch) -> None:
    with pytest.raises(UnclippableModule, match="twice"):
        clipped_gradient_sum(batch.module, lambda: batch.row_losses() + batch.row_losses(), clip_norm=1.0)
    clipped_gradient_sum(batch.module, batch.row_losses, clip_norm=1.0)
    assert not any(part._forward_hooks for part in batch.module.modules())


def test_a_convolution_without_a_bias_is_counted_without_one() -> None:
    torch.manual_seed(0)
    module, images = nn.Conv2d(2, 3, 3, bias=False), torch.rand(4, 2, 5, 5)
    found = clipped_gradient_sum(module, lambda: module(images).square().sum((1, 2, 3)), clip_norm=1e-3)
    rows = [torch.autograd.grad(module(image[None]).square().sum(), module.weight)[0] for image in images]
    assert min(row.norm() for row in rows) > 1e-3
    torch.testing.assert_close(flat(found).float(), 1e-3 * flat([sum(row / row.norm() for row in rows)]))


@pytest.mark.parametrize("level", [10.0, 100.0, 1000.0])
@pytest.mark.parametrize("variation", [1e-7, 1e-6, 1e-5, 1e-4, 1e-3])
def test_a_norm_that_rounding_takes_away_does_not_let_a_row_through(level: float, variation: float) -> None:
    """In 32 bits: nearly constant maps and derivatives that cancel, as a lying aggregator's weights can bring about."""
    module = nn.Conv2d(128, 256, 4, stride=2, padding=1)
    for seed in range(3):
        random = torch.Generator().manual_seed(seed)
        images = level * (1 + variation * torch.randn(1, 128, 8, 8, generator=random))
        inside = torch.randn(1, 256, 2, 2, generator=random)  # away from the border, whose zeros would not cancel
        pull = functional.pad(inside - inside.mean((2, 3), keepdim=True), [1, 1, 1, 1])
        found = clipped_gradient_sum(module, lambda: (module(images) * pull).sum((1, 2, 3)), clip_norm=1.0)  # noqa: B023
        assert flat(found).norm() <= 1.001


class Restless(nn.Module):
    """Code that no formula knows, and that gives ten times as much at every further call."""

    def __init__(self) -> None:
        super().__init__()
        self.factor, self.calls = nn.Parameter(torch.ones(4)), 0

    def forward(self, rows: Tensor) -> Tensor:
        self.calls += 1
        return rows * self.factor * 10.0**self.calls


@pytest.mark.parametrize("vectorised", [True, False], ids=["at once", "one after the other"])
def test_a_part_that_behaves_differently_when_it_runs_again_is_clipped_all_the_same(vectorised: bool) -> None:
    """Norms and sums come from one and the same run, whatever the run does."""
    module, rows = Restless(), torch.rand(1, 4)
    for _ in range(3):
        found = BookKeeping(module, vectorised=vectorised).gradient_sum(
            lambda batch: module(batch.inputs).sum(1), Rows(rows, torch.zeros(1)), clip_norm=1.0
        )
        assert 0.999 <= flat(found).norm() <= 1.001


def test_a_large_part_that_runs_again_is_given_fewer_rows() -> None:
    """Its rows' gradients are kept until all norms are known."""
    large, small = nn.ConvTranspose2d(256, 128, 4), nn.PReLU()
    parameters = sum(parameter.numel() for parameter in large.parameters())
    assert BookKeeping(nn.Sequential(large, small)).pass_rows == CHUNK_BYTES // (4 * (parameters + 1))
    assert BookKeeping(nn.Sequential(nn.Linear(4096, 4096), small)).pass_rows == PASS_ROWS


def test_layers_that_share_a_parameter_are_refused_by_name() -> None:
    with pytest.raises(UnclippableModule, match="'one' and 'other'"):
        BookKeeping(Tied())


def test_a_convolution_on_a_single_image_is_refused() -> None:
    module = nn.Conv2d(3, 4, 3)
    with pytest.raises(UnclippableModule, match=r"\(3, 8, 8\)"):
        clipped_gradient_sum(module, lambda: module(torch.rand(3, 8, 8)).sum((1, 2))[:3], clip_norm=1.0)


def test_rows_that_are_folded_into_another_dimension_are_refused() -> None:
    module = nn.Linear(4, 1)
    with pytest.raises(UnclippableModule, match=r"\(6, 4\)"):
        clipped_gradient_sum(module, lambda: module(torch.rand(6, 4)).view(3, 2).sum(1), clip_norm=1.0)


def test_an_input_that_changes_after_a_layer_used_it_is_refused() -> None:
    """Torch itself notices only where a layer in front of this one needs the input in its own backward pass."""
    module, rows = nn.Linear(4, 1), torch.rand(3, 4)

    def losses() -> Tensor:
        found = module(rows).squeeze(1)
        rows.zero_()
        return found

    with pytest.raises(UnclippableModule):
        clipped_gradient_sum(module, losses, clip_norm=1.0)


def test_a_weight_that_is_used_while_its_layer_never_runs_is_refused() -> None:
    module = nn.Linear(4, 1)
    with pytest.raises(UnclippableModule):
        clipped_gradient_sum(module, lambda: functional.linear(torch.rand(3, 4), module.weight)[:, 0], clip_norm=1.0)


@pytest.mark.parametrize("level", [10.0, 1000.0])
@pytest.mark.parametrize("variation", [1e-7, 1e-5, 1e-3])
@pytest.mark.parametrize("positions", [4, 200])
def test_rounding_lets_no_sequence_through(level: float, variation: float, positions: int) -> None:
    """In 32 bits: nearly constant positions and derivatives that cancel."""
    module = nn.Linear(512, 600)
    for seed in range(3):
        random = torch.Generator().manual_seed(seed)
        rows = level * (1 + variation * torch.randn(1, positions, 512, generator=random))
        pull = torch.randn(1, positions, 600, generator=random)
        pull = pull - pull.mean(1, keepdim=True)
        found = clipped_gradient_sum(module, lambda: (module(rows) * pull).sum((1, 2)), clip_norm=1.0)  # noqa: B023
        assert flat(found).norm() <= 1.001


def test_the_norm_of_a_long_sequence_is_not_far_too_large() -> None:
    """Rounded up by a bound, but one that leaves most of a row's gradient."""
    torch.manual_seed(0)
    module, rows, pull = nn.Linear(512, 600), torch.randn(1, 200, 512), torch.randn(1, 200, 600)
    found = clipped_gradient_sum(module, lambda: (module(rows) * pull).sum((1, 2)), clip_norm=1.0)
    assert 0.95 <= flat(found).norm() <= 1.001


def test_a_row_that_overflows_has_no_influence_instead_of_an_unbounded_one() -> None:
    """Weights that make one row's activations infinite and its derivative zero: infinity times zero is NaN."""
    network = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 1))
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.fill_(1e12)
    rows = torch.tensor([[1e-30, 0.0], [1e20, 1e20]])

    def total(chosen: Tensor) -> Tensor:
        losses = lambda: functional.softplus(-network(chosen).squeeze(1))  # noqa: E731
        return torch.cat([part.flatten() for part in clipped_gradient_sum(network, losses, clip_norm=1.0)])

    alone, both = total(rows[:1]), total(rows)
    assert torch.isfinite(both).all()
    assert float((both - alone).norm()) <= 1.0
