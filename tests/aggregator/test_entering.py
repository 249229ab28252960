"""How a run is entered: what silos say that does not fit ends it, or is not accepted, before anybody works."""

import hashlib
import sqlite3
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from siloseal.aggregator.coordinator import Coordinator
from siloseal.aggregator.journal import Journal
from siloseal.aggregator.training import AggregatorTraining
from siloseal.federation.errors import CommitmentBroken, MessageError, RunError, SiloRefused
from siloseal.federation.job.agreement import Agreement
from siloseal.federation.job.beacon import commit
from siloseal.federation.job.job import Job
from siloseal.federation.records.identity import Identity
from siloseal.federation.run_events.stream import unheard
from siloseal.federation.transport.wire import messages_pb2 as pb
from siloseal.federation.transport.wire import sums_pb2

from .answering import Answering, reply_to


class Entering:
    """Silos that enrol, begin and hear the nonces, of which east may lie. They answer nothing else."""

    def __init__(self, job: Job, **lies: bytes) -> None:
        self.job, self.lies, self.asked = job, lies, list[str | None]()
        self.silos = {name: Identity.create(name) for name in job.silos.names}
        self.keys = {name: silo.public for name, silo in self.silos.items()}
        self.nonces: list[sums_pb2.Piece] = []

    def answer(self, silo: str, request: pb.Request) -> bytes:
        self.asked.append(request.WhichOneof("body"))
        lies = self.lies if silo == "east" else {}
        agreement, nonce = Agreement(request.run_id, self.job.digest, self.keys), hashlib.sha256(silo.encode()).digest()
        commitment = commit(agreement, silo, nonce)
        match self.asked[-1]:
            case "enrol":
                fields = {"identity": self.keys[silo], "commitment": commitment} | lies
                fields.pop("nonce", None)
                signed = agreement.sign(self.silos[silo], commitment)
                enrolled = pb.Enrolled(shape=[1, 8, 8], classes=10, agreement=signed, **fields)
                return reply_to(request, silo, enrolled=enrolled)
            case "begin":
                return reply_to(request, silo, begun=pb.Begun(nonce=lies.get("nonce", nonce)))
            case "nonces":
                self.nonces = list(request.nonces.nonces)
                return reply_to(request, silo, ready=pb.Ready())
        return reply_to(request, silo, refusal=pb.Refusal(message="that is as far as it goes"))


def entered(silos: Entering, folder: Path) -> None:
    journal = Journal(folder / "journal.sqlite", silos.job.digest)
    try:
        training = AggregatorTraining(silos.job, lambda *_: np.zeros(0), unheard)
        Coordinator(silos.job, training, Answering(silos.answer), journal, unheard).run()
    finally:
        journal.close()


@pytest.mark.parametrize("lie", [{"identity": Identity.create("east").public}, {"commitment": bytes(32)}], ids=list)
def test_enrolments_that_do_not_fit_together_end_a_run_before_anybody_works(
    small_job: Callable[..., Job], tmp_path: Path, lie: dict[str, bytes]
) -> None:
    """East says another key than the one that it signs with, or another commitment than the one that it signed."""
    silos = Entering(small_job(), **lie)
    with pytest.raises(RunError, match="roster"):
        entered(silos, tmp_path)
    assert set(silos.asked) == {"enrol"}


@pytest.mark.parametrize("size", [0, 31, 33])
def test_a_commitment_of_another_size_is_not_accepted(small_job: Callable[..., Job], tmp_path: Path, size: int) -> None:
    with pytest.raises(MessageError, match=rf"^east .* {size} bytes, .* 32$"):
        entered(Entering(small_job(), commitment=bytes(size)), tmp_path)


def test_a_nonce_that_its_silo_had_not_committed_to_is_not_accepted_and_reaches_nobody(
    small_job: Callable[..., Job], tmp_path: Path
) -> None:
    silos = Entering(small_job(), nonce=bytes(32))
    with pytest.raises(CommitmentBroken, match="east"):
        entered(silos, tmp_path)
    assert "nonces" not in silos.asked
    with sqlite3.connect(tmp_path / "journal.sqlite") as journal:
        rows = journal.execute("SELECT silo FROM replies WHERE number = 2").fetchall()
    journal.close()
    assert ("north",) in rows
    assert ("east",) not in rows, "it may still send the right one"


def test_everyone_hears_everyones_nonce_before_any_work_and_the_same_ones_after_a_crash(
    small_job: Callable[..., Job], tmp_path: Path
) -> None:
    silos = Entering(small_job())
    for asked in (["enrol", "begin", "nonces", "train"], ["train"]):
        with pytest.raises(SiloRefused, match=r"north.*\neast.*\nsouth"):
            entered(silos, tmp_path)
        assert list(dict.fromkeys(silos.asked)) == asked
        assert {piece.silo: piece.data for piece in silos.nonces} == {
            name: hashlib.sha256(name.encode()).digest() for name in silos.silos
        }
        silos.asked.clear()
