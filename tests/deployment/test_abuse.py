"""Bytes that no honest silo sends, over real TLS, to one aggregator that stays up through all of it."""

import hashlib
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import grpc
import pytest

from siloseal.aggregator.asking import SMALL_BYTES
from siloseal.federation.errors import MessageError, MessageTooLarge, WrongRound
from siloseal.federation.records.audit import verify_audit
from siloseal.federation.transport.chunks import CHUNK_BYTES, to_chunks
from siloseal.federation.transport.rpc_errors import received_code
from siloseal.federation.transport.wire import consortium_pb2
from siloseal.federation.transport.wire import messages_pb2 as pb
from siloseal.federation.transport.wire.codec import decode
from siloseal.federation.transport.wire.errors_pb2 import ErrorCode
from siloseal.federation.transport.wire.version import PROTOCOL_VERSION

from .client import Attending, Caller, Hand, Pair, broken, refused
from .conftest import Consortium
from .evidence import audit_lines
from .parties import PATIENCE_SECONDS

HUGE = 900_000_000
Lie = Callable[[bytes], list[consortium_pb2.Chunk]]


@pytest.fixture(scope="module")
def north(consortium: Consortium) -> Iterator[Hand]:
    with Hand(consortium, "north", attends=False) as hand:
        yield hand


@pytest.fixture(scope="module")
def request_to_north(north: Hand) -> bytes:
    attending = north.attend(north.run_id)
    request = attending.next()
    attending.leave()
    return request


@pytest.fixture
def operator(consortium: Consortium) -> Iterator[Caller]:
    with Caller(consortium, Pair.of(consortium.kits / "operator")) as operator:
        yield operator


@pytest.fixture(autouse=True)
def _a_good_silo_is_served_afterwards(consortium: Consortium) -> Iterator[None]:
    yield
    with Caller(consortium, Pair.of(consortium.kits / "east")) as east:
        attending: Attending = east.attend(east.offer().run_id)
        assert decode(pb.Request, attending.next()).WhichOneof("body") == "enrol"
        attending.leave()
    assert consortium.aggregator.alive
    assert verify_audit(consortium.state("aggregator") / "audit.jsonl").lines


def peak_bytes(consortium: Consortium) -> int:
    """The most memory that the aggregator's process has ever had."""
    status = Path(f"/proc/{consortium.aggregator.pid}/status").read_text()
    (line,) = [line for line in status.splitlines() if line.startswith("VmHWM:")]
    return 1024 * int(line.split()[1])


def turned_away(consortium: Consortium, words: str) -> str:
    """The kind of the last error that is in the audit log, if these are its words."""
    line = audit_lines(consortium, "aggregator", "turned_away")[-1]
    assert re.search(words, line["words"])
    return str(line["error"])


def announced_as_huge(reply: bytes) -> list[consortium_pb2.Chunk]:
    (chunk,) = to_chunks(reply)
    chunk.size = HUGE
    return [chunk]


def one_byte_too_long(reply: bytes) -> list[consortium_pb2.Chunk]:
    return list(to_chunks(bytes(SMALL_BYTES + 1)))


def more_than_announced(reply: bytes) -> list[consortium_pb2.Chunk]:
    (chunk,) = to_chunks(reply)
    chunk.size -= 1
    return [chunk]


def damaged(reply: bytes) -> list[consortium_pb2.Chunk]:
    (chunk,) = to_chunks(reply)
    chunk.data = bytes([chunk.data[0] ^ 1]) + chunk.data[1:]
    return [chunk]


def cut_short(reply: bytes) -> list[consortium_pb2.Chunk]:
    (chunk,) = to_chunks(reply)
    chunk.size += 1
    return [chunk]


def nothing(reply: bytes) -> list[consortium_pb2.Chunk]:
    return []


def two_messages(reply: bytes) -> list[consortium_pb2.Chunk]:
    return [*to_chunks(reply), *to_chunks(reply)]


def garbage(reply: bytes) -> list[consortium_pb2.Chunk]:
    return list(to_chunks(b"\xff" * 50))


def an_empty_reply(reply: bytes) -> list[consortium_pb2.Chunk]:
    """A message of zero bytes, which is a Reply without anything in it, cannot travel; this one has a name only."""
    return list(to_chunks(pb.Reply(silo="north", protocol_version=PROTOCOL_VERSION).SerializeToString()))


