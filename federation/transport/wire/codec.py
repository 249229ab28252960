"""Bytes to values and back. Whatever comes in may be hostile: it is checked before it is used."""

from typing import Any, TypeVar

import numpy as np
from google.protobuf.message import DecodeError, Message
from numpy.typing import NDArray

from siloseal.federation.errors import MessageError, MessageTooLarge
from siloseal.federation.transport.wire import sums_pb2 as pb

MAX_MESSAGE_BYTES = 2**31 - 1
"""Largest size of a message, which is Protobuf's own limit; larger models need a stream."""
FRAMING_BYTES = 256
"""Number of bytes that suffice for framing a whole message, or a piece with its silo's name."""

_DTYPES: dict[str, np.dtype[Any]] = {"<f4": np.dtype("<f4"), "<f8": np.dtype("<f8"), "<i8": np.dtype("<i8")}

M = TypeVar("M", bound=Message)


def decode(kind: type[M], data: bytes) -> M:
    """A message of this kind, or `MessageError`."""
    if len(data) > MAX_MESSAGE_BYTES:
        raise MessageError(f"a {kind.__name__} of {len(data)} bytes came in; at most {MAX_MESSAGE_BYTES} are read")
    message = kind()
    try:
        message.ParseFromString(data)
    except DecodeError as error:
        raise MessageError(f"{len(data)} bytes do not decode as a {kind.__name__}: truncated or altered") from error
    return message


def require_at_most(largest: int, silo: str, reply: bytes) -> None:
    """`MessageTooLarge` for a reply that is longer than any right one: all of it would be kept and carried on."""
    if len(reply) > largest:
        raise MessageTooLarge(
            f"{silo} answered with {len(reply)} bytes, but no right reply to what was asked has more than {largest}; "
            "both sides must run the same version"
        )


def to_array(values: NDArray[np.generic]) -> pb.Array:
    """The array as a little-endian message, with dtype and shape."""
    dtype = values.dtype.newbyteorder("<").str
    if dtype not in _DTYPES:
        raise MessageError(f"arrays of {values.dtype} do not travel; expected one of {', '.join(_DTYPES)}")
    return pb.Array(dtype=dtype, shape=values.shape, data=np.ascontiguousarray(values, dtype=dtype).tobytes())


def from_array(array: pb.Array, *, dtype: str, length: int) -> NDArray[Any]:
    """A vector of just this dtype and length, without NaN or infinity."""
    if array.dtype != dtype or list(array.shape) != [length]:
        raise MessageError(
            f"an array of {array.dtype or 'no dtype'} and shape {list(array.shape)} came in, "
            f"expected {dtype} and [{length}]"
        )
    expected = length * _DTYPES[dtype].itemsize
    if len(array.data) != expected:
        raise MessageError(f"an array of {length} entries came with {len(array.data)} bytes, expected {expected}")
    values = np.frombuffer(array.data, dtype=_DTYPES[dtype])
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise MessageError("an array came with NaN or infinity in it")
    return values
