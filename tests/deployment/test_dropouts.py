"""Silos that stop answering: the run goes on without them where the job allows it, says so, and lets them in again."""

import json
import os
import signal
from collections.abc import Callable
from typing import Any

import numpy as np

from federation.contributions import model_domain, model_scheme
from federation.phases import PHASE_1
from federation.randomness import SeededRandomness
from federation.weighting import mean_of
from federation.wire import messages_pb2 as pb
from federation.wire.codec import decode, from_array
from models.building import build_learner
from models.checkpoints import part_of
from silo.state import SiloState
from siloseal.status import ask_status

from .conftest import EXAMPLES, NAMES, SHORT, Consortium
from .evidence import audit_lines, journal_replies
from .parties import Event, Party

ConsortiumOf = Callable[..., Consortium]
TWO_OF_THREE = {"names": list(NAMES), "fewest": 2}


def stop(party: Party) -> None:
    os.kill(party.pid, signal.SIGSTOP)


def wake(party: Party) -> None:
    os.kill(party.pid, signal.SIGCONT)


def at(party: Party, then: Callable[[], None], event: str, **facts: Any) -> None:
    """When the party first says this, it waits until `then` has been called."""
    done = list[Event]()

    def on_event(said: Event) -> None:
        if said["event"] == event and facts.items() <= said.items() and not done:
            done.append(said)
            then()

    party.paced, party.on_event = True, on_event


def patient_for(consortium: Consortium, seconds: float) -> None:
    minutes = seconds / 60
    consortium.edit("aggregator", deadlines={"training_minutes": minutes, "message_minutes": minutes})


def mean_in_journal(consortium: Consortium, number: int) -> tuple[np.ndarray, list[str]]:
    """The weighted mean of what silos sent in clear in answer to a request, and who they are."""
    found = [(silo, decode(pb.Reply, reply).sum) for n, silo, reply in journal_replies(consortium) if n == number]
    arrays = [decode(pb.Array, decode(pb.SumMessage, message).body) for _, message in found]
    total = np.sum([from_array(a, dtype="<f4", length=a.shape[0]).astype(np.float64) for a in arrays], axis=0)
    return mean_of(total).astype("<f4"), [silo for silo, _ in found]


def notes(consortium: Consortium) -> list[str]:
    return list(json.loads((consortium.state("aggregator") / "outcome.json").read_text())["notes"])


def test_a_silo_stopped_in_training_is_left_out_once_also_after_a_restart_of_the_aggregator(
    consortium_of: ConsortiumOf,
) -> None:
    consortium = consortium_of(silos=TWO_OF_THREE)
    patient_for(consortium, 5)
    north, aggregator = consortium.silos["north"], consortium.aggregator

    def restart() -> None:
        aggregator.restart()
        wake(north)

    at(north, lambda: stop(north), "training", phase="phase_1")
    at(aggregator, restart, "goes_on_without")
    consortium.start()
    aggregator.wait_for("stage", stage="phase_2", count=1)
    assert "north stayed silent" in ask_status(consortium.kits / "operator" / "operator.yaml").notes[0]
    aggregator.wait_for("finished")
    model = consortium.finish()
    without = [line["silos"] for line in audit_lines(consortium, "aggregator", "goes_on_without")]
    assert without == [["north"]] * 2, "again by the new process: the old one may have been killed before its line"
    asked = [line["silos"] for line in audit_lines(consortium, "aggregator", "asks") if line["number"] == 3]
    assert asked == [list(NAMES)], "once, although the aggregator began again just after it had given north up"
    phase_1, present = mean_in_journal(consortium, 4)
    assert present == ["east", "south"]
    assert np.array_equal(consortium.model("models/phase_1.safetensors"), phase_1)
    round_1, present = mean_in_journal(consortium, 6)
    assert present == sorted(NAMES), "it is let in again"
    assert np.allclose(model, round_1, rtol=1e-6, atol=1e-6)
    assert [note.split(" past ")[0] for note in notes(consortium)] == ["north stayed silent"]


def test_a_silo_killed_for_good_is_left_out_to_the_end(consortium_of: ConsortiumOf) -> None:
    consortium = consortium_of(silos=TWO_OF_THREE, schedule={**SHORT, "tuning_rounds": 0})
    patient_for(consortium, 0.6)  # two answers are awaited in any case
    south = consortium.silos["south"]
    at(south, south.kill, "training")
    consortium.start()
    assert [party.wait() for party in consortium.parties] == [0, 0, 0, -signal.SIGKILL]
    expected, present = mean_in_journal(consortium, 4)
    assert present == ["east", "north"]
    assert np.array_equal(consortium.model(), expected)
    assert [line["number"] for line in audit_lines(consortium, "aggregator", "goes_on_without")] == [3, 5]
    assert len(notes(consortium)) == 2


def test_a_silo_that_the_job_needs_is_waited_for_past_the_deadline(consortium_of: ConsortiumOf) -> None:
    consortium = consortium_of()
    patient_for(consortium, 0.6)
    east = consortium.silos["east"]
    at(east, lambda: stop(east), "training")
    consortium.start()
    waiting = consortium.aggregator.wait_for("waiting", silos=["east"], needed=1)
    assert waiting["past_deadline"]
    wake(east)
    consortium.finish()
    assert mean_in_journal(consortium, 4)[1] == sorted(NAMES)
    assert not notes(consortium)


