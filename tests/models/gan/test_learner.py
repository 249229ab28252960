"""The GAN learner: what data may touch, what is shared, and that it learns."""

import re
from dataclasses import dataclass

import pytest
import safetensors.torch
import torch
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from torch import Tensor

from siloseal.federation.errors import DataError, MessageError, RunError
from siloseal.federation.job.sections.gan import GanConfig
from siloseal.federation.job.sections.optimizers import DpAdamConfig
from siloseal.federation.randomness import SeededRandomness
from siloseal.models.gan.building import build_gan
from siloseal.models.gan.controller import Controller
from siloseal.models.gan.learner import GanLearner, Shared
from siloseal.models.gan.sampling import generate
from siloseal.silo.data.examples import Examples
from siloseal.silo.training.trainer import PrivateTrainer

SHAPE = (1, 8, 8)


@dataclass(frozen=True)
class Rows:
    inputs: Tensor
    labels: Tensor


def learner_of(
    config: GanConfig | None = None, *, labels: tuple[int, ...] = (0, 1, 2), shared: Shared = "generator", seed: int = 0
) -> GanLearner:
    return build_gan(
        config or GanConfig(latent=8),
        SHAPE,
        3,
        labels=labels,
        expected_batch=16,
        seed=0,
        randomness=SeededRandomness(seed),
        shared=shared,
    )


def rows(count: int) -> Rows:
    return Rows(torch.rand(count, *SHAPE, generator=torch.Generator().manual_seed(1)), torch.arange(count) % 3)


def trained(learner: GanLearner, steps: int) -> GanLearner:
    images = rows(32)
    data = Examples(images.inputs, images.labels, 3)
    trainer = PrivateTrainer(
        learner, data, sampling_rate=0.5, optimizer=DpAdamConfig(), privacy=None, randomness=SeededRandomness(2)
    )
    trainer.train(steps, phase="public")
    return learner


def test_the_fakes_depend_neither_on_the_units_nor_on_their_number() -> None:
    few, many = learner_of(), learner_of()
    for _ in range(3):
        losses = few.row_losses(rows(0)), many.row_losses(rows(7))
        assert [len(part) for part in losses] == [16, 23]
        torch.testing.assert_close(losses[0], losses[1][7:])
    assert few.public_metrics() == many.public_metrics()


def test_the_generator_learns_from_the_discriminator_alone_and_leaves_it_as_it_is() -> None:
    learner = learner_of(GanConfig(latent=8, most_discriminator_steps=1))
    discriminator = [parameter.clone() for parameter in learner.private_module.parameters()]
    before = learner.vector()
    learner.public_step()
    assert not torch.equal(learner.vector(), before)
    assert all(map(torch.equal, discriminator, learner.private_module.parameters()))
    assert all(parameter.grad is None for parameter in learner.private_module.parameters())


def test_a_warm_up_keeps_the_generator_where_it_is() -> None:
    learner = learner_of(GanConfig(latent=8, discriminator_warmup=5, most_discriminator_steps=1))
    before = learner.vector()
    trained(learner, 5)
    assert torch.equal(learner.vector(), before)
    trained(learner, 1)
    assert not torch.equal(learner.vector(), before)


def test_the_generator_waits_for_the_discriminator_but_not_for_ever() -> None:
    controller = Controller(GanConfig(accuracy_threshold=0.6, most_discriminator_steps=4))
    assert [controller.generator_may_step() for _ in range(8)] == [False, False, False, True] * 2
    for _ in range(30):
        controller.saw_fakes(recognised=0.9)
    assert [controller.generator_may_step() for _ in range(3)] == [True] * 3


def test_the_shared_vector_is_the_shared_model_or_that_and_the_discriminator() -> None:
    generator, both = learner_of().vector(), learner_of(shared="both").vector()
    discriminator = sum(parameter.numel() for parameter in learner_of().private_module.parameters())
    assert generator.dtype == torch.float32
    assert len(both) == len(generator) + discriminator
    assert torch.equal(both[: len(generator)], generator)


