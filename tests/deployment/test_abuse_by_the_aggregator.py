"""A lying aggregator with the right certificate: the silo, a real process, refuses, stays up, and trains nothing."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from siloseal.federation.errors import (
    CommitmentBroken,
    MessageError,
    SessionMismatch,
    SignatureInvalid,
    SiloSealError,
    WrongContributors,
    WrongRound,
)
from siloseal.federation.job.agreement import Agreement
from siloseal.federation.job.beacon import commit
from siloseal.federation.job.job import Job
from siloseal.federation.records.identity import Identity
from siloseal.federation.records.roster import read_roster
from siloseal.federation.transport.chunks import to_chunks
from siloseal.federation.transport.wire import consortium_pb2, sums_pb2
from siloseal.federation.transport.wire import messages_pb2 as pb
from siloseal.federation.transport.wire.codec import to_array
from siloseal.federation.transport.wire.error_codes import error_of
from siloseal.models.building import initial_model

from .conftest import NAMES, ONE_STEP, Consortium
from .liar import RUN, Liar
from .parties import Event, Party

IMAGES, CLASSES = (1, 8, 8), 10
NONCE = b"n" * 32
"""Nonce of every silo but north, which draws its own."""
HIDDEN = "the reason is in the silo's own refusals.log"
EARLY = "a job begins, once, when this silo has seen that everyone agreed to it, and works when it has everyone's nonce"


@pytest.fixture
def consortium(consortium_of: Callable[..., Consortium]) -> Consortium:
    consortium = consortium_of(schedule=ONE_STEP)
    consortium.edit("north", limits={"message_mib": 1})
    return consortium


@pytest.fixture
def liar(consortium: Consortium) -> Iterator[Liar]:
    with Liar(consortium) as liar:
        yield liar


@pytest.fixture
def north(consortium: Consortium, liar: Liar) -> Iterator[Party]:
    silo = consortium.silos["north"]
    silo.impatient = True
    silo.start()
    yield silo
    assert silo.alive
    assert not list(consortium.state("north").rglob("checkpoint.safetensors")), "it has worked"
    assert not silo.said("training")


@dataclass
class Run:
    """What everyone says in the liar's run before any work: north itself, and the others with their real keys."""

    consortium: Consortium
    north: bytes = b""
    """The commitment that it enrolled with."""

    @property
    def agreement(self) -> Agreement:
        roster = read_roster(self.consortium.kits / "north" / "roster.yaml").keys
        return Agreement(RUN, self.consortium.job.digest, roster)

    def enrol(self, liar: Liar) -> None:
        reply = liar.ask(1, enrol=pb.Enrol())
        assert reply.WhichOneof("body") == "enrolled"
        self.north = reply.enrolled.commitment

    def everyone(self, *names: str, east: bytes = NONCE, **forgers: Identity) -> pb.Begin:
        """What these silos really sign, and what others sign in the name of the rest."""
        committed = {name: commit(self.agreement, name, NONCE) for name in NAMES}
        committed |= {"north": self.north, "east": commit(self.agreement, "east", east)}
        mine = {name: Identity.read(name, self.consortium.kits / name / "identity.key") for name in names}
        signed = {name: self.agreement.sign(me, committed[name]) for name, me in {**mine, **forgers}.items()}
        return pb.Begin(agreements=pieces(signed), commitments=pieces(committed))

    def enter(self, liar: Liar) -> None:
        """All that comes before the first work."""
        self.enrol(liar)
        begun = liar.ask(2, begin=self.everyone(*NAMES)).begun
        nonces = dict.fromkeys(NAMES, NONCE) | {"north": begun.nonce}
        assert liar.ask(3, nonces=pb.Nonces(nonces=pieces(nonces))).WhichOneof("body") == "ready"


@pytest.fixture
def run(consortium: Consortium) -> Run:
    return Run(consortium)


def pieces(said: dict[str, bytes]) -> list[sums_pb2.Piece]:
    return [sums_pb2.Piece(silo=silo, data=data) for silo, data in said.items()]


