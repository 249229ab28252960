"""Silos that stop answering: the run goes on without them where the job allows it, says so, and lets them in again."""

import os
import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from siloseal.federation.job.weighting import mean_of
from siloseal.federation.records.roster import read_roster
from siloseal.federation.transport.wire import messages_pb2 as pb
from siloseal.federation.transport.wire import sums_pb2
from siloseal.federation.transport.wire.codec import decode, from_array
from siloseal.run_folder.run import read_run
from siloseal.runs.aggregator_report import RESTARTED
from siloseal.runs.status import ask_status

from .conftest import NAMES, SHORT, Consortium
from .evidence import Truth, audit_lines, journal_replies
from .parties import PATIENCE_SECONDS, Event, Party

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
    arrays = [decode(sums_pb2.Array, decode(sums_pb2.SumMessage, message).body) for _, message in found]
    total = np.sum([from_array(a, dtype="<f4", length=a.shape[0]).astype(np.float64) for a in arrays], axis=0)
    return mean_of(total).astype("<f4"), [silo for silo, _ in found]


def notes(consortium: Consortium) -> list[str]:
    of_the_keys, *others = read_run(consortium.state("aggregator")).summary.warnings
    assert of_the_keys == read_roster(consortium.kits / "aggregator" / "roster.yaml").warning
    return [note for note in others if note != RESTARTED]


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
    assert "north" in ask_status(consortium.kits / "operator" / "operator.yaml").notes[1]
    aggregator.wait_for("finished")
    model = consortium.finish()
    without = [line["silos"] for line in audit_lines(consortium, "aggregator", "goes_on_without")]
    assert without == [["north"]] * 2, "again by the new process: the old one may have been killed before its line"
    asked = [line["silos"] for line in audit_lines(consortium, "aggregator", "asks") if line["number"] == 4]
    assert asked == [list(NAMES)], "once, although the aggregator began again just after it had given north up"
    phase_1, present = mean_in_journal(consortium, 5)
    assert present == ["east", "south"]
    assert np.array_equal(consortium.model("models/phase_1.safetensors"), phase_1)
    round_1, present = mean_in_journal(consortium, 7)
    assert present == sorted(NAMES), "it is let in again"
    assert np.allclose(model, round_1, rtol=1e-6, atol=1e-6)
    assert [note.split(" past ")[0] for note in notes(consortium)] == ["north stayed silent"]
    assert RESTARTED in read_run(consortium.state("aggregator")).summary.warnings


def test_a_silo_killed_for_good_is_left_out_to_the_end(consortium_of: ConsortiumOf) -> None:
    consortium = consortium_of(silos=TWO_OF_THREE, schedule={**SHORT, "tuning_rounds": 0})
    patient_for(consortium, 0.6)  # two answers are awaited in any case
    south = consortium.silos["south"]
    at(south, south.kill, "training")
    consortium.start()
    assert [party.wait() for party in consortium.parties] == [0, 0, 0, -signal.SIGKILL]
    expected, present = mean_in_journal(consortium, 5)
    assert present == ["east", "north"]
    assert np.array_equal(consortium.model(), expected)
    assert [line["number"] for line in audit_lines(consortium, "aggregator", "goes_on_without")] == [4, 6]
    assert len(notes(consortium)) == 2


ADDITIVE = {"silos": TWO_OF_THREE, "secure_sum": {"kind": "additive"}, "schedule": {**SHORT, "tuning_rounds": 0}}
"""A job for which two silos are enough, and a sum that needs all."""


@pytest.mark.parametrize(
    ("sections", "what"),
    [({}, "train"), (ADDITIVE, "train"), (ADDITIVE, "sum")],
    ids=["all-train", "additive-train", "additive-sum"],
)
def test_a_silo_that_the_job_or_its_sum_needs_is_waited_for_past_the_deadline(
    consortium_of: ConsortiumOf, sections: dict[str, Any], what: str
) -> None:
    consortium = consortium_of(**sections)
    patient_for(consortium, 0.6)
    east, aggregator = consortium.silos["east"], consortium.aggregator
    stopped, waited = threading.Event(), threading.Event()

    def stop_east() -> None:
        stop(east)
        stopped.set()

    def on_event(event: Event) -> None:
        """On a slow machine it waits for others, and at other requests, too."""
        if (
            event["event"] == "awaits_replies"
            and "east" in event["silos"]
            and aggregator.said("asks")[-1]["what"] == what
        ):
            assert event["past_deadline"]
            waited.set()

    at(east, stop_east, "asked", what=what)
    aggregator.on_event = on_event
    consortium.start()
    assert stopped.wait(PATIENCE_SECONDS)
    assert waited.wait(PATIENCE_SECONDS)
    wake(east)
    consortium.finish()
    last = aggregator.wait_for("finished")["requests"]  # which needs nobody
    replies = [(number, silo) for number, silo, _ in journal_replies(consortium) if number < last]
    assert replies == [(number, silo) for number in range(1, last) for silo in sorted(NAMES)]
    assert all(line["number"] == last for line in audit_lines(consortium, "aggregator", "goes_on_without"))


