"""Files of JSON lines in which each line holds a hash over all lines up to it: the ledger and the audit log.

A line is on the disk when `append` returns, and else it is not in the file: what a full disk or an interruption leaves
of it is cut off at once, and what a crash leaves of it is cut off when the file is opened again. What to say about a
line that does not fit is left to the two kinds of file, which know what it means.
"""

import errno
import fcntl
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from siloseal.federation.errors import SiloSealError
from siloseal.federation.records.storage import Survives, sync_folder


@dataclass(frozen=True)
class End:
    """The end of what was read or written of a file: its whole lines, their bytes, and the hash over all of them."""

    lines: int
    size: int
    chain: str

    def after(self, content: bytes, chain: str) -> "End":
        """The end, one line later."""
        return End(self.lines + 1, self.size + len(content), chain)


@dataclass(frozen=True)
class Line:
    """One line as it was read, without its hash; `chain` is the hash that it should have."""

    fields: dict[str, Any]
    chain: str
    follows: bool
    """Whether the line has that hash: else it was altered, or is not behind the line that it was written behind."""


class ChainedFile:
    """A file open for appending, once at a time. `end` changes in one step: an interruption cannot break the chain."""

    def __init__(
        self, path: Path, *, start: str, in_use: SiloSealError, survives: Survives = Survives.POWER_CUT
    ) -> None:
        self._path, self._survives = path, survives
        self.end = End(0, 0, start)
        self._file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600), "a+b", buffering=0)
        try:
            os.fchmod(self._file.fileno(), 0o600)
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._file.close()
            raise in_use from None
        except BaseException:
            self._file.close()
            raise

    def resume(self, end: End) -> None:
        """Go on behind lines that were read and found good. A torn line behind them is cut off."""
        self._file.truncate(end.size)
        self.end = end

    def begin(self, header: Mapping[str, Any]) -> None:
        """Write a first line that is no link of the chain: the chain's start is made of it."""
        self._write(header, self.end.chain)
        if self._survives is Survives.POWER_CUT:
            sync_folder(self._path.parent)

    def append(self, fields: Mapping[str, Any]) -> None:
        """Write one line with its hash, and flush it to the disk; the time does not depend on the file's length."""
        chain = link(self.end.chain, fields)
        self._write({**fields, "chain": chain}, chain)

    def close(self) -> None:
        """Release the file."""
        self._file.close()

    def _write(self, line: Mapping[str, Any], chain: str) -> None:
        content = encode_line(line)
        try:
            if self._file.write(content) != len(content):
                raise OSError(errno.ENOSPC, "the disk took only a part of the line", str(self._path))
            if self._survives is Survives.POWER_CUT:
                os.fsync(self._file.fileno())
            self.end = self.end.after(content, chain)
        except BaseException:
            # Half a line would swallow the next one, and a line that `end` does not count would break the chain.
            os.ftruncate(self._file.fileno(), self.end.size)
            raise


def link(chain: str, fields: Mapping[str, Any]) -> str:
    """The hash of a line that follows a line with the hash `chain`."""
    return hashlib.sha256((chain + json.dumps(fields)).encode()).hexdigest()


def encode_line(line: Mapping[str, Any]) -> bytes:
    """A line as it is in the file."""
    return json.dumps(line).encode() + b"\n"


def whole_lines(path: Path) -> Iterator[bytes]:
    """The lines with their ends, without a torn last one. No lock is needed: lines that are there do not change."""
    with path.open("rb") as file:
        for content in file:
            if not content.endswith(b"\n"):
                return  # its rest may come in a moment, and is no line of its own
            yield content


def parse_line(content: bytes, *, where: str, damaged: type[SiloSealError]) -> dict[str, Any]:
    """The JSON object in a line; `damaged`, which says where, if there is none."""
    try:
        fields = json.loads(content)
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, dict):
        raise damaged(f"{where}: not a JSON object; the file was altered, restore it from a backup")
    return fields


def read_line(chain: str, content: bytes, *, where: str, damaged: type[SiloSealError]) -> Line:
    """A line that should follow a line with the hash `chain`."""
    fields = parse_line(content, where=where, damaged=damaged)
    found, expected = fields.pop("chain", None), link(chain, fields)
    return Line(fields, expected, follows=found == expected)
