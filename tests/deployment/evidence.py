"""What a run leaves on the disks of its parties, read for a test."""

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from federation.wire import messages_pb2 as pb
from federation.wire.codec import decode
from silo.state import SiloState

from .conftest import Consortium
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


def kept_seed(consortium: Consortium, silo: str) -> bytes:
    """The seed of the silo's key in the sum under way; empty if it keeps none."""
    side = SiloState(consortium.run_folder(silo)).load_reply().side
    return decode(pb.CkksSiloState, side).seed if len(side) > len(b"answered") else b""


def state_files(consortium: Consortium) -> Iterator[Path]:
    """Files and folders of all parties' states."""
    for party in ("aggregator", *consortium.silos):
        yield consortium.state(party)
        yield from consortium.state(party).rglob("*")
