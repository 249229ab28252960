"""What a silo keeps on the disk: its checkpoint, and what becomes of it."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from siloseal.federation.errors import RunError
from siloseal.federation.records.storage import Survives
from siloseal.federation.transport.wire import messages_pb2 as pb
from siloseal.silo.state import Checkpoint, SiloState

TRAINED = Checkpoint(4, "fedavg", 1, tensors={"weights": torch.ones(3)}, start_model=torch.zeros(3))
JOINED = replace(TRAINED, session=b"s" * 32, sum_number=5, charges=1, paid=True)


def of(checkpoint: Checkpoint | None) -> tuple[object, ...]:
    """The checkpoint without its tensors, which do not compare."""
    assert checkpoint is not None
    assert checkpoint.tensors["weights"].tolist() == [1.0] * 3
    assert checkpoint.start_model is not None
    return tuple(getattr(checkpoint, name) for name in ("number", "round", "session", "sum_number", "charges", "paid"))


@pytest.mark.parametrize("survives", Survives)
def test_a_note_changes_what_a_checkpoint_says_and_not_its_tensors(tmp_path: Path, survives: Survives) -> None:
    state = SiloState(tmp_path, survives)
    state.save(TRAINED)
    written = (tmp_path / "checkpoint.safetensors").stat().st_mtime_ns
    state.note(JOINED)
    again = SiloState(tmp_path, survives)
    assert of(again.load()) == of(JOINED)
    assert again.kept_charges() == 1
    assert (tmp_path / "checkpoint.safetensors").stat().st_mtime_ns == written


def test_a_note_on_the_checkpoint_before_says_nothing_about_the_next(tmp_path: Path) -> None:
    """Even if both hold the same tensors."""
    state = SiloState(tmp_path)
    state.save(TRAINED)
    state.note(JOINED)
    following = replace(TRAINED, number=6, round=2, charges=1)
    state.save(following)
    assert of(SiloState(tmp_path).load()) == of(following)
    state.note(replace(following, paid=True))
    assert of(SiloState(tmp_path).load()) == of(replace(following, paid=True))


def test_a_note_after_a_restart_belongs_to_the_checkpoint_that_was_loaded(tmp_path: Path) -> None:
    SiloState(tmp_path).save(TRAINED)
    again = SiloState(tmp_path)
    assert of(again.load()) == of(TRAINED)
    again.note(JOINED)
    assert of(SiloState(tmp_path).load()) == of(JOINED)


@pytest.mark.parametrize("name", ["checkpoint.safetensors", "checkpoint.json", "reply.bin", "answered"])
def test_a_simulated_silo_finds_in_the_same_process_what_a_failed_write_left_aside(tmp_path: Path, name: str) -> None:
    """The disk took neither the new content nor the old one back."""
    state = SiloState(tmp_path, Survives.KILL)
    state.save(TRAINED)
    state.note(JOINED)
    state.save_reply(pb.LastReply(number=4))
    (tmp_path / name).rename(tmp_path / f".{name}.old")
    assert of(state.load()) == of(JOINED)
    state.require_whole(JOINED, charges=1)
    assert not (tmp_path / f".{name}.old").exists()


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b'{"number": 4}', b"\xff"])
def test_a_damaged_note_ends_the_run(tmp_path: Path, content: bytes) -> None:
    """Without it the silo could give its contribution to a second sum."""
    state = SiloState(tmp_path)
    state.save(TRAINED)
    (tmp_path / "checkpoint.json").write_bytes(content)
    with pytest.raises(RunError):
        SiloState(tmp_path).load()


def test_a_checkpoint_with_other_tensors_is_damaged(tmp_path: Path) -> None:
    state = SiloState(tmp_path)
    state.save(TRAINED)
    file = tmp_path / "checkpoint.safetensors"
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    with pytest.raises(RunError):
        SiloState(tmp_path).load()
