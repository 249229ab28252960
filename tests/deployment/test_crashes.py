"""kill -9 at every step of a run, and the same command again: the same model, nothing counted twice, nothing leaked."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import pytest

from siloseal.federation.records.audit import verify_audit

from .conftest import KERNEL_MEAN, NAMES, SHORT, Consortium
from .evidence import audit_lines, charged_steps, digests, journal_replies, kept_keys, ledger_path, state_files
from .file_events import at_the_next_write
from .parties import Event, Party

ConsortiumOf = Callable[..., Consortium]
Moment = Callable[[Event], str]
JOBS: dict[str, dict[str, Any]] = {
    "plain": {},
    "ckks": {"warm_start": KERNEL_MEAN, "secure_sum": {"kind": "ckks"}},
    "secagg": {"warm_start": KERNEL_MEAN, "secure_sum": {"kind": "secagg"}},
    "additive": {"warm_start": KERNEL_MEAN, "secure_sum": {"kind": "additive"}},
}
KEYS = {"plain": 0, "ckks": 2 * 3, "secagg": 2 * 3, "additive": 2 * 1}
"""How many keys and seeds a silo draws in the two sums that hide."""


@dataclass
class Disturbed:
    """A run that was killed again and again, and is over."""

    consortium: Consortium
    kind: str
    requests: int
    model: np.ndarray
    """Model of the undisturbed run."""
    killed_at: list[str] = field(default_factory=list)
    ledgers: list[tuple[str, bytes]] = field(default_factory=list)
    """Name and ledger of the killed silo, as it was at each kill."""
    keys: dict[str, set[bytes]] = field(default_factory=lambda: {name: set() for name in NAMES})
    """Keys of each silo, as they were found on its disk during the sums."""

    def kill_once_at(self, name: str, party: Party, moment: Moment) -> None:
        """At each moment that has a name: kill the party just there, and start it with the same command."""

        def on_event(event: Event) -> None:
            if name in NAMES and event["event"] == "answers":
                self.keys[name] |= kept_keys(self.consortium, name)
            if (at := moment(event)) and f"{name} {at}" not in self.killed_at:
                self.killed_at.append(f"{name} {at}")
                party.kill()
                if name in NAMES:
                    self.ledgers.append((name, ledger_path(self.consortium, name).read_bytes()))
                party.start()

        party.paced, party.on_event = True, on_event

    def run(self) -> "Disturbed":
        for silo in self.consortium.silos.values():
            silo.impatient = True
        self.consortium.start()
        self.consortium.aggregator.wait_for("finished")
        for silo in self.consortium.silos.values():
            silo.wait_for("leaves")
        self.consortium.finish()
        return self


@pytest.fixture(scope="module")
def undisturbed(lasting_consortium_of: ConsortiumOf) -> Callable[[str], tuple[np.ndarray, int]]:
    """The model of the same job when nobody is killed, and how many requests it takes."""

    @cache
    def run(kind: str) -> tuple[np.ndarray, int]:
        consortium = lasting_consortium_of(**JOBS[kind]).start()
        return consortium.finish(), consortium.aggregator.wait_for("finished")["requests"]

    return run


def aggregators_moment(run: Disturbed, *, every: bool) -> Moment:
    """When it asks, when it has accepted one, two or all of the replies, when it has a model."""
    said = run.consortium.aggregator.said

    def moment(event: Event) -> str:
        match event:
            case {"event": "asks", "number": int(number)} if every or number % 2:
                return f"asks {number}"
            case {"event": "accepts", "number": int(number)} if every or number == run.requests or not number % 2:
                return f"accepts {number}" if len(said("accepts", number=number)) == 1 + number % 3 else ""
            case {"event": "model", "stage": str(stage)}:
                return f"model {stage}"
        return ""

    return moment


def silos_moment(run: Disturbed, index: int, *, every: bool) -> Moment:
    """At each request one silo when it is asked, one when its reply is on its disk and has not left, one after that."""

    def moment(event: Event) -> str:
        number = event.get("number", 0)
        turn = (index + number) % 3
        if (event["event"] == "asked" and turn == 0) or (event["event"] == "answers" and turn == 1):
            return f"{event['event']} {number}"
        after = event["event"] == "delivered" and turn == 2
        return f"delivered {number}" if after and (every or number == run.requests) else ""

    return moment


CASES = [
    pytest.param(("plain", "aggregator", True), id="plain-aggregator"),
    pytest.param(("plain", "silos", True), id="plain-silos"),
    pytest.param(("ckks", "aggregator", False), id="ckks-aggregator"),
    pytest.param(("ckks", "silos", False), id="ckks-silos"),
    pytest.param(("secagg", "aggregator", False), id="secagg-aggregator"),
    pytest.param(("secagg", "silos", False), id="secagg-silos"),
    *(
        pytest.param((kind, who, True), id=f"{kind}-{who}-all", marks=pytest.mark.slow)
        for kind in ("ckks", "secagg", "additive")
        for who in ("aggregator", "silos")
    ),
]


@pytest.fixture(scope="module", params=CASES)
def disturbed(
    request: pytest.FixtureRequest,
    lasting_consortium_of: ConsortiumOf,
    undisturbed: Callable[[str], tuple[np.ndarray, int]],
) -> Disturbed:
    kind, who, every = request.param
    model, requests = undisturbed(kind)
    run = Disturbed(lasting_consortium_of(**JOBS[kind]), kind, requests, model)
    if who == "aggregator":
        run.kill_once_at("aggregator", run.consortium.aggregator, aggregators_moment(run, every=every))
    for index, (name, silo) in enumerate(run.consortium.silos.items()):
        run.kill_once_at(name, silo, silos_moment(run, index, every=every) if who == "silos" else lambda _: "")
    run.run()
    per_request = (2 if every else 1) if who == "aggregator" else (3 if every else 2)
    assert len(run.killed_at) >= per_request * requests
    return run


class TestARunThatIsKilledAtEveryStep:
    def test_ends_in_the_same_model_bit_for_bit(self, disturbed: Disturbed) -> None:
        assert np.array_equal(disturbed.consortium.model(), disturbed.model)

    def test_counts_every_reply_once(self, disturbed: Disturbed) -> None:
        replies = journal_replies(disturbed.consortium)
        expected = [(number, silo) for number in range(1, disturbed.requests + 1) for silo in sorted(NAMES)]
        assert [(number, silo) for number, silo, _ in replies] == expected
        # After a kill between the journal's entry and its line, the next process says what it found there.
        lines = [
            line for event in ("accepts", "kept") for line in audit_lines(disturbed.consortium, "aggregator", event)
        ]
        accepted = digests(lines, "number", "silo")
        for number, silo, reply in replies:
            digest = {hashlib.sha256(reply).hexdigest()}
            assert accepted[number, silo] == digest
            answered = digests(audit_lines(disturbed.consortium, silo, "answers"), "number")
            assert answered[(number,)] == digest

    def test_sends_the_same_bytes_whenever_a_request_comes_again(self, disturbed: Disturbed) -> None:
        for silo in NAMES:
            lines = audit_lines(disturbed.consortium, silo, "answers")
            answered = digests(lines, "number", "what", "request")
            assert len(answered) == disturbed.requests
            assert all(len(different) == 1 for different in answered.values())

    def test_charges_a_ledger_at_least_for_what_was_done_and_a_release_once(self, disturbed: Disturbed) -> None:
        for silo in NAMES:
            ledger = ledger_path(disturbed.consortium, silo).read_bytes()
            assert charged_steps(ledger, "phase_1") >= SHORT["local_steps"]
            assert charged_steps(ledger, "phase_2") >= SHORT["tuning_steps"]
            assert ledger.count(b"warm_start") == (0 if disturbed.kind == "plain" else 1)
        for silo, before in disturbed.ledgers:
            assert ledger_path(disturbed.consortium, silo).read_bytes().startswith(before)

    def test_leaves_audit_logs_that_verify(self, disturbed: Disturbed) -> None:
        for party in ("aggregator", *NAMES):
            assert verify_audit(disturbed.consortium.state(party) / "audit.jsonl").lines > disturbed.requests

    def test_leaves_files_that_nobody_else_can_read(self, disturbed: Disturbed) -> None:
        for path in state_files(disturbed.consortium):
            assert path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600), path

    def test_leaves_no_key(self, disturbed: Disturbed) -> None:
        contents = [path.read_bytes() for path in state_files(disturbed.consortium) if path.is_file()]
        for silo, keys in disturbed.keys.items():
            assert len(keys) == KEYS[disturbed.kind], f"{silo} draws each once a sum, however often it is killed"
            assert not any(key in content for key in keys for content in contents)


def test_a_silo_killed_after_its_last_reply_ends_by_itself_although_nobody_is_there_any_more(
    lasting_consortium_of: ConsortiumOf,
) -> None:
    """Started once more after that, it waits for another run."""
    consortium = lasting_consortium_of(schedule={**SHORT, "tuning_rounds": 0})
    north = consortium.silos["north"]
    gone, impatient = [], True

    def on_event(event: Event) -> None:
        if event["event"] == "delivered" and consortium.aggregator.said("asks", what="finish") and not gone:
            gone.append(event)
            north.kill()

    north.paced, north.on_event, north.impatient = True, on_event, impatient
    consortium.start()
    assert consortium.aggregator.wait() == 0
    assert north.wait() < 0
    assert north.start().wait() == 0
    leaves = north.wait_for("leaves")
    assert leaves["delivered"] is False
    assert f"localhost:{consortium.port}" in leaves["words"]
    north.start()
    seen = len(north.said("waiting"))
    north.wait_for("waiting", count=seen + 12)  # longer than a farewell
    assert north.alive


def test_a_silo_killed_between_a_charge_and_its_work_pays_again_and_learns_the_same(
    lasting_consortium_of: ConsortiumOf, undisturbed: Callable[[str], tuple[np.ndarray, int]]
) -> None:
    """The release of the kernel mean is paid for once all the same: what leaves in the end is what was charged."""
    model, requests = undisturbed("ckks")
    run = Disturbed(lasting_consortium_of(**JOBS["ckks"]), "ckks", requests, model)
    watched = list[str]()

    def disturb(name: str, party: Party) -> None:
        waiting = list[str]()  # for a write: one at a time, or two threads would restart the silo at once

        def restart() -> None:
            party.restart()
            waiting.clear()

        def on_event(event: Event) -> None:
            first_sum = event["event"] == "asked" and event["number"] == 5
            in_training = event["event"] == "asked" and event["what"] == "train"
            between_chunks = event["event"] == "training" and event["done"] < event["steps"]
            moment = f"{name} {event['event']} {event.get('number')} {event.get('done')}"
            if (first_sum or in_training or between_chunks) and moment not in watched and not waiting:
                watched.append(moment)
                waiting.append(moment)
                at_the_next_write(ledger_path(run.consortium, name), restart)

        party.paced, party.on_event = True, on_event

    for name, silo in run.consortium.silos.items():
        disturb(name, silo)
    assert np.array_equal(run.run().consortium.model(), model)
    # A kill may come late, when the next chunk is done and kept but not yet told of: then that one is not disturbed.
    asked = [moment for moment in watched if " asked " in moment]
    assert len(asked) == 3 * 3, "the release, and the training of both phases"
    assert len(asked) < len(watched) <= 3 * 5, "and between chunks of phase 1"
    ledgers = [ledger_path(run.consortium, silo).read_bytes() for silo in NAMES]
    assert all(ledger.count(b"warm_start") == 1 for ledger in ledgers)
    charged = [charged_steps(ledger, "phase_1") for ledger in ledgers]
    assert min(charged) >= SHORT["local_steps"]
    assert sum(charged) > 3 * SHORT["local_steps"], "what a kill threw away stays charged"
