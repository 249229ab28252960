"""What one side of a deployment did, line by line, so that it can be shown later: who, what, when, sizes, digests.

Each line of FILE is a JSON object with its number, the time, who wrote it, the event with its fields, and "chain": the
SHA-256 of the chain of the line before (of `START` for the first) followed by the line itself without its chain. So a
line that was altered, removed, repeated or moved no longer fits. Lines removed from the end leave a chain that holds,
so FILE.head, written after each line, says how many lines there are and how the chain ends.

This shows accidents, and the changes of anyone who cannot write both files, but for one: a single line more, with a
right hash, at the end of FILE looks like one whose head a crash kept from being written. It is no error, and verifying
says that the last line is not in the head; when the log is opened again it goes on behind that line. Whoever can write
both files, the owner of the machine above all, can compute every hash again and forge a log that verifies, or put older
copies of both back. Against that, keep copies elsewhere: the head of an older copy must be found in the chain of a
newer log, and the log of the other side names the same digests. The times are those of the machine's clock. What was
never recorded leaves no trace.
"""

import math
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Self

from siloseal.federation.errors import AuditDamaged, DataError, RunError
from siloseal.federation.records.chained_file import ChainedFile, End, encode_line, parse_line, read_line, whole_lines
from siloseal.federation.records.storage import write_atomically

START = "siloseal audit log, format 1"
EMPTY = End(0, 0, START)
OWN_FIELDS = ("n", "time", "who", "event", "chain")
LONGEST_TEXT = 500
LONGEST_LIST = 1000

Value = str | int | float | bool | list[str] | None


@dataclass(frozen=True)
class Entry:
    """One line of a log, and where the log stands behind it."""

    time: str
    who: str
    event: str
    fields: Mapping[str, Value]
    end: End


@dataclass(frozen=True)
class Verified:
    """A log whose chain holds and fits its head. The times are None for a log without lines."""

    lines: int
    first_time: str | None
    last_time: str | None
    last_chain: str
    size: int
    """Size of the whole lines in bytes; a torn one may lie behind them."""
    in_head: bool
    """Whether the head counts the last line too: else it is being written, or a crash or another hand added it."""
    torn: int
    """Bytes behind the last line that are no line: one is being written, or a crash or another hand left them."""


def _now() -> datetime:
    return datetime.now(UTC)


class AuditLog:
    """An append-only log. Any thread may record; a second opening of the same file is refused."""

    def __init__(self, path: Path, *, who: str, clock: Callable[[], datetime] = _now) -> None:
        _check("who", who)
        self._path, self._who, self._clock = path, who, clock
        self._lock = threading.Lock()
        in_use = RunError(f"{path} is in use by another process; stop one of the two")
        self._file = ChainedFile(path, start=START, in_use=in_use)
        self._head: End | None = None
        try:
            if path.stat().st_size == 0 and not head_path(path).exists():
                self._write_head()  # before any line, so that a log with lines and no head is always noticed
            found = verify_audit(path)
            self._file.resume(End(found.lines, found.size, found.last_chain))
            self._write_head()
        except BaseException:
            self._file.close()
            raise

    def record(self, event: str, **fields: Value) -> None:
        """Write one line, which is on the disk when this returns.

        After an `OSError` the log is whole, and goes on once there is room. The line itself is in it if only the head
        could not be written: a line that a copy elsewhere may hold already is never taken back.
        """
        if own := [name for name in OWN_FIELDS if name in fields]:
            raise DataError(f"an audit log writes the field {own[0]} by itself; give yours another name")
        for name, value in {"event": event, **fields}.items():
            _check(name, value)
        with self._lock:
            self._write_head()  # that of the line before, should it have failed: the log is never two lines ahead
            time = self._clock().astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
            number = self._file.end.lines + 1
            self._file.append({"n": number, "time": time, "who": self._who, "event": event, **fields})
            self._write_head()

    def close(self) -> None:
        """Release the file."""
        with self._lock:
            self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _write_head(self) -> None:
        end = self._file.end
        if end != self._head:
            write_atomically(head_path(self._path), encode_line({"lines": end.lines, "chain": end.chain}), mode=0o600)
            self._head = end


def head_path(path: Path) -> Path:
    """The path of the file with the number of lines and the last hash of a log."""
    return Path(f"{path}.head")


def verify_audit(path: Path) -> Verified:
    """Read the whole log, also while it is being written; `AuditDamaged` names the first line that does not fit.

    The head is read before and after the lines. A log that grows meanwhile has at least the lines of the first head,
    and at most one more than the second: the line whose head is written next, or never, where a crash came between.
    """
    head = _read_head(path)
    first, last, end = None, None, EMPTY
    _check_against(head, end, path)
    for entry in entries(path):
        first, last, end = first or entry.time, entry.time, entry.end
        _check_against(head, end, path)
    if end.lines < head.lines:
        raise AuditDamaged(
            f"{path}: found {end.lines} lines, but {head_path(path)} counts {head.lines}: the last "
            f"{head.lines - end.lines} were removed; restore the file from a backup"
        )
    now = _read_head(path)
    if now.lines < end.lines - 1:
        raise AuditDamaged(
            f"{path}: found {end.lines} lines, but {head_path(path)} counts {now.lines}: lines were added by another "
            "hand, or the head is an older one; restore both files from a backup"
        )
    return Verified(end.lines, first, last, end.chain, end.size, in_head=now.lines >= end.lines, torn=_torn(path, end))


