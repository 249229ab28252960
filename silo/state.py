"""What a silo must not lose in a crash: the state of its work, how far it has come, and the last reply it gave.

Readable by the silo alone. A checkpoint is written whole or not at all, so a kill at any moment leaves a usable one.
"""

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path

import safetensors.torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from siloseal.federation.errors import LedgerDamaged, MessageError, RunError
from siloseal.federation.records.storage import Survives, make_folder, recover, sync_folder, write_atomically
from siloseal.federation.transport.wire import messages_pb2 as pb
from siloseal.federation.transport.wire.codec import decode
from siloseal.federation.transport.wire.version import PROTOCOL_VERSION, require_version_of_file

_PRIVATE = 0o600
_START = "start_model"


@dataclass(frozen=True)
class Checkpoint:
    """The state of a silo's work during or after one request, and what the next sum will be over."""

    number: int
    """Number of the request."""
    prepared: str
    """What the request prepares for a sum: a phase of training, the number of a query as text, or a module."""
    round: int = 0
    """Round of the phase, or number of the query's release or of the average, from 0."""
    start: bytes = b""
    """Digest of the public state that the work started from: a model, earlier totals, or the last average."""
    steps_done: int = 0
    """Number of training steps done; 0 in a job of queries."""
    session: bytes = b""
    """Digest of the sum that took what was prepared; empty before that."""
    sum_number: int = 0
    """Number of the request that began that sum."""
    charges: int = 0
    """Number of charges that the ledger held by then: it may hold more, and never fewer."""
    paid: bool = False
    """Whether the ledger was charged for that sum."""
    clip_norm: float = 0.0
    """Clip norm of the update, under silo-level privacy; 0 means the job's own."""
    tensors: dict[str, Tensor] = field(default_factory=dict)
    """State of the work itself: networks and optimizers, totals of a query, or what a script gave."""
    start_model: Tensor | None = None
    """Model that a training started from, where the update is what leaves."""


_NOTED = frozenset({"session", "sum_number", "charges", "paid"})
"""Words of a checkpoint that change after it was saved."""


