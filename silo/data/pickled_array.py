"""Arrays as a pickle describes them: type, shape and bytes, checked before numpy sees them.

They stand in for numpy's own classes while a pickle is read, because those take states that a stranger must not choose:
objects, records, a shape that does not fit the bytes.
"""

from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from siloseal.federation.errors import DataError

_WHOLE_NUMBERS = frozenset({"u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8"})
_MOST_DIMENSIONS = 4


class PickledDtype:
    """A type of whole numbers: its width, and in its state its byte order."""

    __slots__ = ("_code", "_order")

    def __init__(self, code: object, *flags: object) -> None:
        plain = code.lstrip("|<>=") if isinstance(code, str) else ""
        if plain not in _WHOLE_NUMBERS or any(flag not in (0, 1) for flag in flags):
            raise DataError(
                "the pickle holds an array whose type is not one of whole numbers, which is never loaded: objects run "
                "code; fetch the file again from a source you trust"
            )
        self._code, self._order = plain, "="

    def __setstate__(self, state: object) -> None:
        match state:
            case (3, "|" | "<" | ">" | "=" as order, None, None, None, -1, -1, 0):
                self._order = str(order)
            case _:
                raise DataError("the pickle holds an array of records, expected whole numbers; fetch the file again")

    def numpy(self) -> np.dtype[np.integer[Any]]:
        """The type itself."""
        return np.dtype(self._order + self._code)


class PickledArray:
    """An array of whole numbers, empty until the pickle gives its state, which it may do once."""

    __slots__ = ("_array",)

    def __init__(self) -> None:
        self._array: NDArray[np.integer[Any]] | None = None

    def __setstate__(self, state: object) -> None:
        if self._array is not None:
            raise DataError("the pickle fills an array twice, expected once; fetch the file again")
        match state:
            case (1, tuple(shape), PickledDtype() as dtype, 0 | 1 as fortran, bytes() | bytearray() | str() as content):
                self._array = _array(shape, dtype.numpy(), as_bytes(content), fortran=bool(fortran))
            case _:
                raise DataError("the pickle holds an array of an unknown form, expected one of whole numbers")

    def numpy(self) -> NDArray[np.integer[Any]]:
        """The array itself."""
        if self._array is None:
            raise DataError("the pickle holds an array without content; it is damaged: fetch it again")
        return self._array


def as_bytes(content: bytes | bytearray | str) -> bytes | bytearray:
    """The bytes. Python 2 wrote them as texts, which are read as latin1: each character is its byte."""
    return content.encode("latin1") if isinstance(content, str) else content


def _array(
    shape: tuple[object, ...], dtype: np.dtype[np.integer[Any]], content: bytes | bytearray, *, fortran: bool
) -> NDArray[np.integer[Any]]:
    """A view of the bytes that are there: an announced shape reserves nothing."""
    sizes = [size for size in shape if isinstance(size, int) and size >= 0]
    if len(sizes) != len(shape) or len(sizes) > _MOST_DIMENSIONS:
        raise DataError(
            f"the pickle holds an array of {len(shape)} dimensions, expected at most {_MOST_DIMENSIONS}, each a number "
            "of 0 or more; fetch the file again"
        )
    if prod(sizes) * dtype.itemsize != len(content):
        raise DataError(
            f"the pickle announces an array of {' x '.join(map(str, sizes))} but holds {len(content)} bytes; "
            "it is damaged: fetch it again"
        )
    return np.frombuffer(content, dtype=dtype).reshape(sizes, order="F" if fortran else "C")