def of_east(reply: bytes) -> list[consortium_pb2.Chunk]:
    return list(to_chunks(_changed(reply, silo="east")))


def with_an_endless_name(reply: bytes) -> list[consortium_pb2.Chunk]:
    return list(to_chunks(_changed(reply, silo="x" * 10**6)))


def with_a_long_name(reply: bytes) -> list[consortium_pb2.Chunk]:
    """The status and the receipt must not choke on it."""
    return list(to_chunks(_changed(reply, silo="x" * 60_000)))


def with_endless_images(reply: bytes) -> list[consortium_pb2.Chunk]:
    """A byte on the wire is eight in memory: it is refused before it is unpacked."""
    return list(to_chunks(_changed(reply, enrolled=pb.Enrolled(shape=[1] * 10**5))))


def with_half_a_key(reply: bytes) -> list[consortium_pb2.Chunk]:
    return list(to_chunks(_changed(reply, enrolled=pb.Enrolled(identity=bytes(16)))))


def with_empty_images(reply: bytes) -> list[consortium_pb2.Chunk]:
    return list(to_chunks(_changed(reply, enrolled=pb.Enrolled(shape=[8, 0]))))


def of_another_number(reply: bytes) -> list[consortium_pb2.Chunk]:
    return list(to_chunks(_changed(reply, number=2)))


def of_the_wrong_kind(reply: bytes) -> list[consortium_pb2.Chunk]:
    return list(to_chunks(_changed(reply, finished=pb.Finished())))


def _changed(reply: bytes, **fields: object) -> bytes:
    message = decode(pb.Reply, reply)
    message.MergeFrom(pb.Reply(**fields))  # type: ignore[arg-type]
    return message.SerializeToString()


TOO_LARGE: list[tuple[Lie, str]] = [
    (announced_as_huge, f" {HUGE} bytes .* {SMALL_BYTES} "),
    (one_byte_too_long, f" {SMALL_BYTES + 1} bytes .* {SMALL_BYTES} "),
    (with_an_endless_name, f" {SMALL_BYTES} "),
    (with_endless_images, f" {SMALL_BYTES} "),
]
LIES: list[tuple[Lie, str]] = [
    *TOO_LARGE,
    (more_than_announced, "after 0 of"),
    (damaged, "damaged"),
    (cut_short, "cut"),
    (nothing, "nothing"),
    (two_messages, "one message"),
    (garbage, "50 bytes .*Reply"),
    (an_empty_reply, "request 1, .*north .*request 0"),
    (of_east, "request 1, .*east .*request 1"),
    (with_a_long_name, "request 1, .*xxxx"),
    (with_half_a_key, "16 bytes, expected 32"),
    (with_empty_images, r"\[1, 8, 8, 8, 0\] .*10 classes"),
    (of_another_number, "request 1, .*north .*request 2"),
    (of_the_wrong_kind, "finished, expected enrolled"),
]


@pytest.mark.parametrize(("lie", "words"), LIES, ids=lambda value: getattr(value, "__name__", ""))
def test_a_reply_that_cannot_be_right_is_refused_by_name_shown_in_the_status_and_written_down(
    consortium: Consortium, north: Hand, request_to_north: bytes, operator: Caller, lie: Lie, words: str
) -> None:
    error, said = refused(lambda: north.deliver_chunks(lie(north.reply(request_to_north))))
    assert error is (MessageTooLarge if (lie, words) in TOO_LARGE else MessageError)
    assert re.search(words, said)
    assert operator.trouble("north") == f"{error.__name__}: {said}"[:500]
    assert turned_away(consortium, words) == error.__name__


