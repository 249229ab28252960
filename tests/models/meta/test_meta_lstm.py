"""The LSTM meta-learner: its gradient, its limits, its inputs."""

import math

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from siloseal.federation.job.sections.few_shot import MetaLstmConfig
from siloseal.models.initial_weights import seeded
from siloseal.models.meta.meta_lstm import FIRST_FORGETTING, SLOWNESS, MetaLstmModel, preprocess
from siloseal.models.vectors import flatten, load_flat

SHAPE = (1, 8, 8)
CONFIG = MetaLstmConfig(kind="meta_lstm", filters=4, ways=2, inner_steps=3, inner_rate=0.2, hidden=3)


@pytest.fixture
def model() -> MetaLstmModel:
    made = seeded(3, lambda: MetaLstmModel(CONFIG, SHAPE)).double()
    with torch.no_grad():  # as after much training, so that everything that the gates read counts
        for layer in (made.forget, made.step):
            layer.weight.mul_(300)
    return made


@pytest.fixture
def task() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(5)
    support, query = (torch.rand(4, *SHAPE, generator=generator, dtype=torch.float64) for _ in range(2))
    labels = torch.tensor([0, 0, 1, 1])
    return support, labels, query, labels


class TestGradient:
    """First order: what a step reads of the base learner, loss and gradient, counts as constant."""

    def test_it_equals_finite_differences_in_every_part_of_the_meta_learner(self, model, task) -> None:
        support, labels, query, query_labels = task
        recorded = list[tuple[Tensor, Tensor]]()

        def record(theta: Tensor) -> tuple[Tensor, Tensor]:
            recorded.append(model.loss_and_gradient(theta, support, labels))
            return recorded[-1]

        def loss_at(theta: Tensor) -> Tensor:
            return functional.cross_entropy(model.scores(theta, query, 2), query_labels)

        loss = loss_at(model.unroll(model.start(2), record))
        gradients = torch.autograd.grad(loss, list(model.parameters()))

        def loss_with_what_was_read() -> float:
            constants = iter(recorded)
            with torch.no_grad():
                return float(loss_at(model.unroll(model.start(2), lambda _: next(constants))))

        for (name, parameter), gradient in zip(model.named_parameters(), gradients, strict=True):
            direction = torch.randn(parameter.shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
            ends = []
            for sign in (1.0, -1.0):
                with torch.no_grad():
                    parameter.add_(direction, alpha=sign * 1e-6)
                    ends.append(loss_with_what_was_read())
                    parameter.sub_(direction, alpha=sign * 1e-6)
            slope = (ends[0] - ends[1]) / 2e-6
            expected = float((gradient * direction).sum())
            assert slope == pytest.approx(expected, rel=1e-4, abs=1e-9), name
            assert gradient.abs().max() > 0, name

    def test_no_gradient_flows_through_what_a_step_reads(self, model, task) -> None:
        loss, gradient = model.loss_and_gradient(model.start(2), *task[:2])
        assert not loss.requires_grad
        assert not gradient.requires_grad


def test_with_open_forget_gates_and_steady_step_gates_it_is_gradient_descent(model, task) -> None:
    support, labels, _, _ = task
    with torch.no_grad():
        for layer in (model.forget, model.step):
            layer.weight.zero_()
            layer.bias.zero_()
        model.forget.bias.fill_((40.0 - FIRST_FORGETTING) / SLOWNESS)  # sigmoid(40) is 1 in double precision
    assert torch.allclose(model.learn(support, labels), descended(model, task), rtol=1e-10, atol=1e-12)


def test_at_the_start_it_is_near_gradient_descent(model, task) -> None:
    support, labels, _, _ = task
    with torch.no_grad():
        for layer in (model.forget, model.step):
            layer.weight.div_(300)
    start = model.start(2).detach()
    moved, learnt = descended(model, task) - start, model.learn(support, labels).detach() - start
    assert float(functional.cosine_similarity(moved, learnt, dim=0)) > 0.99


def test_every_coordinate_has_gates_by_the_same_weights() -> None:
    full = MetaLstmModel(MetaLstmConfig(kind="meta_lstm", filters=32), (1, 28, 28))
    shared = flatten([full]).numel() - flatten([full.body]).numel()
    assert shared == 2_126  # an LSTM cell from 4 to 20, and two gates of 22 weights and a bias
    assert len(full.start(5)) == 28_229  # of the four blocks, and of a layer from 32 features to 5 classes


def descended(model: MetaLstmModel, task: tuple[Tensor, ...]) -> Tensor:
    """theta after plain gradient descent at the config's rate."""
    theta = model.start(2).detach()
    for _ in range(CONFIG.inner_steps):
        theta = theta - CONFIG.inner_rate * model.loss_and_gradient(theta, *task[:2])[1]
    return theta


def test_a_task_may_have_any_number_of_classes(model, task) -> None:
    support, _, query, _ = task
    assert model.classify(support, torch.tensor([0, 1, 2, 3]), query).shape == (4, 4)


class TestPreprocessing:
    """Appendix of Andrychowicz et al. 2016, with p = 10."""

    @pytest.mark.parametrize(
        ("value", "expected"),
        [
            (1.0, (0.0, 1.0)),
            (-math.e, (0.1, -1.0)),
            (math.exp(-10), (-1.0, 1.0)),
            (math.exp(-11), (-1.0, math.exp(-1))),
            (-math.exp(-12), (-1.0, -math.exp(-2))),
            (0.0, (-1.0, 0.0)),
        ],
    )
    def test_it_is_the_papers(self, value: float, expected: tuple[float, float]) -> None:
        found = preprocess(torch.tensor([value], dtype=torch.float64))
        assert found.shape == (1, 2)
        assert found[0].tolist() == pytest.approx(expected, abs=1e-9)


def test_a_shared_vector_carries_gates_and_initialisation() -> None:
    one, other = (seeded(seed, lambda: MetaLstmModel(CONFIG, SHAPE)) for seed in (1, 2))
    support, labels = torch.rand(4, *SHAPE), torch.tensor([0, 0, 1, 1])
    assert not torch.equal(one.learn(support, labels), other.learn(support, labels))
    load_flat([other], flatten([one]))
    assert torch.equal(one.learn(support, labels), other.learn(support, labels))
