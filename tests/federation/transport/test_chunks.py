"""Large messages in pieces: whatever is cut comes back whole, and nothing else passes for whole."""

import hashlib
import re
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siloseal.federation.errors import MessageError, MessageTooLarge
from siloseal.federation.transport import chunks
from siloseal.federation.transport.chunks import from_chunks, only_message, to_chunks
from siloseal.federation.transport.wire import consortium_pb2 as pb

MESSAGE = bytes(range(12))
LIMIT, WHY = 1000, "the test's limit"


def cut(message: bytes, chunk_bytes: int) -> list[pb.Chunk]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunks, "CHUNK_BYTES", chunk_bytes)
        return list(to_chunks(message))


def refused(pieces: list[pb.Chunk], limit: int = LIMIT) -> str:
    with pytest.raises(MessageError) as error:
        list(from_chunks(pieces, limit=limit, why=WHY))
    return str(error.value)


@given(messages=st.lists(st.binary(min_size=1, max_size=200), max_size=5), chunk_bytes=st.integers(1, 250))
def test_any_messages_in_chunks_of_any_size_come_back_whole_and_in_order(
    messages: list[bytes], chunk_bytes: int
) -> None:
    pieces = [piece for message in messages for piece in cut(message, chunk_bytes)]
    assert all(len(piece.data) <= chunk_bytes for piece in pieces)
    assert list(from_chunks(pieces, limit=200, why=WHY)) == messages


def test_the_first_chunk_alone_names_the_size_and_each_has_the_digest_of_all_up_to_its_end() -> None:
    pieces = cut(MESSAGE, 5)
    assert [piece.size for piece in pieces] == [12, 0, 0]
    assert [piece.digest for piece in pieces] == [hashlib.sha256(MESSAGE[:end]).digest() for end in (5, 10, 12)]


def test_a_chunk_of_the_usual_size_fits_a_grpc_message() -> None:
    (first, second) = to_chunks(bytes(chunks.CHUNK_BYTES + 1))
    assert first.ByteSize() <= chunks.CHUNK_BYTES + 100
    assert second.data == b"\0"


@pytest.mark.parametrize("at", range(3))
class TestEveryChunk:
    def test_with_any_bit_of_its_data_or_digest_flipped_is_found(self, at: int) -> None:
        for name in ("data", "digest"):
            for bit in range(8 * len(getattr(cut(MESSAGE, 5)[at], name))):
                pieces = cut(MESSAGE, 5)
                flipped = bytearray(getattr(pieces[at], name))
                flipped[bit // 8] ^= 1 << bit % 8
                setattr(pieces[at], name, bytes(flipped))
                assert "damaged" in refused(pieces)

    def test_dropped_is_found(self, at: int) -> None:
        pieces = cut(MESSAGE, 5)
        del pieces[at]
        expected = ("size", "damaged", "10 of 12 bytes")
        assert expected[at] in refused(pieces)

    def test_doubled_is_found(self, at: int) -> None:
        pieces = cut(MESSAGE, 5)
        pieces.insert(at, pieces[at])
        expected = ("5 of 12", "chunk", "size")
        assert expected[at] in refused(pieces)

    def test_swapped_with_another_is_found(self, at: int) -> None:
        pieces = cut(MESSAGE, 5)
        pieces[at], pieces[at - 1] = pieces[at - 1], pieces[at]
        assert refused(pieces)

    def test_emptied_is_found(self, at: int) -> None:
        pieces = cut(MESSAGE, 5)
        pieces[at].data = b""
        assert " 0 bytes" in refused(pieces)


@given(size=st.integers(0, 2**64 - 1).filter(lambda size: size != len(MESSAGE)))
def test_any_other_size_than_the_true_one_is_found(size: int) -> None:
    pieces = cut(MESSAGE, 5)
    pieces[0].size = size
    assert refused(pieces)


def test_a_message_at_the_limit_is_read_and_one_byte_more_is_refused_before_it_is_read() -> None:
    read = list[int]()

    def counted(pieces: list[pb.Chunk]) -> Iterator[pb.Chunk]:
        for number, piece in enumerate(pieces):
            read.append(number)
            yield piece

    assert list(from_chunks(cut(MESSAGE, 5), limit=12, why=WHY)) == [MESSAGE]
    with pytest.raises(MessageTooLarge, match=f" 12 bytes .* 11 .*{WHY}"):
        list(from_chunks(counted(cut(MESSAGE, 5)), limit=11, why=WHY))
    assert read == [0]


def test_more_bytes_than_announced_are_refused_at_the_chunk_that_brings_them() -> None:
    pieces = cut(MESSAGE, 5)
    pieces[0].size = 11
    assert re.search(" 2 bytes .* 10 of 11", refused(pieces))


class TestOneMessageAlone:
    def test_is_given(self) -> None:
        assert only_message(iter(cut(MESSAGE, 5)), limit=LIMIT, why=WHY) == MESSAGE

    def test_is_expected_where_none_comes(self) -> None:
        with pytest.raises(MessageError):
            only_message(iter([]), limit=LIMIT, why=WHY)

    def test_does_not_let_others_be_read_after_it(self) -> None:
        chunks = iter([*cut(MESSAGE, 5), *cut(MESSAGE, 5)])
        with pytest.raises(MessageError):
            only_message(chunks, limit=LIMIT, why=WHY)
        assert len(list(chunks)) == 2