TRAINING = 0
"""Before the messages of a sum, which are counted from 1."""


@dataclass(frozen=True)
class Plot:
    """Who stops when, while two of three silos are enough."""

    kind: str
    silent: tuple[tuple[str, int], ...]
    """By round: who stops, and at which of its messages."""
    upload: int
    """The message whose answer is the upload: a silo that stops later is in the sum."""
    patience_seconds: float
    aggregator_dies: bool
    """Whenever it has just gone on without a silo; it is started again."""


PLOTS = (
    Plot(
        kind="ckks",
        silent=(("north", TRAINING), ("east", 1), ("south", 2), ("north", 3), ("east", 4), ("south", 5)),
        upload=3,
        patience_seconds=5,
        aggregator_dies=False,
    ),
    Plot(
        kind="ckks_joint_key",
        silent=(("north", TRAINING), ("east", 1), ("south", 2), ("north", 4), ("east", 5)),
        upload=4,
        patience_seconds=5,
        aggregator_dies=False,
    ),
    Plot(
        kind="secagg",
        silent=(("north", TRAINING), ("east", 1), ("south", 2), ("north", 3), ("east", 4), ("south", 5)),
        upload=3,
        patience_seconds=2.5,
        aggregator_dies=True,
    ),
)
"""SecAgg and CKKS: advertise, share, upload, confirm, reveal; CKKS with a joint key: commit to a key, reveal it, commit to
a ciphertext, upload, open."""


class Stopping:
    """A silo that stops, once in the rounds where it is its turn, and wakes when the run has gone on without it."""

    def __init__(self, consortium: Consortium, name: str, plot: Plot, truth: Truth) -> None:
        self._name, self._plot, self._truth, self._party = name, plot, truth, consortium.silos[name]
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
        if begins and (self._name, len(self._sums)) == self._plot.silent[turn] and turn not in self._stopped:
            self._stopped.add(turn)
            stop(self._party)


@pytest.mark.parametrize(
    "plot", [pytest.param(plot, marks=[pytest.mark.slow] * (plot.kind != "secagg"), id=plot.kind) for plot in PLOTS]
)
def test_silos_that_stop_at_any_message_of_a_sum_that_hides_are_left_out_or_recovered(
    consortium_of: ConsortiumOf, plot: Plot
) -> None:
    """Whoever has uploaded is in the sum: the others recover its share of the key, or the seed of its mask."""
    scheme = {"kind": plot.kind, "threshold": 2}
    schedule = {**SHORT, "local_steps": 10, "tuning_rounds": len(plot.silent) - 1, "tuning_sum": scheme}
    consortium = consortium_of(silos=TWO_OF_THREE, secure_sum=scheme, schedule=schedule)
    patient_for(consortium, plot.patience_seconds)
    truth = Truth(consortium)
    for name in NAMES:
        Stopping(consortium, name, plot, truth)

    aggregator, without = consortium.aggregator, dict[int, list[str]]()

    def on_event(event: Event) -> None:
        if event["event"] == "goes_on_without" and event["number"] not in without:
            without[event["number"]] = event["silos"]
            if plot.aggregator_dies:
                aggregator.restart()
            for silo in event["silos"]:
                wake(consortium.silos[silo])

    aggregator.paced, aggregator.on_event = True, on_event
    consortium.start()
    aggregator.wait_for("finished")
    consortium.finish()
    assert list(without.values()) == [[name] for name, _ in plot.silent]
    logged = {line["number"]: line["silos"] for line in audit_lines(consortium, "aggregator", "goes_on_without")}
    assert logged == without
    silent = [
        note.split(" stayed")[0] for note in notes(consortium) if " stayed" in note
    ]  # another warns of a baseline
    assert silent == [name for name, _ in plot.silent]
    for turn, (name, message) in enumerate(plot.silent):
        contributors = set(NAMES) - (set() if message > plot.upload else {name})
        model = consortium.model(f"models/round_{turn}.safetensors" if turn else "models/phase_1.safetensors")
        mean = truth.mean(turn, contributors)
        bound = truth.error_bound(mean, contributors)
        assert np.abs(model - mean).max() <= bound
        others = [truth.mean(turn, set(truth.models[turn]) - {one}) for one in contributors]
        assert min(np.abs(model - other).max() for other in others) > 10 * bound, "nobody else's mean is as near"
    counted = {(number, silo) for number, silo, _ in journal_replies(consortium)}
    assert not any((number, silo) in counted for number, (silo,) in without.items())
    for name in NAMES:
        late, turns = audit_lines(consortium, name, "not_needed"), [silent for silent, _ in plot.silent].count(name)
        # What it brings when it wakes is over; it may bring nothing to an aggregator that has died meanwhile.
        assert len(late) <= turns if plot.aggregator_dies else len(late) == turns