def train(job: Job) -> pb.Train:
    return pb.Train(phase="phase_1", model=to_array(initial_model(job, IMAGES, CLASSES)))


def refusal(reply: pb.Reply) -> tuple[type[SiloSealError], str]:
    assert reply.WhichOneof("body") == "refusal", reply
    return error_of(reply.refusal.code), reply.refusal.message


def test_work_before_everyone_agreed_is_refused_however_it_is_asked_for(
    consortium: Consortium, liar: Liar, north: Party, run: Run
) -> None:
    job = consortium.job
    error, words = refusal(liar.ask(1, train=train(job)))
    assert (error, "memory" in words) == (WrongRound, True)
    run.enrol(liar)
    for work in ({"train": train(job)}, {"kernel_mean": pb.KernelMean()}, {"finish": pb.Finish()}, {"sum": pb.Sum()}):
        assert refusal(liar.ask(2, **work)) == (WrongRound, EARLY)
    lacking = run.everyone("north", "east")
    assert refusal(liar.ask(2, begin=lacking)) == (WrongContributors, f"WrongContributors; {HIDDEN}")
    forged = run.everyone("north", "east", south=Identity.create("south"))
    assert refusal(liar.ask(2, begin=forged)) == (SignatureInvalid, f"SignatureInvalid; {HIDDEN}")
    assert refusal(liar.ask(2, train=train(job))) == (WrongRound, EARLY)
    assert liar.ask(2, begin=run.everyone(*NAMES)).WhichOneof("body") == "begun"


def test_a_silo_reveals_and_hears_no_nonces_but_those_that_everyone_is_bound_to_even_after_a_restart(
    consortium: Consortium, liar: Liar, north: Party, run: Run
) -> None:
    """East works for the aggregator and signs what it likes; north's own commitment was signed by nobody else."""
    run.enrol(liar)
    everyone = run.everyone(*NAMES)
    swapped = pb.Begin(agreements=everyone.agreements, commitments=run.everyone(*NAMES, east=bytes(32)).commitments)
    assert refusal(liar.ask(2, begin=swapped))[0] is SignatureInvalid
    left_out = pb.Begin(agreements=everyone.agreements, commitments=everyone.commitments[:2])
    assert refusal(liar.ask(2, begin=left_out))[0] is WrongContributors
    nonce = liar.ask(2, begin=everyone).begun.nonce
    assert commit(run.agreement, "north", nonce) == run.north
    north.restart()
    liar.wait_for_attendance(2)
    assert liar.ask(2, begin=everyone).begun.nonce == nonce
    assert refusal(liar.ask(2, begin=run.everyone(*NAMES, east=bytes(32))))[0] is WrongRound
    nonces = {"north": nonce, "east": NONCE, "south": NONCE}
    for lie in ({"east": bytes(32)}, {"south": bytes(32)}, {"north": bytes(32)}):
        revealed = pb.Nonces(nonces=pieces(nonces | lie))
        assert refusal(liar.ask(3, nonces=revealed)) == (CommitmentBroken, f"CommitmentBroken; {HIDDEN}")
    lacking = {silo: data for silo, data in nonces.items() if silo != "south"}
    assert refusal(liar.ask(3, nonces=pb.Nonces(nonces=pieces(lacking))))[0] is WrongContributors
    for number in (3, 4):
        for work in ({"train": train(consortium.job)}, {"sum": pb.Sum()}):
            assert refusal(liar.ask(number, **work)) == (WrongRound, EARLY)
    assert liar.ask(3, nonces=pb.Nonces(nonces=pieces(nonces))).WhichOneof("body") == "ready"


