"""N-way K-shot accuracy on tasks of classes that nobody trained on."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from siloseal.federation.errors import DataError
from siloseal.models.meta.model import FewShotModel
from siloseal.models.meta.prototypes import ProtonetModel
from siloseal.models.meta.tasks import task_of

Z_95 = 1.959964
"""Number of standard deviations within which 95 % of the normal distribution lie."""

FEATURE_ROWS = 500  # embedded at a time

Classify = Callable[[Tensor, Tensor, Tensor], Tensor]
"""Function from labelled rows, their classes and rows to be named, to scores."""


@dataclass(frozen=True, slots=True)
class TaskAccuracy:
    """The mean over tasks, and half the width of its 95 % confidence interval."""

    mean: float
    margin: float


class TaskEvaluator:
    """An evaluator that draws its tasks from held-out data once and for all: every model is asked the same."""

    def __init__(
        self, images: Tensor, labels: Tensor, *, ways: int, shots: Sequence[int], queries: int, episodes: int, seed: int
    ) -> None:
        self._images = images  # (N, C, H, W)
        self._tasks = {
            count: draw_tasks(labels, ways=ways, images=count + queries, episodes=episodes, seed=[seed, count])
            for count in shots
        }

    def score(self, model: FewShotModel, *, shots: int) -> TaskAccuracy:
        """The share of queries that are named rightly after `shots` labelled images of each class."""
        with torch.no_grad():
            rows, classify = self._rows(model)
            accuracies = [self._accuracy(classify, rows[members], shots) for members in self._tasks[shots]]
        deviation = float(np.std(accuracies, ddof=1))
        return TaskAccuracy(float(np.mean(accuracies)), Z_95 * deviation / len(accuracies) ** 0.5)

    def _rows(self, model: FewShotModel) -> tuple[Tensor, Classify]:
        """The rows that tasks are made of. Where a task changes no feature, every image is embedded once for all."""
        if isinstance(model, ProtonetModel):
            parts = [model.features(part) for part in torch.split(self._images, FEATURE_ROWS)]
            return torch.cat(parts), model.compare
        return self._images, model.classify

    def _accuracy(self, classify: Classify, rows: Tensor, shots: int) -> float:
        task = task_of(list(rows), shots=shots)
        named = classify(task.support, task.support_labels, task.query).argmax(1)
        return float((named == task.query_labels).float().mean())


def draw_tasks(labels: Tensor, *, ways: int, images: int, episodes: int, seed: Sequence[int]) -> list[Tensor]:
    """The indices (ways, images) of each task's images."""
    values, generator = labels.numpy(), np.random.default_rng(seed)
    classes = [np.flatnonzero(values == label) for label in np.unique(values)]
    large = [members for members in classes if len(members) >= images]
    if len(large) < ways:
        raise DataError(
            f"{len(large)} held-out classes have {images} images or more, but a task takes {images} of each of {ways}; "
            "hold out more in data, or lower evaluation.ways, evaluation.shots or evaluation.queries"
        )
    tasks = list[Tensor]()
    for _ in range(episodes):
        chosen = generator.choice(len(large), ways, replace=False)
        drawn = [generator.choice(large[index], images, replace=False) for index in chosen]
        tasks.append(torch.from_numpy(np.stack(drawn)))
    return tasks
