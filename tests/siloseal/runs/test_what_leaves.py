"""A whole private run: every noised sum of its training, and every model that leaves in clear, lies on its grid."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from torch import Tensor

from siloseal.federation.job.job import Job
from siloseal.federation.job.sections.data import Digits
from siloseal.federation.privacy.mechanisms.gaussian_noise import grid_of
from siloseal.federation.randomness import SecureRandomness
from siloseal.federation.run_events.stream import unheard
from siloseal.federation.sums.plain.plain_sum import PlainSum, _PlainAggregator
from siloseal.federation.sums.session import Vector
from siloseal.runs.simulation import deal, federate, open_silos
from siloseal.silo.data.loading import load
from siloseal.silo.training import trainer
from siloseal.silo.training.trainer import PrivateTrainer

SHORT = {"kind": "two_phase", "batch": 48, "local_steps": 3, "tuning_rounds": 2, "tuning_steps": 2}


def distance(values: np.ndarray, grid: float) -> float:
    """The largest distance from the grid, in steps."""
    points = values.astype(np.float64) / grid
    return float(np.abs(points - np.rint(points)).max())


def test_every_noised_sum_and_every_upload_of_a_private_run_lies_on_its_grid(
    small_job: Callable[..., Job], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    noised, uploads = list[float](), dict[str, float]()
    scale, contribution, step = trainer.scale, _PlainAggregator._contribution, PrivateTrainer._step

    def watched_step(self: PrivateTrainer) -> None:
        def watched(total: Tensor, expected_batch: float) -> Tensor:
            assert self._privacy is not None
            noised.append(distance(total.numpy(), grid_of(self._privacy.noise_std)))
            return scale(total, expected_batch)

        monkeypatch.setattr(trainer, "scale", watched)
        step(self)

    def watched_upload(self: Any, reply: bytes) -> Vector:
        vector = contribution(self, reply)
        uploads[reply.hex()] = distance(vector, PlainSum().grid(self._session.domain))
        assert vector.any()
        return vector

    monkeypatch.setattr(PrivateTrainer, "_step", watched_step)
    monkeypatch.setattr(_PlainAggregator, "_contribution", watched_upload)
    job = small_job(schedule=SHORT)
    with open_silos(
        job, deal(job, load(Digits())[0]), tmp_path, lambda _: SecureRandomness(), lambda *_: None
    ) as silos:
        federate(job, silos, tmp_path, unheard, workers=1)
    assert len(noised) == 3 * (3 + 2 * 2)  # three silos, each its local steps and those of two tuning rounds
    assert len(uploads) == 3 * 3
    assert max(noised) == max(uploads.values()) == 0
