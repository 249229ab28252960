"""Silos of a large simulation rest in their folders until they are asked, and that changes nothing but the memory."""

import gc
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from siloseal.federation.errors import RunError, UnclippableModule
from siloseal.federation.job.job import Job
from siloseal.federation.job.phases import rounds_that_ask
from siloseal.federation.job.sections.data import Digits
from siloseal.federation.randomness import SeededRandomness
from siloseal.federation.run_events.stream import Subscriber, unheard
from siloseal.models.user_code.places import look_in
from siloseal.runs import simulation
from siloseal.runs.resting_silos import RestingSilo
from siloseal.runs.simulation import Home, deal, federate, open_each, open_silos
from siloseal.silo.data.loading import load
from siloseal.silo.ledger_reading import read_ledger
from siloseal.silo.runtime import Silo

ROOT = Path(__file__).parents[3]
look_in(Path(__file__).parent)  # where the networks of a user's own lie
SILO_LEVEL = {"kind": "silo_level", "epsilon": 12, "delta": 1e-4, "clip_norm": 0.5}


def classifier_job(**changes: Any) -> Job:
    schedule = {"kind": "fedavg", "rounds": 2, "fraction": 0.5, "batch": 20}
    values = {
        "name": "many",
        "data": {"kind": "digits"},
        "silos": {"count": 8},
        "learner": {"kind": "classifier", "model": "logistic"},
        "optimizer": {"kind": "dp_sgd", "learning_rate": 0.1, "momentum": 0.5},
        "privacy": {"kind": "none"},
        "warm_start": {"kind": "none"},
        "schedule": schedule,
        "secure_sum": {"kind": "plain"},
    }
    return Job.model_validate({**values, **changes})


def in_memory() -> int:
    gc.collect()
    return sum(type(found) is Silo for found in gc.get_objects())