def test_no_numbers_and_no_earlier_run_lead_past_the_agreement_of_all(
    consortium: Consortium, liar: Liar, north: Party, run: Run
) -> None:
    job = consortium.job
    assert refusal(liar.ask(5, enrol=pb.Enrol()))[0] is WrongRound
    earlier = bytes(32)
    error, words = refusal(liar.ask(1, run_id=earlier, enrol=pb.Enrol()))
    assert (error, "run" in words) == (SessionMismatch, True)
    run.enrol(liar)
    assert refusal(liar.ask(2, enrol=pb.Enrol()))[0] is WrongRound
    for number in (2, 3, 9):
        assert refusal(liar.ask(number, train=train(job)))[0] is WrongRound
    assert refusal(liar.ask(3, begin=run.everyone(*NAMES)))[0] is WrongRound
    assert liar.ask(2, begin=run.everyone(*NAMES)).WhichOneof("body") == "begun"


def test_another_job_under_the_same_run_is_refused_at_once_and_after_a_restart(
    consortium: Consortium, liar: Liar, north: Party, run: Run
) -> None:
    run.enrol(liar)
    other = consortium.job.model_copy(update={"seed": consortium.job.seed + 1})
    error, words = refusal(liar.ask(2, job=other, begin=run.everyone(*NAMES)))
    assert (error, "job" in words) == (SessionMismatch, True)
    error, words = refusal(liar.ask(2, run_id=bytes(32), begin=pb.Begin()))
    assert (error, "run" in words) == (SessionMismatch, True)
    liar.offer.job = other.model_dump_json()
    north.restart()
    liar.wait_for_attendance(2)
    assert north.wait_for("refuses")["words"].startswith("SessionMismatch: ")
    assert refusal(liar.ask(2, job=other, enrol=pb.Enrol()))[0] is SessionMismatch


def test_messages_that_cannot_be_right_are_refused_one_after_the_other(
    consortium: Consortium, liar: Liar, north: Party
) -> None:
    (damaged,) = to_chunks(b"a request")
    damaged.data = b"a reqvest"
    too_large = consortium_pb2.Chunk(size=2**20 + 1, data=b"x", digest=bytes(32))
    lies: list[tuple[list[consortium_pb2.Chunk], str]] = [
        ([damaged], "MessageError: a chunk was damaged on its way"),
        ([too_large], "MessageTooLarge: a message of 1048577 bytes was announced, at most 1048576 are read"),
        ([consortium_pb2.Chunk(size=1, data=bytes(2**21))], "RESOURCE_EXHAUSTED"),
    ]
    for number, (chunks, words) in enumerate(lies, start=1):
        liar.wait_for_attendance(number)
        liar.say_chunks(chunks)
        assert words in north.wait_for("waiting", count=number)["reason"]
    liar.wait_for_attendance(len(lies) + 1)
    error, words = refusal(liar.bring(b"\xff" * 9))
    assert (error, words.startswith("9 bytes")) == (MessageError, True)
    assert refusal(liar.ask(1)) == (
        MessageError, "the request holds nothing this version knows; update the silo",
    )  # fmt: skip
    assert liar.ask(1, enrol=pb.Enrol()).WhichOneof("body") == "enrolled"


def test_a_silo_at_work_calls_so_that_an_aggregator_that_knows_nothing_of_it_sees_it(
    consortium: Consortium, liar: Liar, run: Run
) -> None:
    north, heard = consortium.silos["north"], list[str]()

    def on_event(event: Event) -> None:
        if event["event"] == "training":  # it waits in there until this returns
            liar.wait_for_more_offers(3)
            heard.append(event["phase"])

    north.paced, north.talkative, north.on_event = True, True, on_event
    north.start()
    run.enter(liar)
    assert liar.ask(4, train=train(consortium.job)).WhichOneof("body") == "prepared"
    assert heard == ["phase_1"]


def test_an_offer_that_cannot_be_right_is_waited_out_and_a_wrong_clock_is_named(
    consortium: Consortium, liar: Liar
) -> None:
    liar.offer.run_id = b"short"
    liar.offer.time -= 3600
    north = consortium.silos["north"]
    north.impatient = True
    assert " 5 bytes" in north.start().wait_for("waiting")["reason"]
    assert " 60 minutes ahead " in north.wait_for("clocks_differ")["words"]
    liar.offer.run_id = RUN
    north.wait_for("takes_part", run=RUN.hex())