class Truth:
    """What the silos' models were when they had been trained, read from their disks, by round."""

    def __init__(self, consortium: Consortium) -> None:
        self._consortium = consortium
        self.models: list[dict[str, np.ndarray]] = []

    def look(self, silo: str, round: int) -> None:
        """At the silo's checkpoint. It must not be writing."""
        checkpoint, job = SiloState(self._consortium.run_folder(silo)).load(), self._consortium.job
        assert checkpoint is not None
        learner = build_learner(job, (1, 8, 8), 10, labels=range(10), expected_batch=48, randomness=SeededRandomness(0))
        learner.load_state(part_of("learner", checkpoint.tensors))
        while len(self.models) <= round:
            self.models.append({})
        self.models[round][silo] = learner.vector().numpy().astype(np.float64)

    def mean(self, round: int, silos: set[str]) -> np.ndarray:
        weights = np.array([EXAMPLES[silo] for silo in silos], dtype=np.float64)
        return np.average([self.models[round][silo] for silo in silos], axis=0, weights=weights)

    def error_bound(self, mean: np.ndarray, silos: set[str]) -> float:
        """Of the mean: each contribution, and each weight in it, is rounded to the scheme's grid."""
        job = self._consortium.job
        grid = model_scheme(job, PHASE_1).grid(model_domain(job, mean.size))
        share = sum(EXAMPLES[silo] for silo in silos) / job.largest_silo
        return float(len(silos) * grid / 2 * (1 + np.abs(mean).max()) / share) + 1e-6  # and single precision


COMMIT_KEY, REVEAL_KEY, COMMIT_CIPHERTEXT, UPLOAD, OPEN = range(1, 6)
TRAINING = 0
SILENT = [("north", TRAINING), ("east", COMMIT_KEY), ("south", REVEAL_KEY), ("north", UPLOAD), ("east", OPEN)]
"""By round: who stops, and at which of its messages."""


class Stopping:
    """A silo that stops, once in the rounds where it is its turn, and wakes when the run has gone on without it."""

    def __init__(self, consortium: Consortium, name: str, truth: Truth) -> None:
        self._name, self._truth, self._party = name, truth, consortium.silos[name]
        self._trainings: list[int] = []
        self._sums: list[int] = []
        self._stopped = set[int]()
        self._party.paced, self._party.on_event = True, self._on_event

    def _on_event(self, event: Event) -> None:
        number = event.get("number", 0)
        if event["event"] == "asked" and event["what"] == "train" and number not in self._trainings:
            self._trainings.append(number)
            self._sums = []
        if event["event"] == "asked" and event["what"] == "sum" and number not in self._sums:
            self._sums.append(number)
        turn = len(self._trainings) - 1
        if event["event"] == "answers" and event["what"] == "train":
            self._truth.look(self._name, turn)
        begins = event["event"] == "asked" and event["what"] in ("train", "sum")
        if begins and (self._name, len(self._sums)) == SILENT[turn] and turn not in self._stopped:
            self._stopped.add(turn)
            stop(self._party)


def test_silos_that_stop_at_any_message_of_an_encrypted_sum_are_left_out_or_recovered(
    consortium_of: ConsortiumOf,
) -> None:
    """Whoever has uploaded is in the sum: the others recover its share of the key."""
    ckks = {"kind": "ckks", "threshold": 2}
    schedule = {**SHORT, "local_steps": 10, "tuning_rounds": len(SILENT) - 1, "tuning_sum": ckks}
    consortium = consortium_of(silos=TWO_OF_THREE, secure_sum=ckks, schedule=schedule)
    patient_for(consortium, 5)
    truth = Truth(consortium)
    for name in NAMES:
        Stopping(consortium, name, truth)

    def on_event(event: Event) -> None:
        if event["event"] == "goes_on_without":
            for silo in event["silos"]:
                wake(consortium.silos[silo])

    consortium.aggregator.on_event = on_event
    consortium.start().finish()
    without = audit_lines(consortium, "aggregator", "goes_on_without")
    assert [line["silos"] for line in without] == [[name] for name, _ in SILENT]
    assert [note.split(" stayed")[0] for note in notes(consortium)] == [name for name, _ in SILENT]
    for turn, (name, stage) in enumerate(SILENT):
        contributors = set(NAMES) - (set() if stage == OPEN else {name})
        model = consortium.model(f"models/round_{turn}.safetensors" if turn else "models/phase_1.safetensors")
        mean = truth.mean(turn, contributors)
        bound = truth.error_bound(mean, contributors)
        assert np.abs(model - mean).max() <= bound
        others = [truth.mean(turn, set(truth.models[turn]) - {one}) for one in contributors]
        assert min(np.abs(model - other).max() for other in others) > 10 * bound, "nobody else's mean is as near"
    for name in NAMES:
        late = audit_lines(consortium, name, "not_needed")
        assert len(late) == [silent for silent, _ in SILENT].count(name), "what it brings when it wakes is over"
