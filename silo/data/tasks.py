"""A silo's images as training tasks."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from siloseal.federation.errors import DataError
from siloseal.federation.job.sections.few_shot import Episodic
from siloseal.federation.randomness import Randomness
from siloseal.models.meta.tasks import Task, task_of
from siloseal.silo.data.examples import Examples

Members = NDArray[np.int64]  # (ways, images a class): indices of one task's images


class FixedTasks:
    """Each image belongs to one task for good, or to none: a task is then a unit of privacy that can be counted.

    Which images form a task follows from the labels and the job's seed, not from what the images show. Within a task,
    it is drawn anew at every visit which of its images are learnt from and which are tried, and that concerns nobody
    else's images.
    """

    def __init__(self, data: Examples, config: Episodic, *, seed: int, randomness: Randomness) -> None:
        self._data, self._config, self._randomness = data, config, randomness
        self.members = disjoint_tasks(data.labels.numpy(), ways=config.ways, images=config.task_images, seed=seed)

    def __len__(self) -> int:
        return len(self.members)

    def select(self, indices: Tensor) -> list[Task]:
        """The tasks with these numbers."""
        draw = _Draw(self._randomness)
        return [self._visited(self.members[index], draw) for index in indices.tolist()]

    def _visited(self, members: Members, draw: "_Draw") -> Task:
        ways, images = members.shape
        shuffled = np.stack([members[row][draw.order(images)] for row in draw.order(ways)])
        return _task(self._data, shuffled, self._config, draw)


class FreshTasks:
    """Tasks drawn anew from all images at every step, as the literature does without privacy.

    One image is in many of them, and no accounting here covers that: a job with privacy does not get this source.
    """

    def __init__(self, data: Examples, config: Episodic, *, randomness: Randomness) -> None:
        self._data, self._config, self._randomness = data, config, randomness
        labels = data.labels.numpy()
        members = [np.flatnonzero(labels == label) for label in np.unique(labels)]
        self._classes = [found for found in members if len(found) >= config.task_images]
        _require_classes(len(self._classes), ways=config.ways, images=config.task_images)

    def __len__(self) -> int:
        """Number of tasks that there could be at once without sharing an image."""
        return max(1, sum(map(len, self._classes)) // (self._config.ways * self._config.task_images))

    def select(self, indices: Tensor) -> list[Task]:
        """New tasks, as many as there are indices."""
        draw = _Draw(self._randomness)
        return [self._drawn(draw) for _ in indices]

    def _drawn(self, draw: "_Draw") -> Task:
        classes = draw.order(len(self._classes))[: self._config.ways]
        members = [self._classes[index] for index in classes]
        chosen = np.stack([found[draw.order(len(found))[: self._config.task_images]] for found in members])
        return _task(self._data, chosen, self._config, draw)


class _Draw:
    """Random choices for one step, from the silo's own source."""

    def __init__(self, randomness: Randomness) -> None:
        self._generator = np.random.default_rng(int.from_bytes(randomness.bits(16)))

    def order(self, count: int) -> NDArray[np.int64]:
        return self._generator.permutation(count)

    def coins(self, shape: tuple[int, ...]) -> Tensor:
        return torch.from_numpy(self._generator.random(shape) < 0.5)


def _task(data: Examples, members: Members, config: Episodic, draw: _Draw) -> Task:
    images = data.inputs[torch.from_numpy(members)]  # (ways, images, C, H, W)
    if config.mirror:
        images = torch.where(draw.coins((*members.shape, 1, 1, 1)), images.flip(-1), images)
    return task_of(images, shots=config.shots)


def disjoint_tasks(labels: NDArray[np.int64], *, ways: int, images: int, seed: int) -> list[Members]:
    """Deal all tasks that these labels give, no image to two of them, always of the classes with most images left."""
    generator = np.random.default_rng(seed)
    left = [generator.permutation(np.flatnonzero(labels == label)) for label in np.unique(labels)]
    _require_classes(sum(len(members) >= images for members in left), ways=ways, images=images)
    tasks = list[Members]()
    while True:
        order = sorted(generator.permutation(len(left)).tolist(), key=lambda index: -len(left[index]))[:ways]
        if min(len(left[index]) for index in order) < images:
            return tasks
        tasks.append(np.stack([left[index][:images] for index in order]))
        for index in order:
            left[index] = left[index][images:]


def _require_classes(found: int, *, ways: int, images: int) -> None:
    if found < ways:
        raise DataError(
            f"{found} classes have {images} images or more, but a task takes {images} images of each of {ways} "
            "classes; add images, or lower learner.ways, learner.shots or learner.queries"
        )