def test_a_delivery_that_no_request_needs_takes_no_memory_and_is_not_read_on(
    consortium: Consortium, north: Hand, request_to_north: bytes
) -> None:
    """The chunks are right ones of a message of 900 MB; enrolment needs a few hundred bytes."""
    before, sent = peak_bytes(consortium), 0

    def endless() -> Iterator[consortium_pb2.Chunk]:
        nonlocal sent
        digest, data = hashlib.sha256(), bytes(CHUNK_BYTES)
        for _ in range(HUGE // CHUNK_BYTES):
            digest.update(data)
            yield consortium_pb2.Chunk(size=0 if sent else HUGE, data=data, digest=digest.digest())
            sent += CHUNK_BYTES

    assert refused(lambda: north.deliver_chunks(endless()))[0] is MessageTooLarge
    assert sent < HUGE / 10, "gRPC's own buffers take some chunks before the refusal reaches the sender"
    assert peak_bytes(consortium) - before < HUGE / 10


def test_a_reply_to_the_same_request_of_another_run_is_refused(north: Hand, request_to_north: bytes) -> None:
    other = decode(pb.Request, request_to_north)
    other.run_id = bytes(32)
    reply = decode(pb.Reply, north.reply(request_to_north))
    reply.request_digest = decode(pb.Reply, north.reply(other.SerializeToString())).request_digest
    assert refused(lambda: north.deliver(reply.SerializeToString()))[0] is MessageError


def test_one_grpc_message_above_a_chunks_size_is_not_even_read(north: Hand) -> None:
    chunk = consortium_pb2.Chunk(size=1, data=bytes(CHUNK_BYTES + 2**17), digest=bytes(32))
    assert broken(lambda: north.deliver_chunks([chunk])) is grpc.StatusCode.RESOURCE_EXHAUSTED


def test_what_is_no_chunk_at_all_ends_its_own_call_only(north: Hand) -> None:
    assert broken(lambda: north.deliver_raw(b"\xff\xff\xff")) is grpc.StatusCode.INTERNAL


def test_a_delivery_that_is_broken_off_counts_for_nothing(
    north: Hand, request_to_north: bytes, operator: Caller
) -> None:
    def half() -> Iterator[consortium_pb2.Chunk]:
        yield from cut_short(north.reply(request_to_north))
        raise ValueError("the line is cut here")

    assert broken(lambda: north.deliver_chunks(half())) is grpc.StatusCode.UNKNOWN
    assert not next(one.answered for one in operator.status().silos if one.silo == "north")


def test_deliveries_that_say_nothing_take_nobody_elses_place(
    consortium: Consortium, north: Hand, request_to_north: bytes, operator: Caller
) -> None:
    """More of them than the aggregator has threads; the newest of a silo counts, and the good one that comes then."""
    over = threading.Event()

    def silence() -> Iterator[consortium_pb2.Chunk]:
        over.wait(PATIENCE_SECONDS)
        yield from ()

    replaced = threading.Semaphore(0)
    ended = [north.begin_delivery(silence()) for _ in range(30)]
    for call in ended:
        call.add_done_callback(lambda _: replaced.release())
    assert all(replaced.acquire(timeout=PATIENCE_SECONDS) for _ in ended[1:])  # so that all have come, and one is left
    assert operator.status().request == 1
    with Caller(consortium, Pair.of(consortium.kits / "east")) as east:
        assert east.offer().run_id == north.run_id
    assert refused(lambda: north.deliver_chunks(garbage(b"")))[0] is MessageError
    codes = [call.exception(PATIENCE_SECONDS).code() for call in ended]
    assert set(codes) == {grpc.StatusCode.CANCELLED}
    over.set()


def test_an_attendance_of_another_run_or_of_no_process_is_refused(consortium: Consortium, north: Hand) -> None:
    assert refused(lambda: north.attend(bytes(32)).next())[0] is WrongRound
    assert refused(lambda: north.attend(north.run_id, b"").next())[0] is MessageError
    assert turned_away(consortium, "without its process's number") == "MessageError"


def test_a_reply_counts_once_however_often_it_comes(consortium: Consortium, operator: Caller) -> None:
    with Hand(consortium, "south", attends=True) as south:
        reply = south.step()
        for _ in range(2):
            assert refused(lambda: south.deliver(reply))[0] is WrongRound
        over = threading.Event()
        late = south.begin_delivery(iter(over.wait, True)).exception(PATIENCE_SECONDS / 4)
        assert received_code(late) == ErrorCode.WRONG_ROUND, "before it has said anything"
        over.set()
    lines = audit_lines(consortium, "aggregator", "accepts")
    assert [line["silo"] for line in lines] == ["south"]
    assert next(one.sent_bytes for one in operator.status().silos if one.silo == "south") == len(reply)
    assert operator.trouble("south") == ""
