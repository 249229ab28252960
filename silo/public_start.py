"""Training on public data, for a warm start: the silos' own loop, without noise and without a ledger."""

import numpy as np
from numpy.typing import NDArray

from federation.config.job import Job, PublicStart
from federation.errors import DataError
from federation.randomness import SecureRandomness
from models.building import build_learner
from silo.data.loading import load
from silo.training.trainer import PrivateTrainer


def train_on_public_data(
    job: Job, start: PublicStart, image_shape: tuple[int, int, int], classes: int
) -> NDArray[np.float32]:
    """The shared vector after training on the public data set, whose shape must be the silos'."""
    data, _ = load(start.data)
    if (data.image_shape, data.classes) != (image_shape, classes):
        raise DataError(
            f"the public data are {data.image_shape} in {data.classes} classes, but the silos' are {image_shape} in "
            f"{classes}; set warm_start.data.side, or choose other public data"
        )
    rate = min(1.0, start.batch / len(data))
    randomness = SecureRandomness()
    learner = build_learner(
        job, image_shape, classes, labels=range(classes), expected_batch=rate * len(data), randomness=randomness
    )
    trainer = PrivateTrainer(
        learner, data, sampling_rate=rate, optimizer=job.optimizer, privacy=None, randomness=randomness
    )
    trainer.train(start.steps, phase="public start")
    return learner.vector().numpy()