@pytest.mark.parametrize("shared", ["generator", "both"])
def test_a_loaded_vector_comes_back_and_generates_the_same_images(shared: Shared) -> None:
    one, other = trained(learner_of(shared=shared), 30), learner_of(shared=shared)
    other.load(one.vector())
    assert torch.equal(other.vector(), one.vector())
    images = [generate(learner.shared_model, torch.arange(9) % 3, seed=1).images for learner in (one, other)]
    assert torch.equal(*images)


def test_a_few_steps_after_a_load_already_show_in_the_shared_vector() -> None:
    learner = trained(learner_of(GanConfig(latent=8, most_discriminator_steps=1)), 100)
    start = learner.vector()
    learner.load(start)
    trained(learner, 10)
    state = learner.state()
    names = [name for name in state if name.startswith("generator.")]
    raw = torch.cat([state[name].flatten() for name in names])
    assert (learner.vector() - start).norm() > 0.3 * (raw - start).norm() > 0


@pytest.mark.parametrize("bad", [torch.zeros(3), torch.full((1,), float("nan"))])
def test_a_vector_of_another_model_or_with_nan_is_refused(bad: Tensor) -> None:
    learner = learner_of()
    size = len(learner.vector())
    before = learner.vector()
    with pytest.raises(MessageError):
        learner.load(bad.expand(size) if len(bad) == 1 else bad)
    assert torch.equal(learner.vector(), before)


def test_a_crash_loses_nothing_that_the_state_holds() -> None:
    learner, other = trained(learner_of(), 20), learner_of(seed=9)
    stored = safetensors.torch.load(safetensors.torch.save(learner.state()))
    other.load_state(stored)
    assert learner.state().keys() == other.state().keys()
    assert all(torch.equal(value, other.state()[name]) for name, value in learner.state().items())


def test_the_state_of_another_job_is_refused() -> None:
    with pytest.raises(RunError, match=r"\(64, 12\) .* \(64, 11\)"):
        learner_of().load_state(learner_of(GanConfig(latent=9)).state())


def test_generated_images_are_examples_and_repeat_with_their_seed() -> None:
    generator, labels = learner_of().shared_model, torch.arange(2500) % 3
    made = generate(generator, labels, seed=4)
    assert len(Examples(made.images, made.labels, 3)) == 2500
    assert torch.equal(made.images, generate(generator, labels, seed=4).images)
    assert not torch.equal(made.images, generate(generator, labels, seed=5).images)
    assert torch.equal(made.labels, labels)


def test_fakes_carry_declared_labels_only() -> None:
    learner = learner_of(labels=(2,))
    with torch.no_grad():
        assert set(learner._make_fakes()[1].tolist()) == {2}


@pytest.mark.parametrize("labels", [(), (0, 3), (-1,)])
def test_declared_labels_outside_the_classes_are_refused(labels: tuple[int, ...]) -> None:
    with pytest.raises(DataError, match=re.escape(str(sorted(labels)))):
        learner_of(labels=labels)


def test_the_same_seed_trains_the_same_generator() -> None:
    vectors = [trained(learner_of(seed=seed), 20).vector() for seed in (3, 3, 4)]
    assert torch.equal(vectors[0], vectors[1])
    assert not torch.equal(vectors[0], vectors[2])


def test_a_silo_that_trains_without_noise_learns_the_digits() -> None:
    digits = load_digits()
    images = torch.tensor(digits.images / 16, dtype=torch.float32)[:, None]
    labels = torch.tensor(digits.target, dtype=torch.int64)
    data, held_out = Examples(images[:1437], labels[:1437], 10), slice(1437, None)
    learner = build_gan(
        GanConfig(generator_learning_rate=2e-3),
        SHAPE,
        10,
        labels=range(10),
        expected_batch=128,
        seed=0,
        randomness=SeededRandomness(0),
    )
    PrivateTrainer(
        learner,
        data,
        sampling_rate=128 / len(data),
        optimizer=DpAdamConfig(learning_rate=2e-3),
        privacy=None,
        randomness=SeededRandomness(1),
    ).train(1000, phase="public")
    made = generate(learner.shared_model, torch.arange(2000) % 10, seed=0)
    classifier = LogisticRegression(max_iter=300).fit(made.images.flatten(1).numpy(), made.labels.numpy())
    accuracy = classifier.score(images[held_out].flatten(1).numpy(), labels[held_out].numpy())
    assert accuracy > 0.6  # chance is 0.1, real images give 0.93
