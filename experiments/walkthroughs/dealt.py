"""What the silos of a job in small hold, for notebooks that show it."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from siloseal.federation.job.job import Job
from siloseal.run_folder.images import quantise
from siloseal.runs.simulation import deal
from siloseal.silo.data.examples import Examples
from siloseal.silo.data.loading import load


class Pictures(NamedTuple):
    """Images with the class of each, as arrays that can be drawn."""

    images: NDArray[np.uint8]  # (N, C, H, W)
    labels: NDArray[np.int64]  # (N,)

    def of(self, label: int) -> NDArray[np.uint8]:
        """Return the images of one class."""
        found: NDArray[np.uint8] = self.images[self.labels == label]
        return found

    @property
    def classes(self) -> list[int]:
        """The classes of which there are images, in order."""
        return [int(label) for label in np.unique(self.labels)]

    @property
    def one_of_each(self) -> NDArray[np.uint8]:
        """The first image of each class, in order."""
        return np.stack([self.of(label)[0] for label in self.classes])


class Dealt(NamedTuple):
    """The images of a simulation, as they are dealt before it begins."""

    silos: dict[str, Pictures]
    held_out: Pictures
    """Images that nobody trains on."""


def deal_images(job: Job) -> Dealt:
    """Deal the images of a job to its silos, as `siloseal.simulate` does."""
    train, held_out = load(job.data)
    return Dealt({name: _pictures(part) for name, part in deal(job, train).items()}, _pictures(held_out))


def _pictures(part: Examples) -> Pictures:
    return Pictures(quantise(part.inputs), part.labels.numpy())
