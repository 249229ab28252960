"""Wrong replies in the middle of a run. Each is refused; a good one after all of them ends the run as if none had come."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import pytest

from siloseal.aggregator.asking import SMALL_BYTES
from siloseal.federation.errors import (
    DomainError,
    MessageError,
    MessageTooLarge,
    SessionMismatch,
    SiloSealError,
    WrongRound,
)
from siloseal.federation.job.weighting import mean_of
from siloseal.federation.transport.wire import consortium_pb2, sums_pb2
from siloseal.federation.transport.wire import messages_pb2 as pb
from siloseal.federation.transport.wire.codec import decode, from_array, to_array

from .client import Caller, Hand, Pair, refused
from .conftest import NAMES, ONE_STEP, Consortium
from .evidence import audit_lines, journal_replies

FRAMING_BYTES = 256
UNKNOWN_FIELD = b"\x7a"  # field 15, of bytes


@dataclass
class Story:
    """A run in its one sum: east and south have answered, north is being asked."""

    consortium: Consortium
    hands: dict[str, Hand]
    operator: Caller
    request: bytes = b""
    sent: dict[str, list[bytes]] = field(default_factory=lambda: {name: [] for name in NAMES})

    @property
    def north(self) -> Hand:
        return self.hands["north"]

    def refuse(self, reply: pb.Reply | bytes) -> tuple[type[SiloSealError], str]:
        """What north hears, which the audit log has, too, and the status unless north is merely late."""
        data = reply if isinstance(reply, bytes) else reply.SerializeToString()
        error, said = refused(lambda: self.north.deliver(data))
        assert error is WrongRound or self.operator.trouble("north") == f"{error.__name__}: {said}"
        line = audit_lines(self.consortium, "aggregator", "turned_away")[-1]
        assert (line["error"], line["words"]) == (error.__name__, said)
        return error, said


@pytest.fixture(scope="module")
def story(lasting_consortium_of: Callable[..., Consortium]) -> Iterator[Story]:
    consortium = lasting_consortium_of(schedule=ONE_STEP)
    consortium.aggregator.start().wait_for("serves")
    story = Story(
        consortium,
        {name: Hand(consortium, name) for name in NAMES},
        Caller(consortium, Pair.of(consortium.kits / "operator")),
    )
    for _ in ("enrol", "begin", "nonces"):
        for name, hand in story.hands.items():
            story.sent[name].append(hand.step())
    story.request = story.north.next()
    yield story
    for caller in (*story.hands.values(), story.operator):
        caller.close()


@pytest.fixture(scope="module")
def in_the_sum(story: Story) -> Story:
    train = story.north.reply(story.request)
    story.north.deliver(train)
    story.sent["north"].append(train)
    for _ in ("train", "sum"):
        for name in ("east", "south"):
            story.sent[name].append(story.hands[name].step())
    story.request = story.north.next()
    return story


@pytest.mark.parametrize("epsilon", [float("nan"), float("inf"), -1.0, 1e308, 1e3])
def test_an_epsilon_that_no_ledger_can_stand_at_is_refused(story: Story, epsilon: float) -> None:
    reply = decode(pb.Reply, story.north.reply(story.request))
    assert reply.WhichOneof("body") == "prepared"
    reply.prepared.epsilon_spent = epsilon
    error, said = story.refuse(reply)
    assert error is MessageError
    assert said.startswith("north says that it has spent epsilon")


def altered(sum_reply: pb.Reply, change: Callable[[sums_pb2.SumMessage, sums_pb2.Array], None]) -> pb.Reply:
    message = decode(sums_pb2.SumMessage, sum_reply.sum)
    array = decode(sums_pb2.Array, message.body)
    change(message, array)
    message.body = array.SerializeToString()
    sum_reply.sum = message.SerializeToString()
    return sum_reply


def set_entry(array: sums_pb2.Array, value: float) -> None:
    values = np.frombuffer(array.data, "<f4").copy()
    values[3] = value
    array.data = values.tobytes()


def too_short(message: sums_pb2.SumMessage, array: sums_pb2.Array) -> None:
    array.CopyFrom(to_array(np.frombuffer(array.data, "<f4")[1:]))


LIES: list[tuple[str, Callable[[sums_pb2.SumMessage, sums_pb2.Array], None], type[SiloSealError]]] = [
    ("wrong shape", too_short, MessageError),
    ("wrong type", lambda _, a: a.CopyFrom(to_array(np.zeros(a.shape[0] // 2))), MessageError),
    ("NaN", lambda _, a: set_entry(a, np.nan), MessageError),
    ("infinity", lambda _, a: set_entry(a, np.inf), MessageError),
    ("too large", lambda _, a: set_entry(a, 1e6), DomainError),
    ("cut", lambda _, a: a.MergeFrom(sums_pb2.Array(data=a.data[:-4])), MessageError),
    ("another sum", lambda m, _: setattr(m, "session_digest", bytes(32)), SessionMismatch),
    ("another round", lambda m, _: setattr(m, "round", 0), MessageError),
]  # fmt: skip


@pytest.mark.parametrize(("name", "change", "error"), LIES, ids=[lie[0] for lie in LIES])
def test_a_contribution_that_cannot_be_right_is_refused_before_it_is_added(
    in_the_sum: Story,
    name: str,
    change: Callable[[sums_pb2.SumMessage, sums_pb2.Array], None],
    error: type[SiloSealError],
) -> None:
    honest = decode(pb.Reply, in_the_sum.north.reply(in_the_sum.request))
    assert in_the_sum.refuse(altered(honest, change))[0] is error


@pytest.mark.parametrize("excess", [FRAMING_BYTES, SMALL_BYTES + FRAMING_BYTES], ids=["a little", "much"])
def test_a_contribution_that_is_longer_than_the_sum_needs_is_refused(in_the_sum: Story, excess: int) -> None:
    """What is added stands in a field that nobody knows, so that the message decodes to the honest one."""
    reply = decode(pb.Reply, in_the_sum.north.reply(in_the_sum.request))
    reply.sum += UNKNOWN_FIELD + consortium_pb2.Chunk(data=bytes(excess)).SerializeToString()[1:]
    assert in_the_sum.refuse(reply)[0] is MessageTooLarge


@pytest.mark.parametrize(
    ("other", "answered"),
    [(pb.Reply(sum=b"\xff\xff"), ""), (pb.Reply(prepared=pb.Prepared()), "prepared"), (pb.Reply(), "nothing")],
    ids=["garbage", "the answer to another question", "nothing"],
)
def test_another_kind_of_answer_is_refused(in_the_sum: Story, other: pb.Reply, answered: str) -> None:
    reply = decode(pb.Reply, in_the_sum.north.reply(in_the_sum.request))
    reply.ClearField("sum")
    reply.MergeFrom(other)
    error, said = in_the_sum.refuse(reply)
    assert error is MessageError
    assert (f"north answered {answered}, expected sum" if answered else "do not decode as a SumMessage") in said


def test_a_reply_to_an_earlier_request_is_refused(in_the_sum: Story) -> None:
    for number, reply in enumerate(in_the_sum.sent["north"], start=1):
        error, said = in_the_sum.refuse(reply)
        assert error is WrongRound
        assert said.startswith(f"north answered request {number}, which is over")


def test_after_all_this_a_good_reply_ends_the_run_with_the_average_of_three(in_the_sum: Story) -> None:
    story, consortium = in_the_sum, in_the_sum.consortium
    story.north.deliver(reply := story.north.reply(story.request))
    story.sent["north"].append(reply)
    arrays = [
        decode(sums_pb2.Array, decode(sums_pb2.SumMessage, decode(pb.Reply, s[-1]).sum).body)
        for s in story.sent.values()
    ]
    total = np.sum([from_array(a, dtype="<f4", length=a.shape[0]).astype(np.float64) for a in arrays], axis=0)
    finish = story.north.next()
    model = decode(pb.Request, finish).finish.model
    assert np.array_equal(from_array(model, dtype="<f4", length=len(total) - 1), mean_of(total).astype("<f4"))
    assert story.operator.trouble("north") == ""
    story.north.deliver(last := story.north.reply(finish))
    story.sent["north"].append(last)
    for name in ("east", "south"):
        story.sent[name].append(story.hands[name].step())
    assert consortium.aggregator.wait() == 0
    expected = [(number, name, story.sent[name][number - 1]) for number in range(1, 7) for name in sorted(NAMES)]
    assert journal_replies(consortium) == expected
    assert len(consortium.aggregator.said("accepts")) == 18
