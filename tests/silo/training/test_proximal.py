"""The proximal term against its closed form, beside noise that it must neither change nor follow."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from pydantic import ValidationError
from torch import Tensor

from siloseal.federation.errors import RunError
from siloseal.federation.job.job import Job
from siloseal.federation.job.planning import plan_silo
from siloseal.federation.job.releases import Lengths
from siloseal.federation.job.sections.optimizers import DpSgdConfig
from siloseal.federation.randomness import SeededRandomness
from siloseal.silo.training.trainer import Privacy, PrivateTrainer
from tests.silo.training.test_trainer import WIDTH, LinearLearner, Points, StepBudget

RATE, STRENGTH = 0.1, 2.0
FEDAVG = {"kind": "fedavg", "rounds": 2, "batch": 48}


def trainer_of(learner: LinearLearner, *, proximal: float, privacy: Privacy | None = None) -> PrivateTrainer:
    return PrivateTrainer(
        learner,
        Points(torch.ones(10, WIDTH)),
        sampling_rate=1.0,
        optimizer=DpSgdConfig(learning_rate=RATE, proximal=proximal),
        privacy=privacy,
        randomness=SeededRandomness(1),
    )


def trained(steps: int, *, proximal: float, noise: float = 1.0) -> Tensor:
    learner, privacy = LinearLearner(), Privacy(1.0, noise, StepBudget(steps))
    trainer_of(learner, proximal=proximal, privacy=privacy).train(steps, phase="phase_1")
    return learner.weights.clone()


@pytest.mark.parametrize("steps", [1, 2, 5, 200])
def test_a_constant_gradient_leads_as_far_as_the_pull_allows(steps: int) -> None:
    """w - w_start = -g / mu (1 - (1 - rate mu)^t), here with g = 1."""
    learner = LinearLearner()
    trainer_of(learner, proximal=STRENGTH).train(steps, phase="public")
    expected = -(1 - (1 - RATE * STRENGTH) ** steps) / STRENGTH
    assert learner.weights.tolist() == pytest.approx([expected] * WIDTH, rel=1e-5)


def test_every_training_is_pulled_to_where_it_began_itself() -> None:
    learner = LinearLearner()
    trainer = trainer_of(learner, proximal=STRENGTH)
    ends = list[float]()
    for _ in range(3):
        trainer.train(200, phase="public")
        ends.append(learner.weights[0].item())
    assert ends == pytest.approx([-0.5, -1.0, -1.5], rel=1e-5)


def test_it_is_added_after_the_noise_which_stays_the_same() -> None:
    """The second step differs by the pull of the first one alone, at whatever noise."""
    for noise in (1.0, 50.0):
        first, free = (trained(steps, proximal=0.0, noise=noise) for steps in (1, 2))
        assert torch.equal(trained(1, proximal=STRENGTH, noise=noise), first)  # at the start there is no pull
        pulled = trained(2, proximal=STRENGTH, noise=noise)
        assert torch.allclose(pulled, free - RATE * STRENGTH * first, atol=1e-6 * noise)


def test_it_costs_nothing(small_job: Callable[..., Job]) -> None:
    learner = {"data": {"kind": "strokes"}, "learner": {"kind": "embedding", "filters": 4}, "evaluation": {}}
    plans = [
        plan_silo(small_job(**learner, optimizer={"kind": "dp_sgd", "proximal": strength}), "north", 400, Lengths(0, 9))
        for strength in (0, 1)
    ]
    assert plans[0].step_noise is not None
    assert plans[0] == plans[1]


def test_a_checkpoint_without_it_is_as_it_always_was() -> None:
    plain, near = (trainer_of(LinearLearner(), proximal=strength).state() for strength in (0.0, 1.0))
    assert near.keys() - plain.keys() == {"proximal.start"}
    with pytest.raises(RunError, match=r"start"):
        trainer_of(LinearLearner(), proximal=0.0).load_state(near)
    with pytest.raises(RunError, match=r"start"):
        trainer_of(LinearLearner(), proximal=1.0).load_state(plain)


@pytest.mark.parametrize("kind", ["dp_adam", "dp_sgd", "dp_adam_bc"])
def test_a_local_discriminator_has_no_common_start_so_the_job_is_refused(
    small_job: Callable[..., Job], kind: str
) -> None:
    optimizer = {"kind": kind, "proximal": 0.1}
    with pytest.raises(ValidationError, match=r"optimizer\.proximal .*schedule\.kind"):
        small_job(optimizer=optimizer)
    assert small_job(optimizer=optimizer, schedule=FEDAVG).optimizer.proximal == 0.1


@pytest.mark.parametrize("strength", [-1, 1e9, float("nan")])
def test_a_strength_that_is_none_is_refused(small_job: Callable[..., Job], strength: float) -> None:
    sections: dict[str, Any] = {"schedule": FEDAVG, "optimizer": {"kind": "dp_sgd", "proximal": strength}}
    with pytest.raises(ValidationError, match="proximal"):
        small_job(**sections)


@pytest.mark.parametrize(("momentum", "most"), [(0.0, 2.0), (0.5, 3.0)])
def test_a_pull_that_would_overshoot_further_each_time_is_refused(momentum: float, most: float) -> None:
    """The bound is where the distance to the anchor, alone, stops shrinking under gradient descent."""
    for product, grows in ((most * 0.99, False), (most * 1.01, True)):
        distance, velocity = 1.0, 0.0
        for _ in range(2000):
            velocity = momentum * velocity + product * distance
            distance -= velocity
        assert (abs(distance) > 1) == grows
    DpSgdConfig(kind="dp_sgd", learning_rate=0.5, proximal=most * 0.99 / 0.5, momentum=momentum)
    with pytest.raises(ValidationError):
        DpSgdConfig(kind="dp_sgd", learning_rate=0.5, proximal=most / 0.5, momentum=momentum)
