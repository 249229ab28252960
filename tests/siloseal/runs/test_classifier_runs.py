"""Whole runs of a classifier: with every sum and every kind of noise, and with parts that stay where they are."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
import torch

from siloseal.aggregator.coordinator import Coordinator
from siloseal.aggregator.training import AggregatorTraining
from siloseal.federation.job.job import Job
from siloseal.federation.job.sections.mechanisms import MechanismKind
from siloseal.federation.randomness import SeededRandomness
from siloseal.federation.run_events.stream import unheard
from siloseal.federation.sums.config import SumKind
from siloseal.federation.transport.engine import LocalEngine
from siloseal.models.building import load_model
from siloseal.models.evaluation.outputs import outputs_of
from siloseal.models.model_files import GLOBAL_MODEL, read_model
from siloseal.runs.simulation import deal, open_journal, open_silos
from siloseal.silo.data.loading import load

LOGISTIC = {"kind": "classifier", "model": "logistic"}
FEDAVG = {"kind": "fedavg", "rounds": 2, "local_epochs": 1, "batch": 64}
SHORT = {"kind": "two_phase", "batch": 64, "local_steps": 8, "tuning_rounds": 1, "tuning_steps": 2}
SILO_LEVEL = {"kind": "silo_level", "epsilon": 12, "delta": 1e-4, "clip_norm": 0.5}
RATE = {"kind": "dp_adam", "learning_rate": 0.02}


@dataclass
class Ran:
    """A run that ended, and everything that left a silo."""

    model: np.ndarray
    accuracy: float
    folder: Path
    sent: list[bytes] = field(default_factory=list)


def run(job: Job, folder: Path) -> Ran:
    train, held_out = load(job.data)
    sent = list[bytes]()
    with (
        open_silos(job, deal(job, train), folder, lambda silo: SeededRandomness(sum(silo.encode())), unheard) as silos,
        open_journal(folder, job.digest) as journal,
    ):

        def recorded(name: str) -> Callable[[bytes], bytes]:
            def answer(request: bytes) -> bytes:
                sent.append(silos[name].answer(request))
                return sent[-1]

            return answer

        engine = LocalEngine({name: recorded(name) for name in silos}, workers=1)
        training = AggregatorTraining(job, lambda *_: np.zeros(0), unheard)
        model = Coordinator(job, training, engine, journal, unheard).run().result.model
    network = load_model(job, train.shape, train.classes, model)
    named = outputs_of(network, held_out.inputs).argmax(1)
    return Ran(model, float((named == held_out.labels).double().mean()), folder, sent)


@pytest.fixture
def job_of(small_job: Callable[..., Job]) -> Callable[..., Job]:
    def make(**sections: Any) -> Job:
        return small_job(**{"learner": LOGISTIC, "evaluation": {}, "optimizer": RATE, "schedule": FEDAVG, **sections})

    return make


@pytest.mark.parametrize("kind", get_args(SumKind))
@pytest.mark.parametrize("schedule", [FEDAVG, SHORT], ids=["fedavg", "two_phase"])
def test_a_classifier_learns_through_every_sum(
    job_of: Callable[..., Job], tmp_path: Path, schedule: dict[str, Any], kind: SumKind
) -> None:
    """One in ten is what guessing gives."""
    ran = run(job_of(secure_sum={"kind": kind}, schedule=schedule), tmp_path)
    assert ran.accuracy > 0.5


@pytest.mark.parametrize("kind", [kind for kind in get_args(MechanismKind) if kind != "none"])
def test_a_classifier_is_protected_as_a_whole_by_every_mechanism(
    job_of: Callable[..., Job], tmp_path: Path, kind: MechanismKind
) -> None:
    job = job_of(privacy=SILO_LEVEL, mechanism={"kind": kind}, secure_sum={"kind": "secagg"})
    assert np.isfinite(run(job, tmp_path).model).all()


class TestPartsThatStay:
    """The network is 64 -> 128 -> 128 -> 10: entries 1, 3 and 5 of a sequence."""

    def parts(self, ran: Ran, silo: str) -> dict[str, torch.Tensor]:
        return dict(read_model(ran.folder / "silos" / silo / GLOBAL_MODEL).network.state_dict())

    def test_local_parts_are_the_silos_own_and_never_leave(self, job_of: Callable[..., Job], tmp_path: Path) -> None:
        ran = run(job_of(learner={"kind": "classifier", "model": "mlp", "local": ["5.*"]}), tmp_path)
        north, east = self.parts(ran, "north"), self.parts(ran, "east")
        assert not torch.equal(north["5.weight"], east["5.weight"])
        assert torch.equal(north["3.weight"], east["3.weight"])
        assert ran.model.size == 64 * 128 + 128 + 128 * 128 + 128
        self.is_in_no_message(ran, north["5.weight"], north["5.bias"])

    def test_frozen_parts_keep_their_weights_and_never_leave(self, job_of: Callable[..., Job], tmp_path: Path) -> None:
        ran = run(job_of(learner={"kind": "classifier", "model": "mlp", "frozen": ["1.*", "3.*"]}), tmp_path)
        before = run(job_of(learner={"kind": "classifier", "model": "mlp"}, schedule=SHORT), tmp_path / "other")
        north = self.parts(ran, "north")
        assert ran.model.size == 128 * 10 + 10
        assert ran.accuracy > 0.5
        assert before.model.size > ran.model.size
        self.is_in_no_message(ran, north["1.weight"], north["3.weight"])

    def is_in_no_message(self, ran: Ran, *parts: torch.Tensor) -> None:
        """The plain sum sends weights as they are, so a part that left would be seen: in either precision."""
        for part in parts:
            values = part.flatten()[:4].numpy()
            for stored in (values.astype("<f4").tobytes(), values.astype("<f8").tobytes()):
                assert not any(stored in message for message in ran.sent)

    def test_what_is_shared_is_in_a_message(self, job_of: Callable[..., Job], tmp_path: Path) -> None:
        """Otherwise the two tests above would see nothing, whatever was sent."""
        ran = run(job_of(schedule={**SHORT, "tuning_rounds": 0}, silos={"names": ["north"]}), tmp_path)
        assert ran.model.size == 650
        assert any(len(message) > 650 * 4 for message in ran.sent)
