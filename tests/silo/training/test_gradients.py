"""A learner whose network somebody else wrote, from the plan to a step."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from siloseal.federation.errors import RunError, UnclippableModule
from siloseal.federation.job.sections.few_shot import EmbeddingConfig, ProtonetConfig
from siloseal.federation.job.sections.optimizers import DpSgdConfig
from siloseal.federation.privacy.mechanisms.gaussian_noise import ALLOWANCE
from siloseal.federation.randomness import SeededRandomness
from siloseal.models.learner import LabelledRows, Rows
from siloseal.models.meta.learners import EmbeddingLearner, TaskLossLearner
from siloseal.models.meta.prototypes import EmbeddingModel, ProtonetModel
from siloseal.models.meta.tasks import Task
from siloseal.models.vectors import flatten, load_flat, trainable_parameters
from siloseal.silo.data.examples import Examples
from siloseal.silo.data.tasks import FixedTasks
from siloseal.silo.training.gradients import TaskGradients, unit_gradients
from siloseal.silo.training.trainer import Privacy, PrivateTrainer


@dataclass
class Classifier:
    """The smallest learner of a network that is given to it."""

    private_module: nn.Module
    shape: tuple[int, ...]

    @property
    def shared_model(self) -> nn.Module:
        return self.private_module

    def row_losses(self, rows: LabelledRows) -> Tensor:
        return functional.cross_entropy(self.private_module(rows.inputs), rows.labels, reduction="none")

    def to(self, device: torch.device) -> None: ...

    def public_step(self) -> None: ...

    def public_metrics(self) -> Mapping[str, float]:
        return {}

    def vector(self) -> Tensor:
        return flatten([self.private_module])

    def load(self, vector: Tensor) -> None:
        load_flat([self.private_module], vector)

    def state(self) -> dict[str, Tensor]:
        return dict(self.private_module.state_dict())

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        self.private_module.load_state_dict(dict(state))


@dataclass(frozen=True)
class Data:
    rows: Rows

    def __len__(self) -> int:
        return len(self.rows.labels)

    def select(self, indices: Tensor) -> Rows:
        return Rows(self.rows.inputs[indices], self.rows.labels[indices])

    def made_up(self, count: int) -> Rows:
        return rows_of(tuple(self.rows.inputs.shape[1:]), count)


def rows_of(shape: tuple[int, ...], count: int) -> Rows:
    return Rows(torch.randn(count, *shape), torch.randint(3, (count,)))


class Counted:
    charges = 0

    def charge(self, event: object, *, phase: str) -> None:
        self.charges += 1


def trainer(learner: Classifier, privacy: Privacy | None, data: Data) -> PrivateTrainer:
    return PrivateTrainer(
        learner,
        data,
        sampling_rate=0.5,
        optimizer=DpSgdConfig(learning_rate=0.1),
        privacy=privacy,
        randomness=SeededRandomness(1),
    )


def small(*layers: nn.Module) -> tuple[Classifier, Data]:
    torch.manual_seed(2)
    learner = Classifier(nn.Sequential(*layers), (2, 6, 6))
    return learner, Data(rows_of(learner.shape, 20))


def image_network() -> tuple[Any, ...]:
    body = nn.Sequential(nn.Conv2d(2, 4, 3), nn.InstanceNorm2d(4, affine=True), nn.ReLU(inplace=True))
    return body, nn.Flatten(), nn.Linear(64, 3)


@pytest.mark.parametrize("private", [True, False])
def test_frozen_parts_stay_and_the_rest_learns(private: bool) -> None:
    learner, data = small(*image_network())
    body, head = learner.private_module[0], learner.private_module[2]
    body.requires_grad_(False)
    before, head_before = flatten([body]), flatten([head])
    privacy = Privacy(1.0, 1.0, Counted()) if private else None
    trainer(learner, privacy, data).train(3, phase="local")
    assert torch.equal(flatten([body]), before)
    assert not torch.equal(flatten([head]), head_before)


@pytest.mark.parametrize("clip_norm", [None, 0.5])
def test_no_rows_have_a_zero_gradient_in_networks_that_cannot_run_on_none(clip_norm: float | None) -> None:
    learner, data = small(*image_network())
    found = unit_gradients(learner, data).sum(torch.arange(0), clip_norm=clip_norm)
    assert found.shape == learner.vector().shape
    assert not found.any()


def test_clipped_and_unclipped_sums_agree_where_nothing_is_clipped() -> None:
    learner, data = small(*image_network())
    gradients = unit_gradients(learner, data)
    clipped, plain = (gradients.sum(torch.arange(7), clip_norm=clip_norm) for clip_norm in (1e6, None))
    torch.testing.assert_close(clipped, plain.double(), rtol=1e-5, atol=1e-6)


def test_a_unit_moves_the_sum_by_at_most_the_clip_norm() -> None:
    learner, data = small(*image_network())
    gradients, everyone = unit_gradients(learner, data), torch.arange(8)
    total = gradients.sum(everyone, clip_norm=0.01)
    for row in everyone:
        without = gradients.sum(everyone[everyone != row], clip_norm=0.01)
        assert 0.005 < (total - without).norm() <= 0.01 * (1 + 1e-4)


@dataclass
class Writer(Classifier):
    """A learner that keeps what it sees where no noise reaches it."""

    where: str = "nowhere"
    largest: float = 0.0

    def __post_init__(self) -> None:
        for name in ("seen", "replaced"):
            self.private_module.register_buffer(name, torch.zeros(()))
        self.average = nn.Linear(4, 4)
        self.private_module[1].kept = []  # type: ignore[index]

    @property
    def shared_model(self) -> nn.Module:
        return self.average

    def row_losses(self, rows: LabelledRows) -> Tensor:
        seen, first = rows.inputs.detach().mean(), next(self.private_module.parameters())
        with torch.no_grad():
            match self.where:
                case "private_module.seen":
                    self.private_module.seen.add_(seen)  # type: ignore[operator]
                case "private_module.replaced":
                    self.private_module.replaced = seen.clone()
                case "private_module.new":
                    self.private_module.register_buffer("new", seen.clone())
                case "shared_model.weight":
                    self.average.weight[0, 0] = seen
                case "shared_model.bias":
                    self.average.load_state_dict({"weight": torch.eye(4), "bias": seen.expand(4)})
                case "largest":
                    self.largest = max(self.largest, float(seen))
                case "private_module.1.kept":
                    self.private_module[1].kept = [*self.private_module[1].kept, 1]  # type: ignore[index]
                case "private_module.1.weight":
                    first.mul_(1 + 1e-6 * seen)
        return super().row_losses(rows)


WRITTEN = [
    "largest",
    "private_module.1.kept",
    "private_module.seen",
    "private_module.replaced",
    "private_module.new",
    "private_module.1.weight",
    "shared_model.weight",
    "shared_model.bias",
]


@pytest.mark.parametrize("where", WRITTEN)
def test_a_learner_that_writes_what_it_sees_into_its_networks_is_refused(where: str) -> None:
    """It waits until it sees data: on the rows that are made up, it would be found out before."""
    torch.manual_seed(2)
    network = nn.Sequential(nn.Flatten(), nn.Linear(8, 3))
    data, sample = Data(rows_of((2, 4), 20)), torch.arange(7)
    learner = Writer(network, (2, 4))
    gradients = unit_gradients(learner, data)
    assert gradients.sum(sample, clip_norm=1.0).norm() > 0
    learner.where = where
    with pytest.raises(RunError):
        gradients.sum(sample, clip_norm=1.0)


def test_a_network_that_mixes_rows_is_refused_before_anything_is_charged() -> None:
    class Centred(nn.Module):
        def forward(self, maps: Tensor) -> Tensor:
            return maps - maps.mean(0)

    learner, data = small(Centred(), nn.Flatten(), nn.Linear(72, 3))
    ledger = Counted()
    with pytest.raises(UnclippableModule):
        trainer(learner, Privacy(1.0, 1.0, ledger), data)
    assert ledger.charges == 0


def test_a_network_with_nothing_to_train_is_refused() -> None:
    learner, data = small(nn.Flatten(), nn.Linear(72, 3))
    learner.private_module.requires_grad_(False)
    with pytest.raises(RunError):
        trainer(learner, None, data)


def test_trainable_parameters_keep_their_order() -> None:
    module = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 3))
    module[0].bias.requires_grad_(False)
    assert [part.shape for part in trainable_parameters(module)] == [(2, 2), (3, 2), (3,)]


def test_a_subclass_of_a_built_in_learner_is_tried_like_any_other() -> None:
    """Its network may be anything: this one mixes the rows of a batch."""

    class Centred(EmbeddingLearner):
        def row_losses(self, rows: LabelledRows) -> Tensor:
            losses = super().row_losses(rows)
            return losses - losses.mean()

    model = EmbeddingModel(EmbeddingConfig(kind="embedding", network="wavelets"), (1, 12, 12))
    data = Examples(torch.rand(6, 1, 12, 12), torch.arange(6) % 3, 3)
    with pytest.raises(UnclippableModule):
        unit_gradients(Centred(model, labels=range(3), average_decay=0.0), data).require_clippable()


@pytest.mark.parametrize("count", [2, 20_000])
def test_one_task_among_many_moves_the_sum_by_the_clip_norm(count: int) -> None:
    """By a tenth of the noise's allowance beyond it at most: single precision would lose more among so many."""

    class Same:
        private_module = nn.Linear(3, 1, bias=False)

        def task_gradients(self, tasks: Sequence[Any]) -> Iterator[Tensor]:
            return iter([torch.tensor([0.1, 0.2, 0.3])] * len(tasks))

    class Nothing:
        def select(self, indices: Tensor) -> list[Tensor]:
            return list(indices)

    gradients = TaskGradients(
        Same(),  # type: ignore[arg-type]
        Nothing(),  # type: ignore[arg-type]
        torch.device("cpu"),
        randomness=SeededRandomness(0),
    )
    whole, less = (gradients.sum(torch.arange(some), clip_norm=0.1) for some in (count, count - 1))
    assert 0.99 < (whole - less).double().norm() / 0.1 < 1 + ALLOWANCE / 10


def test_a_learner_of_tasks_gives_one_gradient_a_task() -> None:
    class Twice(TaskLossLearner):
        def task_gradients(self, tasks: Sequence[Task]) -> Iterator[Tensor]:
            for gradient in super().task_gradients(tasks):
                yield gradient
                yield gradient

    config = ProtonetConfig(kind="protonet", network="wavelets", ways=2, shots=1, queries=1)
    data = Examples(torch.rand(4, 1, 12, 12), torch.arange(4) % 2, 2)
    tasks = FixedTasks(data, config, seed=0, randomness=SeededRandomness(0))
    gradients = unit_gradients(Twice(ProtonetModel(config, (1, 12, 12))), tasks)
    with pytest.raises(ValueError, match="longer"):
        gradients.sum(torch.arange(1), clip_norm=1.0)
