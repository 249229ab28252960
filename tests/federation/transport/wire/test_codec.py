"""The codec: what arrives as it was sent, and what is refused."""

import numpy as np
import pytest

from siloseal.federation.errors import MessageError
from siloseal.federation.transport.wire import messages_pb2 as pb
from siloseal.federation.transport.wire import sums_pb2
from siloseal.federation.transport.wire.codec import decode, from_array, to_array


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_an_array_survives_the_wire(dtype: type) -> None:
    values = np.arange(-3, 4).astype(dtype)
    again = from_array(to_array(values), dtype=np.dtype(dtype).newbyteorder("<").str, length=7)
    np.testing.assert_array_equal(again, values)
    assert again.dtype == dtype


def test_an_array_of_the_other_byte_order_arrives_as_the_same_numbers() -> None:
    values = np.array([1.5, -2.0], dtype=">f4")
    np.testing.assert_array_equal(from_array(to_array(values), dtype="<f4", length=2), values)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (sums_pb2.Array(dtype="<f4", shape=[3], data=bytes(11)), "11 bytes"),
        (sums_pb2.Array(dtype="<f4", shape=[3], data=bytes(13)), "13 bytes"),
        (sums_pb2.Array(dtype="<f8", shape=[3], data=bytes(24)), "expected <f4"),
        (sums_pb2.Array(dtype="|O", shape=[3], data=bytes(24)), "expected <f4"),
        (sums_pb2.Array(dtype="<f4", shape=[2**62], data=bytes(12)), "expected <f4"),
        (sums_pb2.Array(dtype="<f4", shape=[1, 3], data=bytes(12)), "expected <f4"),
        (sums_pb2.Array(), "no dtype"),
        (to_array(np.array([1, np.nan, 2], dtype=np.float32)), "NaN"),
        (to_array(np.array([1, np.inf, 2], dtype=np.float32)), "infinity"),
    ],
)
def test_an_array_that_is_not_what_was_agreed_is_refused(array: sums_pb2.Array, message: str) -> None:
    with pytest.raises(MessageError, match=message):
        from_array(array, dtype="<f4", length=3)


def test_an_array_of_objects_does_not_travel() -> None:
    with pytest.raises(MessageError):
        to_array(np.array([object()]))


def test_bytes_that_are_no_message_are_refused() -> None:
    with pytest.raises(MessageError):
        decode(pb.Request, b"\xff\xff\xff")
