"""Whole runs of a classifier: with every sum and every kind of noise, and with parts that stay where they are."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
import torch

from siloseal.aggregator.coordinator import Coordinator
from siloseal.aggregator.training import AggregatorTraining
from siloseal.federation.job.job import Job
from siloseal.federation.job.releases import releases
from siloseal.federation.job.sections.mechanisms import MechanismKind
from siloseal.federation.job.sections.supervised import ClassifierConfig
from siloseal.federation.randomness import SeededRandomness
from siloseal.federation.run_events.stream import unheard
from siloseal.federation.sums.config import SumKind
from siloseal.federation.transport.engine import LocalEngine
from siloseal.federation.transport.wire import messages_pb2 as messages_pb
from siloseal.federation.transport.wire import sums_pb2 as sums_pb
from siloseal.federation.transport.wire.codec import decode
from siloseal.models.building import initial_model, load_model, vector_lengths
from siloseal.models.classifier.building import build_network
from siloseal.models.evaluation.outputs import outputs_of
from siloseal.models.model_files import GLOBAL_MODEL, read_model
from siloseal.run_folder.metrics import NoteMetric
from siloseal.run_folder.run import read_metrics
from siloseal.runs.progress import ProgressView
from siloseal.runs.run import run_job
from siloseal.runs.simulation import deal, open_journal, open_silos
from siloseal.silo.data.loading import load
from siloseal.silo.ledger import LEDGER_FILE
from siloseal.silo.ledger_reading import read_ledger
from siloseal.silo.training.clipping.plan import NOT_APART
from siloseal.silo.training.clipping.probe import Probe

LOGISTIC = {"kind": "classifier", "model": "logistic"}
FEDAVG = {"kind": "fedavg", "rounds": 2, "local_epochs": 1, "batch": 64}
SHORT = {"kind": "two_phase", "batch": 64, "local_steps": 8, "tuning_rounds": 1, "tuning_steps": 2}
SILO_LEVEL = {"kind": "silo_level", "epsilon": 12, "delta": 1e-4, "clip_norm": 0.5}
RATE = {"kind": "dp_adam", "learning_rate": 0.02}
SHAPE, CLASSES = (1, 8, 8), 10
RELATIVE = 2.0**-22
"""Relative error of a weight that was scaled, sent in single precision, and scaled back."""


@dataclass
class Ran:
    """A run that ended, and everything that left a silo."""

    model: np.ndarray
    accuracy: float
    folder: Path
    shares: dict[str, float]
    """Each silo's number of examples, as a share of the largest number that the job counts with."""
    sent: dict[str, list[bytes]]

    def uploads(self, silo: str) -> list[np.ndarray]:
        """What a silo sent to plain sums, with the weighting undone: the entries, and the silo's share."""
        sums = [reply.sum for reply in self._replies(silo) if reply.WhichOneof("body") == "sum"]
        arrays = [decode(sums_pb.Array, decode(sums_pb.SumMessage, message).body) for message in sums]
        sent = [np.frombuffer(array.data, "<f4").astype(np.float64) for array in arrays]
        return [np.append(vector[:-1] / vector[-1], vector[-1]) for vector in sent]

    def other_messages(self, silo: str) -> list[bytes]:
        """What a silo sent beside its vectors."""
        replies = self._replies(silo)
        return [reply.SerializeToString() for reply in replies if reply.WhichOneof("body") != "sum"]

    def network(self, silo: str, name: str) -> dict[str, torch.Tensor]:
        """The parameters of a network that a silo keeps: global.safetensors, or what it trained in phase 1."""
        return dict(read_model(self.folder / "silos" / silo / name).network.state_dict())

    def _replies(self, silo: str) -> list[messages_pb.Reply]:
        return [decode(messages_pb.Reply, data) for data in self.sent[silo]]


def run(job: Job, folder: Path) -> Ran:
    train, held_out = load(job.data)
    parts = deal(job, train)
    sent: dict[str, list[bytes]] = {name: [] for name in job.silos.names}
    with (
        open_silos(job, parts, folder, lambda silo: SeededRandomness(sum(silo.encode())), unheard) as silos,
        open_journal(folder, job.digest) as journal,
    ):

        def recorded(name: str) -> Callable[[bytes], bytes]:
            def answer(request: bytes) -> bytes:
                sent[name].append(silos[name].answer(request))
                return sent[name][-1]

            return answer

        engine = LocalEngine({name: recorded(name) for name in silos}, workers=1)
        training = AggregatorTraining(job, lambda *_: np.zeros(0), unheard)
        model = Coordinator(job, training, engine, journal, unheard).run().result.model
    network = load_model(job, train.shape, train.classes, model)
    named = outputs_of(network, held_out.inputs).argmax(1)
    shares = {name: len(part) / job.largest_silo for name, part in parts.items()}
    return Ran(model, float((named == held_out.labels).double().mean()), folder, shares, sent)


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
def test_a_classifier_is_noised_and_charged_as_a_whole_by_every_mechanism(
    job_of: Callable[..., Job], tmp_path: Path, kind: MechanismKind
) -> None:
    """The model moves by noise of the planned variance, which is far above what clipped updates add.

    A sum of 1,300 squares varies by 4 %, so that a false alarm is seven deviations away.
    """
    job = job_of(privacy=SILO_LEVEL, mechanism={"kind": kind}, secure_sum={"kind": "secagg"})
    ran = run(job, tmp_path)
    start, planned = initial_model(job, SHAPE, CLASSES), list(releases(job, vector_lengths(job, SHAPE, CLASSES)))
    assert len(planned) == FEDAVG["rounds"]
    for silo in job.silos.names:
        ledger = read_ledger(tmp_path / "silos" / silo / LEDGER_FILE)
        assert [charge.event for charge in ledger.charges] == [release.event for release in planned]
        assert 0.9 * SILO_LEVEL["epsilon"] < ledger.epsilon <= SILO_LEVEL["epsilon"]
    mechanisms = [(release.mechanism, release.domain) for release in planned if release.mechanism is not None]
    variance = sum((found.deviation(domain, 3) / 3) ** 2 for found, domain in mechanisms)  # of an average of three
    assert 0.7 < float(((ran.model - start) ** 2).mean()) / variance < 1.3


