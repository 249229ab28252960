"""A lying aggregator with the right certificate: the silo, a real process, refuses, stays up, and trains nothing."""

from collections.abc import Callable, Iterator

import pytest

from federation.agreement import Agreement
from federation.config.job import Job
from federation.identity import Identity
from federation.roster import read_roster
from federation.transport.chunks import to_chunks
from federation.wire import messages_pb2 as pb
from federation.wire.codec import to_array
from models.building import initial_model

from .client import ONE_STEP
from .conftest import NAMES, Consortium
from .liar import RUN, Liar
from .parties import Event, Party

IMAGES, CLASSES = (1, 8, 8), 10


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


def signed(consortium: Consortium, *names: str, **others: Identity) -> list[pb.Piece]:
    """What these silos really sign, and what others sign in the name of the rest."""
    agreement = Agreement(RUN, consortium.job.digest, read_roster(consortium.kits / "north" / "roster.yaml").keys)
    mine = {name: Identity.read(name, consortium.kits / name / "identity.key") for name in names}
    return [pb.Piece(silo=name, data=agreement.sign(me)) for name, me in {**mine, **others}.items()]


def train(job: Job) -> pb.Train:
    return pb.Train(phase="phase_1", model=to_array(initial_model(job, IMAGES, CLASSES)))


def refusal(reply: pb.Reply) -> tuple[str, str]:
    assert reply.WhichOneof("body") == "refusal", reply
    return reply.refusal.error, reply.refusal.message


def test_work_before_everyone_agreed_is_refused_however_it_is_asked_for(
    consortium: Consortium, liar: Liar, north: Party
) -> None:
    job, hidden = consortium.job, "the reason is in the silo's own refusals.log"
    error, words = refusal(liar.ask(1, train=train(job)))
    assert (error, "has no memory of this run" in words) == ("WrongRound", True)
    assert liar.ask(1, enrol=pb.Enrol()).WhichOneof("body") == "enrolled"
    for work in ({"train": train(job)}, {"sketch": pb.Sketch()}, {"finish": pb.Finish()}, {"sum": pb.Sum()}):
        error, words = refusal(liar.ask(2, **work))
        assert (error, words) == (
            "WrongRound",
            "a job begins, once, when this silo has seen that everyone agreed to it",
        )
    lacking = signed(consortium, "north", "east")
    assert refusal(liar.ask(2, begin=pb.Begin(agreements=lacking))) == (
        "WrongContributors", f"WrongContributors; {hidden}",
    )  # fmt: skip
    forged = signed(consortium, "north", "east", south=Identity.create("south"))
    assert refusal(liar.ask(2, begin=pb.Begin(agreements=forged))) == (
        "SignatureInvalid",
        f"SignatureInvalid; {hidden}",
    )
    error, _ = refusal(liar.ask(2, train=train(job)))
    assert error == "WrongRound"
    assert liar.ask(2, begin=pb.Begin(agreements=signed(consortium, *NAMES))).WhichOneof("body") == "begun"


def test_no_numbers_and_no_earlier_run_lead_past_the_agreement_of_all(
    consortium: Consortium, liar: Liar, north: Party
) -> None:
    job, agreements = consortium.job, signed(consortium, *NAMES)
    assert refusal(liar.ask(5, enrol=pb.Enrol()))[0] == "WrongRound"
    earlier = bytes(32)
    error, words = refusal(liar.ask(1, run_id=earlier, enrol=pb.Enrol()))
    assert (error, words) == ("SessionMismatch", "the request belongs to another run than the offer")
    assert liar.ask(1, enrol=pb.Enrol()).WhichOneof("body") == "enrolled"
    assert refusal(liar.ask(2, enrol=pb.Enrol()))[0] == "WrongRound"
    for number in (2, 3, 9):
        assert refusal(liar.ask(number, train=train(job)))[0] == "WrongRound"
    assert refusal(liar.ask(3, begin=pb.Begin(agreements=agreements)))[0] == "WrongRound"
    assert liar.ask(2, begin=pb.Begin(agreements=agreements)).WhichOneof("body") == "begun"


