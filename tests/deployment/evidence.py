"""What a run leaves on the disks of its parties, read for a test."""

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from siloseal.federation.job.phases import Phase
from siloseal.federation.job.releases import Lengths, release_of
from siloseal.federation.randomness import SeededRandomness
from siloseal.federation.transport.wire import masked_pb2 as pb
from siloseal.federation.transport.wire.codec import decode
from siloseal.models.building import build_learner
from siloseal.models.checkpoints import part_of
from siloseal.silo.state import SiloState

from .conftest import EXAMPLES, Consortium
from .parties import Event


def audit_lines(consortium: Consortium, party: str, event: str) -> list[Event]:
    """The lines of this kind in a party's audit log."""
    lines = (consortium.state(party) / "audit.jsonl").read_text().splitlines()
    return [line for line in map(json.loads, lines) if line["event"] == event]


def digests(lines: list[Event], *keys: str) -> dict[tuple[Any, ...], set[str]]:
    """The digests of the replies in audit lines that agree in these fields."""
    found = defaultdict[tuple[Any, ...], set[str]](set)
    for line in lines:
        found[tuple(line[key] for key in keys)].add(line["reply"])
    return found


def journal_replies(consortium: Consortium) -> list[tuple[int, str, bytes]]:
    """Number, silo and bytes of every reply that counts, in order."""
    database = sqlite3.connect(f"file:{consortium.state('aggregator') / 'journal.sqlite'}?mode=ro", uri=True)
    try:
        return database.execute("SELECT number, silo, reply FROM replies ORDER BY number, silo").fetchall()
    finally:
        database.close()


def ledger_path(consortium: Consortium, silo: str) -> Path:
    return consortium.run_folder(silo) / "ledger.jsonl"


def charged_steps(ledger: bytes, phase: str) -> int:
    """How many training steps of a phase the lines of a ledger pay for."""
    lines = [json.loads(line) for line in ledger.splitlines()]
    return sum(line["steps"] for line in lines if line.get("phase") == phase and "steps" in line)


def kept_keys(consortium: Consortium, silo: str) -> set[bytes]:
    """The keys and seeds that the silo has drawn for the sum under way, as far as it keeps them."""
    side = SiloState(consortium.run_folder(silo)).load_reply().side
    if len(side) <= len(b"answered"):  # of a plain sum, or of one that is over
        return set()
    memory = decode(pb.MaskedSiloState, side)
    return {memory.seed, memory.channel_key, memory.mask_key} - {b""}


def state_files(consortium: Consortium) -> Iterator[Path]:
    """Files and folders of all parties' states."""
    for party in ("aggregator", *consortium.silos):
        yield consortium.state(party)
        yield from consortium.state(party).rglob("*")


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
        """A bound of the mean's error: each contribution, and each weight in it, is rounded to the scheme's grid."""
        job = self._consortium.job
        release = release_of(job, Lengths(0, mean.size), Phase.PHASE_1, 0)
        grid = release.scheme.grid(release.domain)
        share = sum(EXAMPLES[silo] for silo in silos) / job.largest_silo
        return float(len(silos) * grid / 2 * (1 + np.abs(mean).max()) / share) + 1e-6  # and single precision
