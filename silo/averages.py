"""Averages at a silo: its own script trains, and hands over what it has when it likes; the silo waits for it."""

import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from siloseal.federation.averages.config import AverageJob
from siloseal.federation.averages.mean import Mean
from siloseal.federation.averages.releases import average_release, start_of
from siloseal.federation.averages.structure import Structure
from siloseal.federation.errors import MessageError, RunError, WrongRound
from siloseal.federation.job.releases import Release, Run
from siloseal.federation.records.storage import write_atomically
from siloseal.federation.transport.wire import messages_pb2 as pb
from siloseal.federation.transport.wire.codec import decode
from siloseal.silo.handover import Contribution, Handover
from siloseal.silo.state import Checkpoint
from siloseal.silo.work import Checkpoints

_GIVEN = "module"
_VECTOR, _STRUCTURE = "vector", "structure"

LAST_FILE = "last_average.bin"
"""Name of the file, in a run's folder, with the last average that the silo was told."""


class SiloAverages:
    """One silo's part in a job of averages."""

    def __init__(self, job: AverageJob, silo: str, handover: Handover, folder: Path) -> None:
        self._job, self._silo, self._handover = job, silo, handover
        self._run, self._file = folder.name, folder / LAST_FILE
        self._given: Contribution | None = None
        self._last: Mean | None = None

    def describe(self, enrolled: pb.Enrolled) -> None:
        """Add nothing: what the script trains is known when it hands something over."""

    def prepare(self, request: pb.Request, checkpoints: Checkpoints, run: Run) -> pb.Prepared:
        """Tell the script the last average, and wait for what it gives for the next, for days perhaps."""
        if request.WhichOneof("body") != "average":
            raise MessageError("the request asks for what a job of averages has not; both sides must run one version")
        number = request.average.round
        if checkpoints.at.number != request.number:
            self._begin(request.average, checkpoints.at)
            checkpoints.save(Checkpoint(request.number, "", number))
        elif checkpoints.at.round != number:
            raise WrongRound(f"request {request.number} came again, for another average than at first")
        if not checkpoints.at.prepared:
            self._given = self._handover.take()
            if self._given is None:
                return pb.Prepared(leaves=True)
            start = start_of(self._job, number, self._given.structure, self._last)
            checkpoints.save(replace(checkpoints.at, prepared=_GIVEN, start=start))
        return pb.Prepared(structure=self._contribution.structure.to_wire())

    def release(self, at: Checkpoint) -> Release:
        """The sum of just this average, over values as many as the script gave."""
        return average_release(self._job, at.round, self._contribution.structure.length)

    def vector(self, at: Checkpoint) -> NDArray[np.float64]:
        """What the script gave, weighted."""
        return self._contribution.vector

    def finish(self, request: pb.Finish) -> None:
        """Tell the script the last average, and why there are no more."""
        if request.HasField("last"):
            self._hear(request.last)
        self._handover.end(RunError(f"the run is over: {request.words}"))

    def state(self) -> dict[str, Tensor]:
        """What the script gave for the average under way."""
        if self._given is None:
            return {}
        structure = self._given.structure.to_wire().SerializeToString(deterministic=True)
        return {
            _VECTOR: torch.from_numpy(self._given.vector),
            _STRUCTURE: torch.frombuffer(bytearray(structure), dtype=torch.uint8),
        }

    def load_state(self, tensors: dict[str, Tensor]) -> None:
        """Go on from what a checkpoint kept: what was given before a crash counts, and not what is given after it.

        Only now the script hears of the job: from here on it can be told which averages are over.
        """
        self._given = None
        if _VECTOR in tensors:
            wire = decode(pb.Structure, tensors[_STRUCTURE].numpy().tobytes())
            self._given = Contribution(Structure.from_wire(wire, self._silo), tensors[_VECTOR].numpy())
        if self._file.exists():
            self._last = Mean.from_wire(self._job, decode(pb.Mean, self._read()))
        self._handover.join(self._job, run=self._run, last=self._last)

    @property
    def _contribution(self) -> Contribution:
        if self._given is None:
            raise WrongRound("the script has given nothing for this average; the aggregator must ask for it first")
        return self._given

    def _begin(self, asked: pb.Average, at: Checkpoint) -> None:
        """Check that the job has this average next, and tell the script the one before it."""
        if asked.round >= self._job.averages or (at.number and asked.round <= at.round):
            raise WrongRound(
                f"average {asked.round + 1} of {self._job.averages} was asked for after average {at.round + 1}; each "
                "is made once, and in order"
            )
        if asked.HasField("last") != (asked.round > 0) or (asked.round and asked.last.round != asked.round - 1):
            raise WrongRound(f"average {asked.round + 1} was asked for without the one before it, or with another")
        if asked.round:
            self._hear(asked.last)
        self._given = None

    def _hear(self, wire: pb.Mean) -> None:
        """Keep an average before the script is told it: a script that is killed then finds it again."""
        heard = Mean.from_wire(self._job, wire)
        content = wire.SerializeToString(deterministic=True)
        write_atomically(self._file, hashlib.sha256(content).digest() + content, mode=0o600)
        self._last = heard
        self._handover.hear(heard)

    def _read(self) -> bytes:
        digest, content = (whole := self._file.read_bytes())[:32], whole[32:]
        if hashlib.sha256(content).digest() != digest:
            raise RunError(f"{self._file} is damaged; restore it from a backup, or begin another run")
        return content