def test_another_job_under_the_same_run_is_refused_at_once_and_after_a_restart(
    consortium: Consortium, liar: Liar, north: Party
) -> None:
    assert liar.ask(1, enrol=pb.Enrol()).WhichOneof("body") == "enrolled"
    other = consortium.job.model_copy(update={"seed": consortium.job.seed + 1})
    error, words = refusal(liar.ask(2, job=other, begin=pb.Begin(agreements=signed(consortium, *NAMES))))
    assert (error, words) == ("SessionMismatch", "the request belongs to another job than the one this silo agreed to")
    error, words = refusal(liar.ask(2, run_id=bytes(32), begin=pb.Begin()))
    assert (error, words) == ("SessionMismatch", "the request belongs to another run than the offer")
    liar.offer.job = other.model_dump_json()
    north.restart()
    liar.wait_for_attendance(2)
    assert (
        "the aggregator offers another job than the one that this silo agreed to" in north.wait_for("refuses")["words"]
    )
    assert refusal(liar.ask(2, job=other, enrol=pb.Enrol()))[0] == "SessionMismatch"


def test_messages_that_cannot_be_right_are_refused_one_after_the_other(
    consortium: Consortium, liar: Liar, north: Party
) -> None:
    (damaged,) = to_chunks(b"a request")
    damaged.data = b"a reqvest"
    too_large = pb.Chunk(size=2**20 + 1, data=b"x", digest=bytes(32))
    lies: list[tuple[list[pb.Chunk], str]] = [
        ([damaged], "MessageError: a chunk was damaged on its way"),
        ([too_large], "MessageError: a message of 1048577 bytes was announced, at most 1048576 are read"),
        (list(to_chunks(b"\xff" * 9)), "MessageError: 9 bytes do not decode as a Request"),
        ([pb.Chunk(size=1, data=bytes(2**21))], "RESOURCE_EXHAUSTED"),
    ]
    for number, (chunks, words) in enumerate(lies, start=1):
        liar.wait_for_attendance(number)
        liar.say_chunks(chunks)
        assert words in north.wait_for("waiting", count=number)["reason"]
    liar.wait_for_attendance(len(lies) + 1)
    assert refusal(liar.ask(1)) == (
        "MessageError", "the request holds nothing this version knows; update the silo",
    )  # fmt: skip
    assert liar.ask(1, enrol=pb.Enrol()).WhichOneof("body") == "enrolled"


def test_a_silo_at_work_calls_so_that_an_aggregator_that_knows_nothing_of_it_sees_it(
    consortium: Consortium, liar: Liar
) -> None:
    north, heard = consortium.silos["north"], list[str]()

    def on_event(event: Event) -> None:
        if event["event"] == "training":  # it waits in there until this returns
            liar.wait_for_more_offers(3)
            heard.append(event["phase"])

    north.paced, north.talkative, north.on_event = True, True, on_event
    north.start()
    assert liar.ask(1, enrol=pb.Enrol()).WhichOneof("body") == "enrolled"
    assert liar.ask(2, begin=pb.Begin(agreements=signed(consortium, *NAMES))).WhichOneof("body") == "begun"
    assert liar.ask(3, train=train(consortium.job)).WhichOneof("body") == "prepared"
    assert heard == ["phase_1"]


def test_an_offer_that_cannot_be_right_is_waited_out_and_a_wrong_clock_is_named(
    consortium: Consortium, liar: Liar
) -> None:
    liar.offer.run_id = b"short"
    liar.offer.time -= 3600
    north = consortium.silos["north"]
    north.impatient = True
    assert "a run's number has 5 bytes" in north.start().wait_for("waiting")["reason"]
    assert "this machine's clock is 60 minutes ahead of the aggregator's" in north.wait_for("clocks_differ")["words"]
    liar.offer.run_id = RUN
    north.wait_for("takes_part", run=RUN.hex())
