"""A silo's images as training tasks."""

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from siloseal.federation.job.sections.few_shot import Episodic
from siloseal.federation.randomness import Randomness
from siloseal.models.meta.tasks import Task, task_of
from siloseal.silo.data.examples import Examples
from siloseal.silo.data.slots import Slot, digest_of, require_classes, slot_joined, slots_of

Members = Sequence[NDArray[np.int64]]
"""Indices of one task's images, class by class."""


class FixedTasks:
    """Each image belongs to one slot for good, and a slot's images are one task: a unit of privacy that can be counted.

    The neighbours that count are zero-out ones: an image is there or is nothing, and how many images each class has is
    public either way. Slots follow from these counts alone, and each image joins one by itself. So an image that is
    taken out changes the task of one slot, and an image that is exchanged for another of its class changes two at most.
    A slot that few images joined is an empty unit: it is counted and sampled like the others, and contributes nothing.

    Where an image is deleted and the published counts fall with it, most often nothing else changes either: `slots_of`
    says what does, and when.

    Within a task, it is drawn anew at every visit which of its images are learnt from and which are tried, and that
    concerns nobody else's images.
    """

    def __init__(self, data: Examples, config: Episodic, *, seed: int, randomness: Randomness) -> None:
        self._data, self._config, self._seed, self._randomness = data, config, seed, randomness
        self.slots = slots_of(_counts(data), ways=config.ways, images=config.task_images, seed=seed)

    def __len__(self) -> int:
        """Number of slots, empty ones too: it is public, so that the sampling rate tells nothing."""
        return len(self.slots)

    @cached_property
    def members(self) -> list[Members]:
        """The images of each slot's task; of an empty slot none."""
        return members_of(self.slots, self._data, self._config, seed=self._seed)

    def select(self, indices: Tensor) -> list[Task]:
        """The tasks of the slots with these numbers, empty ones left out."""
        draw = _Draw(self._randomness)
        return [self._visited(self.members[index], draw) for index in indices.tolist() if self.members[index]]

    def _visited(self, members: Members, draw: "_Draw") -> Task:
        classes = [members[number] for number in draw.order(len(members))]
        return _task(self._data, [found[draw.order(len(found))] for found in classes], self._config, draw)


def members_of(slots: Sequence[Slot], data: Examples, config: Episodic, *, seed: int) -> list[Members]:
    """The images of each slot's task, of those that joined it; of an empty slot none."""
    joined = [dict[int, list[tuple[bytes, int]]]() for _ in slots]
    for label, places in _places(slots).items():
        for index in np.flatnonzero(data.labels.numpy() == label).tolist():
            digest = digest_of(data.inputs[index].numpy(), seed=seed)
            joined[slot_joined(digest, places)].setdefault(label, []).append((digest, index))
    return [_task_members(found, config) for found in joined]


def _task_members(joined: Mapping[int, Sequence[tuple[bytes, int]]], config: Episodic) -> Members:
    """The images of one task, of those that joined its slot: by their hashes, not by where they lie in the data.

    Hashes spread images unevenly. A class with fewer than one image more than `shots` is left out; a class has at most
    twice the usual number, which bounds what a task costs to learn.
    """
    usable = [sorted(found) for found in joined.values() if len(found) > config.shots]
    if len(usable) < 2:
        return []
    return [np.array([index for _, index in found[: 2 * config.task_images]]) for found in usable]


class FreshTasks:
    """Tasks drawn anew from all images at every step, as the literature does without privacy.

    One image is in many of them, and no accounting here covers that: a job with privacy does not get this source.
    """

    def __init__(self, data: Examples, config: Episodic, *, randomness: Randomness) -> None:
        self._data, self._config, self._randomness = data, config, randomness
        labels = data.labels.numpy()
        members = [np.flatnonzero(labels == label) for label in np.unique(labels)]
        self._classes = [found for found in members if len(found) >= config.task_images]
        require_classes(len(self._classes), ways=config.ways, images=config.task_images)

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
        chosen = [found[draw.order(len(found))[: self._config.task_images]] for found in members]
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
    classes = [data.inputs[torch.from_numpy(found)] for found in members]  # each (images, C, H, W)
    if config.mirror:
        classes = [torch.where(draw.coins((len(found), 1, 1, 1)), found.flip(-1), found) for found in classes]
    return task_of(classes, shots=config.shots)


def _counts(data: Examples) -> dict[int, int]:
    labels, counts = np.unique(data.labels.numpy(), return_counts=True)
    return dict(zip(labels.tolist(), counts.tolist(), strict=True))


def _places(slots: Sequence[Slot]) -> dict[int, list[int]]:
    """The numbers of the slots of each class."""
    places = dict[int, list[int]]()
    for number, labels in enumerate(slots):
        for label in labels:
            places.setdefault(label, []).append(number)
    return places