@pytest.mark.parametrize("apart", [True, False])
def test_slow_private_steps_are_told_once_in_the_terminal_and_in_the_report(
    apart: bool,
    job_of: Callable[..., Job],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(Probe, "keeps_rows_apart", lambda *_, **__: apart)
    with ProgressView() as view:
        run_job(job_of(schedule=SHORT), tmp_path / "run", view.show)
    notes = [
        metric.text for metric in read_metrics(tmp_path / "run" / "metrics.jsonl") if isinstance(metric, NoteMetric)
    ]
    told = [note for note in notes if NOT_APART in note]
    shown = " ".join(capsys.readouterr().err.split())  # in lines as wide as the terminal
    assert len(told) == shown.count(NOT_APART) == (0 if apart else 1)
    assert all("3 of 3 silos" in note for note in told)


class TestPartsThatStay:
    """The network is 64 -> 128 -> 128 -> 10: entries 1, 3 and 5 of a sequence. The plain sum shows what each silo sends."""

    def ran(self, job_of: Callable[..., Job], folder: Path, **parts: list[str]) -> Ran:
        return run(job_of(learner={"kind": "classifier", "model": "mlp", **parts}, schedule=SHORT), folder)

    def test_local_parts_are_the_silos_own_and_never_leave(self, job_of: Callable[..., Job], tmp_path: Path) -> None:
        ran = self.ran(job_of, tmp_path, local=["5.*"])
        north, east = (ran.network(silo, GLOBAL_MODEL) for silo in ("north", "east"))
        assert not torch.equal(north["5.weight"], east["5.weight"])
        assert torch.equal(north["3.weight"], east["3.weight"])
        self.require_sent(ran, shared=("1.weight", "1.bias", "3.weight", "3.bias"), kept=("5.weight", "5.bias"))

    def test_frozen_parts_keep_their_weights_and_never_leave(self, job_of: Callable[..., Job], tmp_path: Path) -> None:
        ran = self.ran(job_of, tmp_path, frozen=["1.*", "3.*"])
        config = ClassifierConfig(kind="classifier", model="mlp")
        first = build_network(config, SHAPE, CLASSES, seed=job_of().seed).state_dict()
        frozen = ("1.weight", "1.bias", "3.weight", "3.bias")
        for silo in ran.sent:
            found = ran.network(silo, GLOBAL_MODEL)
            assert [name for name in first if torch.equal(found[name], first[name])] == list(frozen)
        assert ran.accuracy > 0.3  # ten steps of the last layer alone; guessing gives 0.1
        self.require_sent(ran, shared=("5.weight", "5.bias"), kept=frozen)

    def require_sent(self, ran: Ran, *, shared: tuple[str, ...], kept: tuple[str, ...]) -> None:
        """Require that a silo's first upload is what it trained of the shared parts, entry by entry, and its share."""
        for silo in ran.sent:
            trained = ran.network(silo, "trained.safetensors")
            expected, own = flat(trained, shared), flat(trained, kept)
            first, *later = ran.uploads(silo)
            assert [upload.size for upload in later] == [expected.size + 1]  # one round of tuning
            np.testing.assert_allclose(first[:-1], expected, rtol=RELATIVE, atol=1e-8)  # of the grid
            assert first[-1] == pytest.approx(ran.shares[silo])
            assert found_in(expected, first) > 0.99  # of the smallest the grid takes digits
            assert all(found_in(own, upload) < 0.02 for upload in (first, *later))
            own_bytes = {value.tobytes() for kind in ("<f4", "<f8") for value in own.astype(kind)}
            assert not any(value in message for message in ran.other_messages(silo) for value in own_bytes)


def flat(network: dict[str, torch.Tensor], names: tuple[str, ...]) -> np.ndarray:
    return np.concatenate([network[name].flatten().numpy() for name in names]).astype(np.float64)


def found_in(values: np.ndarray, upload: np.ndarray) -> float:
    """The share of these values that an upload holds, up to rounding. By chance it is one in some hundred."""
    there = np.sort(upload)
    after = np.searchsorted(there, values).clip(1, there.size - 1)
    nearest = np.minimum(np.abs(there[after] - values), np.abs(there[after - 1] - values))
    return float((nearest <= RELATIVE * np.abs(values)).mean())
