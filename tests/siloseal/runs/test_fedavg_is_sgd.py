"""FedAvg with C = 1, E = 1 and B = everything is gradient descent on the pooled data (McMahan et al. 2017, FedSGD).

The federation is made of its own parts: plan, trainer, contribution, plain sum, server optimizer. The other side is the
gradient of softmax regression in closed form, in double precision.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from siloseal.aggregator.server_optimizers import build_server_optimizer
from siloseal.experiments.attacks.softmax_learner import softmax_learner
from siloseal.federation.job.contributions import model_contribution, to_model
from siloseal.federation.job.job import Job
from siloseal.federation.job.phases import Phase, requested_steps, rounds_of
from siloseal.federation.job.planning import plan_silo
from siloseal.federation.job.releases import Lengths, release_of
from siloseal.federation.job.sections.data import Digits
from siloseal.federation.randomness import SeededRandomness
from siloseal.federation.run_events.coordination import Model
from siloseal.federation.sums.in_process import sum_in_process
from siloseal.silo.data.examples import Examples
from siloseal.silo.data.loading import load
from siloseal.silo.training.trainer import PrivateTrainer

RATE = 0.5
ROUNDS = 5
TOLERANCE = 1e-6
"""Several units in the last place of weights up to 0.2 in single precision."""
SIZES = {"north": 40, "east": 100, "south": 260}
FEDAVG = {"kind": "fedavg", "rounds": ROUNDS, "fraction": 1.0, "local_epochs": 1, "batch": 260}


@pytest.fixture(scope="module")
def parts() -> dict[str, Examples]:
    """Silos of unlike sizes and unlike classes: the examples are dealt in the order of their labels."""
    train = load(Digits())[0].select(torch.arange(400))
    order = torch.argsort(train.labels, stable=True)
    return dict(zip(SIZES, map(train.select, torch.split(order, list(SIZES.values()))), strict=True))


def job_of(small_job: Callable[..., Job], **schedule: Any) -> Job:
    return small_job(
        privacy={"kind": "none"},
        optimizer={"kind": "dp_sgd", "learning_rate": RATE},
        schedule={**FEDAVG, **schedule},
        largest_silo=1000,
    )


def federated(job: Job, parts: dict[str, Examples]) -> Model:
    """The global model after every round."""
    learners = {silo: softmax_learner(part) for silo, part in parts.items()}
    model: Model = next(iter(learners.values())).vector().numpy()
    lengths = Lengths(0, model.size)
    plans = {silo: plan_silo(job, silo, len(part), lengths) for silo, part in parts.items()}
    trainers = {
        silo: PrivateTrainer(
            learners[silo],
            part,
            sampling_rate=plans[silo].sampling_rate,
            optimizer=job.optimizer,
            privacy=None,
            randomness=SeededRandomness(0),
        )
        for silo, part in parts.items()
    }
    server = build_server_optimizer(job.schedule.server, largest_weight=job.largest_weight)
    for number in rounds_of(job, Phase.FEDAVG):
        release = release_of(job, lengths, Phase.FEDAVG, number)
        vectors = dict[str, np.ndarray]()
        for silo in release.roster:
            learners[silo].load(torch.from_numpy(model.copy()))
            steps = requested_steps(job, silo, len(parts[silo]), Phase.FEDAVG, number)
            trainers[silo].train(steps, phase=Phase.FEDAVG)
            local = learners[silo].vector().numpy().astype(np.float64)
            vectors[silo] = model_contribution(job, local, model.astype(np.float64), units=len(parts[silo]))
        summed = sum_in_process(release.scheme, vectors, domain=release.domain)
        model = server.step(model, to_model(job, summed, model))
    return model


def pooled_descent(parts: dict[str, Examples], *, momentum: float = 0.0) -> np.ndarray:
    """Weights (classes, pixels) after gradient descent on the mean cross entropy of all examples, from zeros."""
    rows = np.concatenate([part.inputs.flatten(1).numpy() for part in parts.values()]).astype(np.float64)
    labels = np.concatenate([part.labels.numpy() for part in parts.values()])
    weights = velocity = np.zeros((10, rows.shape[1]))
    for _ in range(ROUNDS):
        scores = np.exp(rows @ weights.T)
        errors = scores / scores.sum(axis=1, keepdims=True) - np.eye(10)[labels]
        velocity = momentum * velocity - RATE * errors.T @ rows / len(rows)
        weights = weights + velocity
    return weights.reshape(-1)


def test_one_whole_batch_a_round_at_every_silo_is_descent_on_the_pooled_mean(
    small_job: Callable[..., Job], parts: dict[str, Examples]
) -> None:
    """Silos count by their size: the mean of their own means would be another one, with classes dealt like this."""
    job = job_of(small_job)
    found, expected = federated(job, parts), pooled_descent(parts)
    assert np.abs(expected).max() > 0.1
    assert np.abs(found - expected).max() < TOLERANCE


def test_the_servers_momentum_is_momentum_on_the_pooled_mean(
    small_job: Callable[..., Job], parts: dict[str, Examples]
) -> None:
    job = job_of(small_job, server={"kind": "momentum", "momentum": 0.5})
    assert np.abs(federated(job, parts) - pooled_descent(parts, momentum=0.5)).max() < TOLERANCE


@pytest.mark.parametrize("schedule", [{"local_epochs": 2}, {"fraction": 0.5}, {"batch": 100}], ids=str)
def test_anything_else_is_not(
    small_job: Callable[..., Job], parts: dict[str, Examples], schedule: dict[str, Any]
) -> None:
    found = federated(job_of(small_job, **schedule), parts)
    assert np.abs(found - pooled_descent(parts)).max() > 0.01
