"""Tasks per second of a private meta-training step against the same step without privacy.

    python benchmarks/meta.py [--json]

The private step computes each task's whole gradient, clips it and adds noise (for the embedding: each image's). Its
peer is written as everybody writes it: one loss over all tasks or images of the step, one backward pass, Adam. Both
take the same tasks in single precision on one thread. Repeats are interleaved, so that whatever else the machine does
meets both alike, and medians are reported. Target: a fraction of 0.7 or more for every learner.
"""

import argparse
import json
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import torch
from torch.nn import functional

from siloseal.federation.job.sections.few_shot import EmbeddingConfig, MetaLstmConfig, ProtonetConfig, ReptileConfig
from siloseal.federation.job.sections.optimizers import DpAdamConfig
from siloseal.federation.randomness import SecureRandomness
from siloseal.models.meta.building import FewShotConfig, FewShotLearner, build_few_shot_learner
from siloseal.models.meta.inner_loop import ReptileModel, flat
from siloseal.models.meta.learners import EmbeddingLearner, ReptileLearner
from siloseal.models.meta.tasks import Task, task_of
from siloseal.silo.data.examples import Examples
from siloseal.silo.training.trainer import Privacy, PrivateTrainer

SHAPE = (1, 28, 28)
LEARNING_RATE = 1e-3
TASKS, WAYS, SHOTS, QUERIES = 8, 5, 1, 5
LEARNERS: dict[str, FewShotConfig] = {
    "protonet": ProtonetConfig(kind="protonet"),
    "reptile": ReptileConfig(kind="reptile", inner_steps=5),
    "meta_lstm": MetaLstmConfig(kind="meta_lstm", inner_steps=5),
    "embedding": EmbeddingConfig(kind="embedding"),
}


class Tasks(list[Task]):
    """A source that always gives all of its tasks."""

    def select(self, _indices: torch.Tensor) -> list[Task]:
        return list(self)


class NobodysLedger:
    """A ledger for steps whose result is thrown away."""

    def charge(self, _event: Any, *, phase: str) -> None:
        """Book nothing, because nothing is released."""


def tasks() -> Tasks:
    """Tasks of random images: what they show makes no difference to the time."""
    torch.manual_seed(0)
    return Tasks(task_of(list(torch.rand(WAYS, SHOTS + QUERIES, *SHAPE)), shots=SHOTS) for _ in range(TASKS))


def images() -> Examples:
    """Random images, as many as the tasks have."""
    count = TASKS * WAYS * (SHOTS + QUERIES)
    return Examples(torch.rand(count, *SHAPE), torch.arange(count) % 64, 64)


def private(config: FewShotConfig) -> Callable[[], object]:
    """The private step as the system takes it: sample, clip every unit, add noise, Adam, running average."""
    learner = build_few_shot_learner(config, SHAPE, labels=range(64), seed=0)
    trainer = PrivateTrainer(
        learner,
        images() if isinstance(learner, EmbeddingLearner) else tasks(),
        sampling_rate=1.0,
        optimizer=DpAdamConfig(learning_rate=LEARNING_RATE),
        privacy=Privacy(1.0, 1.0, NobodysLedger()),
        randomness=SecureRandomness(),
    )
    return lambda: trainer.train(1, phase="benchmark")


def plain(config: FewShotConfig) -> Callable[[], object]:
    """The same step as anybody would write it without privacy."""
    learner = build_few_shot_learner(config, SHAPE, labels=range(64), seed=0)
    module = learner.private_module
    optimizer = torch.optim.Adam(module.parameters(), lr=LEARNING_RATE, betas=(0.5, 0.999))
    drawn, rows = tasks(), images()

    def take() -> None:
        optimizer.zero_grad()
        if isinstance(learner, ReptileLearner):
            _move_towards(learner, drawn)
        elif isinstance(learner, EmbeddingLearner):
            torch.autograd.backward(learner.row_losses(rows).mean())
        else:
            torch.autograd.backward(_joint_loss(learner, drawn))
        optimizer.step()

    return take


def _joint_loss(learner: FewShotLearner, drawn: Tasks) -> torch.Tensor:
    """The loss task by task, so that images stay in the processor's cache: one pass over all is slower (measured)."""
    model = learner.private_module
    scores = [model.classify(task.support, task.support_labels, task.query) for task in drawn]
    losses = [functional.cross_entropy(given, task.query_labels) for given, task in zip(scores, drawn, strict=True)]
    return torch.stack(losses).mean()


def _move_towards(learner: ReptileLearner, drawn: Tasks) -> None:
    model = learner.private_module
    assert isinstance(model, ReptileModel)
    start = flat(model).detach()
    ends = [
        model.learn(torch.cat([task.support, task.query]), torch.cat([task.support_labels, task.query_labels]))
        for task in drawn
    ]
    move = start - torch.stack(ends)[:, : len(start)].mean(0)
    parameters = list(model.parameters())
    for parameter, part in zip(parameters, move.split([p.numel() for p in parameters]), strict=True):
        parameter.grad = part.view_as(parameter)


def measure(config: FewShotConfig, repeats: int) -> dict[str, float]:
    """Medians over interleaved repeats."""
    steps = {"private": private(config), "plain": plain(config)}
    seconds: dict[str, list[float]] = {way: [] for way in steps}
    for repeat in range(repeats + 2):
        for way, take in steps.items():
            start = time.perf_counter()
            take()
            if repeat >= 2:  # the first two warm up
                seconds[way].append(time.perf_counter() - start)
    rate = {way: TASKS / median(times) for way, times in seconds.items()}
    result = {f"{way}_tasks_per_s": round(value, 2) for way, value in rate.items()}
    return {**result, "fraction_of_plain": round(rate["private"] / rate["plain"], 3)}


def main() -> None:
    """Print a table, or JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print JSON only")
    parser.add_argument("--repeats", type=int, default=15)
    options = parser.parse_args()
    torch.set_num_threads(1)
    results = {name: measure(config, options.repeats) for name, config in LEARNERS.items()}
    if options.json:
        print(json.dumps(results, indent=1))
        return
    for name, result in results.items():
        print(f"\n{name}, {WAYS}-way {SHOTS}-shot, {QUERIES} queries, 28x28, {TASKS} tasks a step")
        for key, value in result.items():
            print(f"  {key:24s} {value:12,.2f}")


if __name__ == "__main__":
    main()