class SiloState:
    """The files of one silo in one run."""

    def __init__(self, folder: Path, survives: Survives = Survives.POWER_CUT) -> None:
        make_folder(folder, mode=0o700, survives=survives)
        self._folder, self._survives = folder, survives
        self._checkpoint = folder / "checkpoint.safetensors"
        self._note = folder / "checkpoint.json"
        """File with what has become of the checkpoint since it was saved: the sum that took it, and its charge."""
        self._digest = ""
        """Digest of the tensors of the checkpoint."""
        self._reply = folder / "reply.bin"
        self._answered = folder / "answered"
        """File with the last reply's number once more: an old copy of the reply must not pass for the last one."""
        self._left = folder / "left"
        self._recover()

    def exists(self) -> bool:
        """Whether the silo has worked in this run before."""
        return self._checkpoint.exists() or self._reply.exists()

    def has_trained(self) -> bool:
        """Whether anything was prepared from the data in this run."""
        return self._checkpoint.exists()

    def has_left(self) -> bool:
        """Whether the silo's process ended by itself when the run was over, or has gone on to another run."""
        return self._left.exists()

    def leave(self) -> None:
        """Note that the process ends by itself, or has gone on to another run. The next one waits for another."""
        self._write(self._left, b"")

    def save(self, checkpoint: Checkpoint) -> None:
        """Replace the checkpoint."""
        tensors = checkpoint.tensors | ({} if checkpoint.start_model is None else {_START: checkpoint.start_model})
        words = _words(checkpoint) | {"digest": _digest(tensors)}
        self._write(self._checkpoint, safetensors.torch.save(tensors, words))
        self._digest = words["digest"]

    def note(self, checkpoint: Checkpoint) -> None:
        """Replace what the checkpoint says, but for its tensors, which may be large and are those that were saved."""
        words = _words(checkpoint) | {"digest": self._digest}
        self._write(self._note, json.dumps(words).encode())

    def load(self) -> Checkpoint | None:
        """The last checkpoint, if there is one."""
        self._recover()  # in the same process too, after a write that failed
        if not self._checkpoint.exists():
            return None
        try:
            with safe_open(self._checkpoint, framework="pt") as file:
                words = self._noted(file.metadata())
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no mapping)
            if words["digest"] != _digest(tensors):
                raise ValueError("its content has changed")
            self._digest = words["digest"]
            start_model = tensors.pop(_START, None)
            return Checkpoint(
                number=int(words["number"]),
                prepared=words["prepared"],
                round=int(words["round"]),
                start=bytes.fromhex(words["start"]),
                steps_done=int(words["steps_done"]),
                session=bytes.fromhex(words["session"]),
                sum_number=int(words["sum_number"]),
                charges=int(words["charges"]),
                paid=bool(int(words["paid"])),
                clip_norm=float.fromhex(words["clip_norm"]),
                tensors=tensors,
                start_model=start_model,
            )
        except (SafetensorError, KeyError, ValueError, TypeError) as error:
            raise RunError(f"{self._checkpoint} is damaged ({error}); begin another run") from error

    def _noted(self, saved: dict[str, str]) -> dict[str, str]:
        """What was noted of the checkpoint after it was saved; what was saved, if nothing was."""
        if not self._note.exists():
            return saved
        noted: dict[str, str] = json.loads(self._note.read_bytes())
        if not isinstance(noted, dict) or noted.keys() != saved.keys():
            raise ValueError(f"{self._note.name} is not as it was written")
        same = all(noted[name] == saved[name] for name in saved.keys() - _NOTED)
        return noted if same else saved  # a note of the checkpoint before

    def kept_charges(self) -> int:
        """Number of charges that the ledger held by the last checkpoint; 0 before the first. No tensor is read."""
        if not self._checkpoint.exists():
            return 0
        try:
            with safe_open(self._checkpoint, framework="pt") as file:
                return int(self._noted(file.metadata())["charges"])
        except (SafetensorError, KeyError, ValueError, TypeError) as error:
            raise LedgerDamaged(
                f"{self._checkpoint} is damaged ({error}), so nobody can tell whether the ledger beside it is whole; "
                "restore it from a backup, or remove it if you know that the ledger is"
            ) from error

    def require_whole(self, checkpoint: Checkpoint, charges: int) -> None:
        """Raise if one of ledger, checkpoint and last reply is gone or older than the others can be.

        A charge comes after a checkpoint, and a checkpoint after the first reply.
        """
        last = self.load_reply().number
        if (checkpoint.number and not last) or (charges and not checkpoint.number):
            raise RunError(
                f"{self._folder} held more: the silo has worked in this run, but its checkpoint or its last reply is "
                "gone, so it could release the same thing twice; begin another run"
            )
        if charges < checkpoint.charges:
            raise LedgerDamaged(
                f"the ledger in {self._folder} holds {charges} charges, but the silo had made {checkpoint.charges} by "
                "its last checkpoint: lines are missing; restore the file from a backup"
            )
        answered = self._answered.read_bytes() if self._answered.exists() else b""
        if answered > _sortable(last) or (last > 1 and not answered):
            raise RunError(
                f"{self._reply} does not fit {self._answered}: one of them was damaged, removed or put back from an "
                "old copy, with which the silo could answer a second time, and differently; begin another run"
            )

    def save_reply(self, last: pb.LastReply) -> None:
        """Keep a reply before it leaves, and with it, or not at all, the state in which it leaves the sum under way."""
        last.protocol_version = PROTOCOL_VERSION
        content = last.SerializeToString(deterministic=True)
        self._write(self._reply, hashlib.sha256(content).digest() + content)
        self.mark_answered(last.number)

    def mark_answered(self, number: int) -> None:
        """Note the last reply's number; again before a kept reply leaves, in case the first time was interrupted."""
        if not self._answered.exists() or self._answered.read_bytes() != _sortable(number):
            self._write(self._answered, _sortable(number))
        if self._survives is Survives.POWER_CUT:
            sync_folder(self._folder)

    def abandon(self) -> None:
        """Forget the side of a sum that never ended, and with it every key: nobody goes on with this run.

        A reply of another version of the protocol stays as it is, for the siloseal that began its run and can end it.
        """
        try:
            last = self._read_reply()
        except (RunError, MessageError):
            self._reply.unlink()  # it cannot be read, and may hold a key all the same
        else:
            if last.side and last.protocol_version == PROTOCOL_VERSION:
                last.side = b""
                self.save_reply(last)
        self.leave()

    def load_reply(self) -> pb.LastReply:
        """The last reply; number 0 before the first. `RunError` for one of another version of the protocol."""
        last = self._read_reply()
        require_version_of_file(last.protocol_version, self._reply)
        return last

    def _read_reply(self) -> pb.LastReply:
        """The last reply, of whichever version; number 0 before the first."""
        if not self._reply.exists():
            return pb.LastReply(protocol_version=PROTOCOL_VERSION)
        digest, content = (whole := self._reply.read_bytes())[:32], whole[32:]
        if hashlib.sha256(content).digest() != digest:
            raise RunError(
                f"{self._reply} is damaged; begin another run (an older copy of it would make the silo answer twice)"
            )
        return decode(pb.LastReply, content)

    def _recover(self) -> None:
        if self._survives is Survives.KILL:
            for path in (self._checkpoint, self._note, self._reply, self._answered):
                recover(path)

    def _write(self, path: Path, content: bytes) -> None:
        write_atomically(path, content, mode=_PRIVATE, survives=self._survives)


def _words(checkpoint: Checkpoint) -> dict[str, str]:
    return {
        "number": str(checkpoint.number),
        "prepared": checkpoint.prepared,
        "round": str(checkpoint.round),
        "start": checkpoint.start.hex(),
        "steps_done": str(checkpoint.steps_done),
        "session": checkpoint.session.hex(),
        "sum_number": str(checkpoint.sum_number),
        "charges": str(checkpoint.charges),
        "paid": str(int(checkpoint.paid)),
        "clip_norm": checkpoint.clip_norm.hex(),
    }


def _digest(tensors: dict[str, Tensor]) -> str:
    digest = hashlib.sha256()
    for name in sorted(tensors):
        digest.update(name.encode() + tensors[name].detach().contiguous().numpy().tobytes())
    return digest.hexdigest()


def _sortable(number: int) -> bytes:
    return f"{number:020d}".encode()