def _torn(path: Path, end: End) -> int:
    with path.open("rb") as file:
        file.seek(end.size)
        rest = file.read()
    return 0 if b"\n" in rest else len(rest)  # whole lines came in the meantime


def entries(path: Path) -> Iterator[Entry]:
    """The lines of a log, each checked against those before it, and not against the head: see `verify_audit`."""
    end = EMPTY
    try:
        for content in whole_lines(path):
            entry = _entry(f"{path}, line {end.lines + 1}", end, content)
            end = entry.end
            yield entry
    except OSError as error:
        raise RunError(f"{path} cannot be read ({error.strerror}); give the path of an audit log") from error


def _entry(where: str, end: End, content: bytes) -> Entry:
    line = read_line(end.chain, content, where=where, damaged=AuditDamaged)
    number, expected = line.fields.get("n"), end.lines + 1
    if isinstance(number, int) and number != expected:
        raise AuditDamaged(f"{where}: {_disorder(number, expected)}; restore the file from a backup")
    # The same bytes and not only the same values: a field that is there twice reads as its last, and hides the other.
    if line.follows and encode_line({**line.fields, "chain": line.chain}) == content:
        match line.fields:
            case {"n": int(), "time": str(time), "who": str(who), "event": str(event), **fields}:
                return Entry(time, who, event, fields, end.after(content, line.chain))
    raise AuditDamaged(f"{where}: was altered, its hash does not fit; restore the file from a backup")


def _disorder(found: int, expected: int) -> str:
    if found < expected:
        return f"found number {found} where {expected} was expected: the line was repeated or moved"
    missing = f"line {expected} is" if found == expected + 1 else f"lines {expected} to {found - 1} are"
    return f"found number {found} where {expected} was expected: {missing} missing here, removed or moved"


def _read_head(path: Path) -> End:
    head = head_path(path)
    try:
        content = head.read_bytes()
    except OSError as error:
        if not path.is_file():
            raise RunError(f"{path} is not there, or not a file; give the path of an audit log") from None
        _require_first_line(path)
        raise AuditDamaged(
            f"{head} cannot be read ({error.strerror}), so that removed last lines of {path.name} could not be "
            "noticed; restore it from a backup, or keep the log elsewhere and begin another"
        ) from None
    if not path.is_file():
        raise AuditDamaged(f"{path} is gone, but {head} is there; restore the file from a backup")
    match parse_line(content, where=str(head), damaged=AuditDamaged):
        case {"lines": int(lines), "chain": str(chain)} if lines >= 0:
            return End(lines, 0, chain)
    raise AuditDamaged(f"{head}: not the head of an audit log; the file was altered, restore it from a backup")


def _require_first_line(path: Path) -> None:
    """`AuditDamaged` for a file whose first line has not the fields of an audit log's; one without lines may be new."""
    no_log = f"{path} is no audit log, as its first line shows; give the path of an audit.jsonl"
    for content in islice(whole_lines(path), 1):
        try:
            fields = parse_line(content, where=str(path), damaged=AuditDamaged)
        except AuditDamaged:
            raise AuditDamaged(no_log) from None
        if not {"n", "time", "who", "event", "chain"} <= set(fields):
            raise AuditDamaged(no_log)


def _check_against(head: End, end: End, path: Path) -> None:
    if end.lines == head.lines and end.chain != head.chain:
        raise AuditDamaged(
            f"{path}, line {end.lines}: ends in another hash than {head_path(path)} says: one of the two files was "
            "altered or replaced; restore both from a backup"
        )


def _check(name: str, value: object) -> None:
    """Refuse what could be data, weights or keys. The message never holds the value, for the same reason."""
    found = type(value).__name__
    match value:
        case None | bool():
            return
        case int() if abs(value) < 2**63:
            return
        case float() if math.isfinite(value):
            return
        case str() if len(value) <= LONGEST_TEXT:
            return
        case list() if len(value) <= LONGEST_LIST and all(isinstance(entry, str) for entry in value):
            for entry in value:
                _check(name, entry)
            return
        case str() | list():
            found += f" of length {len(value)}"
    raise DataError(
        f"the audit log's field {name} is of type {found}, but only finite numbers, texts of up to {LONGEST_TEXT} "
        "characters and lists of such texts belong there, never data, weights or keys; record a size or a digest"
    )
