"""A look at a pickle's instructions before any of them is followed.

A pickle is a program for a stack machine. Refusing the dangerous functions, which `safe_pickle` does, leaves what
the machine itself can do: reserve memory for a billion places of its memory with six bytes, copy a long text a million
times, or hash a tuple of a million tuples of tuples, which ends the process. So only the instructions that arrays in a
dict need are let through, places of the memory must follow one another, only short texts, bytes, names and results
may be recalled from it, and the keys of a dict are texts: then what the pickle describes is a tree about as large as
its file, and nothing in it is hashed but texts.
"""

import pickletools
from collections.abc import Iterator
from mmap import mmap
from typing import IO, cast

from siloseal.federation.errors import DataError

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
_POPPED = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3, "REDUCE": 2, "STACK_GLOBAL": 2, "APPEND": 1, "SETITEM": 2, "BUILD": 1}
_PUSHED = _PUSH_TEXT | _PUSH_BYTES | _PUSH_NUMBER | _NAME | _MAKE | {"REDUCE"}

_LONGEST_RECALLED = 64
"""Longest text, in characters, that may be used again: names of functions and encodings. A reader copies texts."""


def check_instructions(content: mmap) -> None:
    """`DataError` unless the pickle only builds dicts, lists, texts, numbers and the results of named functions."""
    stack, memory = _Stack(), _Memory()
    for name, argument in _instructions(content):
        if name not in _KNOWN:
            raise DataError(
                f"the pickle holds the instruction {name}, which a dict of arrays does not need, and which was not "
                "followed; write it with pickle.dump(..., protocol=2) or later from plain arrays"
            )
        if name in _PUT:
            memory.put(None if name == "MEMOIZE" else _number(argument))
        elif name in _GET:
            stack.push(text=memory.recall(_number(argument)))
        else:
            memory.made(name, argument)
            stack.follow(name)


class _Stack:
    """What lies on the machine's stack, as far as it matters: texts, marks, and everything else."""

    def __init__(self) -> None:
        self._kinds = list[str]()

    def push(self, *, text: bool) -> None:
        self._kinds.append("text" if text else "other")

    def follow(self, name: str) -> None:
        """Follow one instruction that neither stores nor recalls."""
        if name == "MARK":
            self._kinds.append("mark")
        elif name in ("TUPLE", "APPENDS", "SETITEMS"):
            items = self._since_mark()
            if name == "SETITEMS":
                _require_texts(items[::2])
        else:
            popped = self._pop(_POPPED.get(name, 0))
            if name == "SETITEM":
                _require_texts(popped[:1])
        if name in _PUSHED:
            self.push(text=name in _PUSH_TEXT)

    def _pop(self, count: int) -> list[str]:
        if count > len(self._kinds):
            raise DataError("the pickle takes from an empty stack; it is damaged: fetch it again")
        popped = self._kinds[len(self._kinds) - count :]
        del self._kinds[len(self._kinds) - count :]
        return popped

    def _since_mark(self) -> list[str]:
        count = next((n for n, kind in enumerate(reversed(self._kinds)) if kind == "mark"), len(self._kinds))
        items = self._pop(count)
        self._pop(1)
        return items


class _Memory:
    """The places of the machine's memory that may be recalled: those whose content is shared at no cost."""

    def __init__(self) -> None:
        self._texts: dict[int, bool] = {}  # of recallable places, whether they hold a text
        self._places, self._last = set[int](), ("", False)

    def made(self, name: str, argument: object) -> None:
        """Note what a place that is stored next will hold."""
        if name != "FRAME":  # which may stand between an instruction and the place for its result
            short = not isinstance(argument, str) or len(argument) <= _LONGEST_RECALLED
            self._last = name, short or name not in _PUSH_TEXT

    def put(self, place: int | None) -> None:
        """Store at a place. Python counts places from 0, Python 2 from 1; a far one would reserve all before it."""
        used = len(self._places)
        place = used if place is None else place
        if place > used + 1:
            raise DataError(
                f"the pickle asks for place {place} of its memory when {used} are used, expected the next; it was made "
                "to exhaust this machine's memory: fetch it again from a source you trust"
            )
        self._places.add(place)
        self._texts.pop(place, None)
        name, short = self._last
        if name in _RECALLABLE and short:
            self._texts[place] = name in _PUSH_TEXT

    def recall(self, place: int) -> bool:
        """Whether a text is recalled."""
        if place not in self._texts:
            raise DataError(
                "the pickle holds one container in two places, or one long text, expected a tree; write it from copies"
            )
        return self._texts[place]


def _require_texts(keys: list[str]) -> None:
    if any(kind != "text" for kind in keys):
        raise DataError(
            "the pickle holds a dict with keys that are not texts, which a data set does not need; fetch it again from "
            "a source you trust"
        )


def _instructions(content: mmap) -> Iterator[tuple[str, object]]:
    """Names and arguments of the instructions. A mapping's `read` reserves no more than there is."""
    try:
        for instruction, argument, _ in pickletools.genops(cast(IO[bytes], content)):
            yield instruction.name, argument
    except (ValueError, OverflowError, MemoryError) as error:
        raise DataError(f"the pickle is cut short or damaged ({error}); fetch it again") from error


def _number(argument: object) -> int:
    return argument if isinstance(argument, int) else -1
