"""A look at a pickle's instructions before any of them is followed.

A pickle is a program for a stack machine. Refusing the dangerous functions, which `safe_pickle` does, leaves what
the machine itself can do: reserve memory for a billion places of its memory with six bytes, or build a tuple of tuples
of tuples, each twice, whose hash takes years. So only the instructions that arrays in a dict need are let through,
places of the memory must follow one another, and only texts, names and results may be recalled from it: then what the
pickle describes is a tree no larger than its file.
"""

import pickletools
from collections.abc import Iterator
from mmap import mmap
from typing import IO, cast

from federation.errors import DataError

_PUSH_TEXT = frozenset({"BINSTRING", "SHORT_BINSTRING", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8"})
_PUSH_BYTES = frozenset({"BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BYTEARRAY8"})
_PUSH_NUMBER = frozenset({"BININT", "BININT1", "BININT2", "LONG1", "NONE", "NEWTRUE", "NEWFALSE"})
_NAME = frozenset({"GLOBAL", "STACK_GLOBAL"})
_MAKE = frozenset({"EMPTY_DICT", "EMPTY_LIST", "EMPTY_TUPLE", "TUPLE", "TUPLE1", "TUPLE2", "TUPLE3"})
_FILL = frozenset({"MARK", "APPEND", "APPENDS", "SETITEM", "SETITEMS", "REDUCE", "BUILD"})
_PUT = frozenset({"BINPUT", "LONG_BINPUT", "MEMOIZE"})
_GET = frozenset({"BINGET", "LONG_BINGET"})
_FRAMING = frozenset({"PROTO", "FRAME", "STOP"})
_KNOWN = _PUSH_TEXT | _PUSH_BYTES | _PUSH_NUMBER | _NAME | _MAKE | _FILL | _PUT | _GET | _FRAMING
_RECALLABLE = _PUSH_TEXT | _PUSH_BYTES | _NAME | {"REDUCE"}

_LARGEST_NUMBER = 2**63  # of larger ones, any number can be chosen that a dict cannot tell apart by hash


def check_instructions(content: mmap) -> None:
    """`DataError` unless the pickle only builds dicts, lists, texts, numbers and the results of named functions."""
    recallable, places, before = set[int](), set[int](), ""
    for name, argument in _instructions(content):
        if name not in _KNOWN:
            raise DataError(
                f"the pickle holds the instruction {name}, which a dict of arrays does not need, and which was not "
                "followed; write it with pickle.dump(..., protocol=2) or later from plain arrays"
            )
        if name == "LONG1" and not -_LARGEST_NUMBER <= _number(argument) < _LARGEST_NUMBER:
            raise DataError("the pickle holds a number of more than 64 bits; fetch it again from a source you trust")
        if name in _PUT:
            place = len(places) if name == "MEMOIZE" else _number(argument)
            _check_place(place, len(places))
            places.add(place)
            (recallable.add if before in _RECALLABLE else recallable.discard)(place)
        if name in _GET and _number(argument) not in recallable:
            raise DataError("the pickle holds one container in two places, expected a tree; write it from copies")
        if name != "FRAME":  # which may stand between an instruction and the place for its result
            before = name


def _check_place(place: int, used: int) -> None:
    """Python counts places from 0, Python 2 from 1; reserving a far one would reserve all before it."""
    if place > used + 1:
        raise DataError(
            f"the pickle asks for place {place} of its memory when {used} are used, expected the next; it was made to "
            "exhaust this machine's memory: fetch it again from a source you trust"
        )


def _instructions(content: mmap) -> Iterator[tuple[str, object]]:
    """Names and arguments. A mapping's `read` reserves no more than there is, whatever length the pickle states."""
    try:
        for instruction, argument, _ in pickletools.genops(cast(IO[bytes], content)):
            yield instruction.name, argument
    except (ValueError, OverflowError, MemoryError) as error:
        raise DataError(f"the pickle is cut short or damaged ({error}); fetch it again") from error


def _number(argument: object) -> int:
    return argument if isinstance(argument, int) else -1