def run(job: Job, folder: Path, most_awake: int, hear: Subscriber = unheard) -> np.ndarray:
    """The model of a run with so many silos in memory."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(simulation, "open_each", partial(open_each, most_awake=most_awake))
        parts = deal(job, load(Digits())[0])
        seeds = {name: number for number, name in enumerate(job.silos.names)}
        with open_silos(job, parts, folder, lambda name: SeededRandomness(seeds[name]), hear) as silos:
            return federate(job, silos, folder, hear, workers=2).result.model


@pytest.mark.parametrize("kind", ["plain", "secagg"])
def test_a_run_with_one_silo_in_memory_learns_the_same(kind: str, tmp_path: Path) -> None:
    """A silo that made room for another goes on from its folder, with its optimizer and in the middle of a sum."""
    job = classifier_job(secure_sum={"kind": kind})
    awake = run(job, tmp_path / "awake", 8)
    resting = run(job, tmp_path / "resting", 1)
    assert (awake == resting).all()


def test_a_silo_that_rests_in_the_middle_of_a_sum_pays_for_it_once(tmp_path: Path) -> None:
    job = classifier_job(secure_sum={"kind": "secagg"}, privacy=SILO_LEVEL, mechanism={"kind": "skellam"})
    run(job, tmp_path, 1)
    for name in job.silos.names:
        charges = read_ledger(tmp_path / "silos" / name / "ledger.jsonl").charges
        assert len(charges) == rounds_that_ask(job, name)


@contextmanager
def three_silos(folder: Path, opened: list[str], most_awake: int, **sections: Any) -> Iterator[dict[str, RestingSilo]]:
    job = classifier_job(silos={"count": 3}, **sections)
    parts = deal(job, load(Digits())[0])

    def open_one(home: Home) -> Silo:
        opened.append(home.name)
        return simulation.open_training_silo(
            job,
            parts[home.name],
            home.folder,
            lengths=simulation.vector_lengths(job, (1, 8, 8), 10),
            labels=range(10),
            identity=home.identity,
            roster=home.roster,
            randomness=SeededRandomness(0),
            publish=unheard,
        )

    with open_each(job.silos.names, folder, open_one, most_awake=most_awake) as silos:
        yield silos


def test_silos_are_opened_when_they_are_asked_and_the_one_asked_longest_ago_makes_room(tmp_path: Path) -> None:
    opened, before = list[str](), in_memory()  # of other tests, perhaps
    with three_silos(tmp_path, opened, 2) as silos:
        assert opened == []
        for name in ("silo-1", "silo-2", "silo-1", "silo-3", "silo-1", "silo-2"):
            silos[name].answer(b"no request, which is refused")
        assert opened == ["silo-1", "silo-2", "silo-3", "silo-2"]
        assert in_memory() == before + 2


def test_a_silo_that_could_not_be_resumed_is_closed_and_resumed_when_it_is_asked_again(tmp_path: Path) -> None:
    """Its ledger can be opened by one at a time."""
    opened, reply = list[str](), tmp_path / "silos" / "silo-1" / "reply.bin"
    with three_silos(tmp_path, opened, 1, privacy=SILO_LEVEL, mechanism={"kind": "gaussian_local"}) as silos:
        for name in ("silo-1", "silo-2"):
            silos[name].answer(b"no request, which is refused")
        reply.write_bytes(b"damaged")
        for _ in range(2):
            with pytest.raises(RunError, match="silo-1"):
                silos["silo-1"].answer(b"no request")
        reply.unlink()
        assert silos["silo-1"].answer(b"no request, which is refused")
    assert opened == ["silo-1", "silo-2", *["silo-1"] * 3]


def test_nobody_is_asked_after_the_end(tmp_path: Path) -> None:
    opened = list[str]()
    with three_silos(tmp_path, opened, 2) as silos:
        silos["silo-1"].answer(b"no request, which is refused")
    for name in ("silo-1", "silo-2"):
        with pytest.raises(RunError, match=name):
            silos[name].answer(b"no request")
    assert opened == ["silo-1"]


def test_what_cannot_be_trained_is_refused_before_any_silo_works(tmp_path: Path) -> None:
    """All silos but the first build their networks when they train; nobody shall find out only then."""
    privacy = {"kind": "example_level", "epsilon": 5, "delta": 1e-4}
    job = classifier_job(privacy=privacy, learner={"kind": "classifier", "model": "odd_networks:mixing"})
    parts = deal(job, load(Digits())[0])
    with (
        pytest.raises(UnclippableModule),
        open_silos(job, parts, tmp_path, lambda _: SeededRandomness(0), unheard) as silos,
    ):
        federate(job, silos, tmp_path, unheard, workers=1)
    assert not list(tmp_path.rglob("checkpoint.safetensors"))


@pytest.mark.parametrize(
    "privacy", [{"kind": "none"}, {"kind": "example_level", "epsilon": 5, "delta": 1e-4}], ids=lambda each: each["kind"]
)
def test_a_network_is_built_and_tried_while_others_train_with_dropout(tmp_path: Path, privacy: dict[str, Any]) -> None:
    """Threads share torch's generator: what one draws in training must not enter what another seeds."""
    learner = {"kind": "classifier", "model": "odd_networks:forgetful"}
    schedule = {"kind": "fedavg", "rounds": 1, "local_epochs": 3, "batch": 10}
    job = classifier_job(privacy=privacy, learner=learner, schedule=schedule, silos={"count": 12})
    parts = deal(job, load(Digits())[0])
    with open_silos(job, parts, tmp_path, lambda _: SeededRandomness(0), unheard) as silos:
        assert federate(job, silos, tmp_path, unheard, workers=4)


KILLED_RUN = """
import os, signal, sys
from pathlib import Path
import numpy as np
from siloseal.federation.run_events.aggregator import ReplyAccepted
from tests.siloseal.runs.test_resting_silos import classifier_job, run
seen = []
def hear(event):
    seen.extend([event] if isinstance(event, ReplyAccepted) else [])
    if len(seen) == int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)
model = run(classifier_job(secure_sum={"kind": "secagg"}), Path(sys.argv[1]), 2, hear)
np.save(Path(sys.argv[1]) / "model.npy", model)
"""


@pytest.mark.parametrize("replies", [5, 26, 41])
def test_a_simulation_that_is_killed_goes_on_to_the_same_model(tmp_path: Path, replies: int) -> None:
    """In the enrolment, in a training and in a sum. No file of it was flushed to the disk."""
    undisturbed = run(classifier_job(secure_sum={"kind": "secagg"}), tmp_path / "undisturbed", 8)
    folder = tmp_path / "killed"
    folder.mkdir()
    command = [sys.executable, "-c", KILLED_RUN, str(folder)]
    killed = subprocess.run([*command, str(replies)], check=False, cwd=ROOT)
    assert killed.returncode == -signal.SIGKILL
    assert not (folder / "model.npy").exists()
    subprocess.run([*command, "-1"], check=True, cwd=ROOT)  # never
    assert (np.load(folder / "model.npy") == undisturbed).all()
