"""A silo that is killed, or whose disk is full, goes on from what is on the disk."""

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch

from siloseal.federation.transport.wire import messages_pb2 as pb
from siloseal.federation.transport.wire.codec import decode
from siloseal.silo.state import Checkpoint
from siloseal.silo.training.work import MOST_STEPS_LOST

from .conftest import Bench

SHORT = {"kind": "two_phase", "batch": 48, "local_steps": 8, "tuning_rounds": 2, "tuning_steps": 3}


def test_kills_between_a_reply_and_its_mark_do_not_add_up(bench: Bench, tmp_path: Path) -> None:
    """Each time the silo has its reply on the disk and not yet the number beside it."""
    bench.silo.close()
    bench.folder = tmp_path / "another"
    bench.silo = bench.start()

    def killed(request: bytes) -> pb.Reply:
        bench.silo._state.mark_answered = die
        with pytest.raises(Killed):
            bench.silo.answer(request)
        bench.restart()
        return decode(pb.Reply, bench.silo.answer(request))

    bench.enrolled = killed(bench.request(-2, enrol=pb.Enrol())).enrolled
    bench.nonce = killed(bench.request(-1, begin=bench.everyone())).begun.nonce
    assert killed(bench.request(0, nonces=bench.nonces())).WhichOneof("body") == "ready"
    assert killed(bench.train_request(1, "phase_1")).WhichOneof("body") == "prepared"


class Killed(BaseException):
    """No error that anything handles."""


def die(*_: object) -> None:
    raise Killed


def full_after(bench: Bench, checkpoints: int) -> None:
    """The disk takes a few more checkpoints, refuses one, and has room again."""
    save, written = bench.silo._state.save, list[Checkpoint]()

    def maybe_full(checkpoint: Checkpoint) -> None:
        written.append(checkpoint)
        if len(written) == checkpoints + 1:
            raise OSError(28, "No space left on device")
        save(checkpoint)

    bench.silo._state.save = maybe_full


TASK_LEVEL = {"kind": "task_level", "epsilon": 10, "delta": 1e-4}
TASKS = {"filters": 4, "shots": 1, "queries": 2}
LEARNERS: dict[str, dict[str, Any]] = {
    "gan": {},
    "protonet": {"learner": {"kind": "protonet", **TASKS}, "privacy": TASK_LEVEL},
    "meta_lstm": {"learner": {"kind": "meta_lstm", "hidden": 2, "inner_steps": 1, **TASKS}, "privacy": TASK_LEVEL},
    "embedding": {"learner": {"kind": "embedding", "filters": 4, "average_decay": 0.9}},
}


def test_a_silo_that_dies_far_from_its_start_is_pulled_back_to_it_all_the_same(
    bench_of: Callable[..., Bench], tmp_path: Path
) -> None:
    """A restart that took its last checkpoint for the start of the round would end elsewhere."""
    near = {"kind": "dp_sgd", "learning_rate": 0.05, "proximal": 10}
    bench = bench_of(
        data={"kind": "digits", "hold_out": "classes"},
        evaluation={},
        optimizer=near,
        schedule={**SHORT, "local_steps": 30, "tuning_rounds": 30},
        **LEARNERS["embedding"],
    )
    bench.model = bench.model / 2  # not where a new process begins by itself
    bench.train(1)
    undisturbed = bench.silo.work._learner.vector().clone()
    bench.silo.close()
    bench.folder = tmp_path / "another"
    bench.silo = bench.start()
    bench.enrol()
    bench.silo.work._publish = die  # when the first chunk is on the disk
    with pytest.raises(Killed):
        bench.train(1)
    bench.silo.close()
    bench.silo = bench.start()
    assert bench.silo.at.steps_done == 10
    assert bench.train(1).WhichOneof("body") == "prepared"
    assert torch.equal(bench.silo.work._learner.vector(), undisturbed)


@pytest.mark.parametrize(
    ("learner", "checkpoints"), [*(("gan", n) for n in range(4)), ("protonet", 1), ("meta_lstm", 1), ("embedding", 1)]
)
def test_a_full_disk_in_training_costs_a_charge_and_nothing_else(
    bench_of: Callable[..., Bench], tmp_path: Path, learner: str, checkpoints: int
) -> None:
    """The same process goes on from what is on the disk, to the same model."""
    few_shot = {} if learner == "gan" else {"data": {"kind": "digits", "hold_out": "classes"}, "evaluation": {}}
    schedule = {**SHORT, "batch": 48 if learner in ("gan", "embedding") else 4, "local_steps": 30, "tuning_rounds": 30}
    bench = bench_of(schedule=schedule, **few_shot, **LEARNERS[learner])
    bench.train(1)
    undisturbed = bench.silo.work._learner.vector().clone()
    bench.silo.close()
    bench.folder = tmp_path / "another"
    bench.silo = bench.start()
    bench.enrol()
    full_after(bench, checkpoints)
    with pytest.raises(OSError, match="No space"):
        bench.train(1)
    assert bench.train(1).WhichOneof("body") == "prepared"
    assert torch.equal(bench.silo.work._learner.vector(), undisturbed)
    assert bench.silo.ledger is not None
    assert len(bench.silo.ledger.charges) == 3 + (checkpoints > 0)


def test_a_kill_after_a_full_disk_finds_a_state_that_fits_the_ledger(bench: Bench) -> None:
    full_after(bench, 0)
    with pytest.raises(OSError, match="No space"):
        bench.train(1)
    bench.silo.work._learner.public_step = die
    with pytest.raises(Killed):
        bench.train(1)
    bench.restart()
    assert bench.train(1).WhichOneof("body") == "prepared"


def test_training_that_a_crash_interrupted_goes_on_from_its_checkpoint(bench_of: Callable[..., Bench]) -> None:
    """The first chunk is kept; the second, charged and lost, stays charged: over-counted, never under-counted."""
    bench = bench_of(schedule={**SHORT, "local_steps": 80, "tuning_rounds": 30})

    def die_in_the_second_chunk(*_: object) -> None:
        learner = bench.silo.work._learner
        learner.public_step = lambda: (_ for _ in ()).throw(Killed)  # type: ignore[method-assign]

    bench.silo.work._publish = die_in_the_second_chunk
    with pytest.raises(Killed):
        bench.train(1)
    bench.restart()
    prepared = bench.train(1).prepared
    assert bench.silo.ledger is not None
    charged = [charge.event.steps for charge in bench.silo.ledger.charges]  # type: ignore[union-attr]
    assert (bench.silo.at.steps_done, prepared.stopped_by_budget) == (80, False)
    assert charged == [10] * 9  # of which one was lost


UNCHARGED: dict[str, Any] = {
    "evaluation": {},
    "learner": {"kind": "classifier", "model": "logistic"},
    "optimizer": {"kind": "dp_sgd", "learning_rate": 0.1},
    "privacy": {"kind": "none"},
    "warm_start": {"kind": "none"},
}


@pytest.mark.parametrize("steps", [80, 240, 300, 490, 600])
def test_a_crash_loses_few_steps_that_nobody_is_charged_for(bench_of: Callable[..., Bench], steps: int) -> None:
    """Chunks of 10, 24, 30, 49 and 50 steps. What is lost at most is what lies between two checkpoints."""
    bench = bench_of(schedule={**SHORT, "local_steps": steps}, **UNCHARGED)
    save, saved = bench.silo._state.save, [0]

    def counted(checkpoint: Checkpoint) -> None:
        saved.append(checkpoint.steps_done)
        save(checkpoint)

    bench.silo._state.save = counted
    bench.train(1)
    assert saved[-1] == steps
    lost = [later - earlier for earlier, later in pairwise(saved)]
    assert max(lost) <= MOST_STEPS_LOST
    assert sum(lost[:2]) > MOST_STEPS_LOST // 2, "a checkpoint after every step would lose less, and take longer"


def test_a_copy_of_the_initial_state_is_kept_until_the_first_checkpoint(bench: Bench) -> None:
    assert bench.silo.work._initial
    full_after(bench, 0)
    with pytest.raises(OSError, match="No space"):
        bench.train(1)
    assert bench.silo.work._initial, "there is nothing on the disk to go on from"
    bench.train(1)
    assert not bench.silo.work._initial
    bench.restart()
    assert not bench.silo.work._initial


def test_networks_of_a_silo_that_builds_them_when_asked_are_built_anew(bench_of: Callable[..., Bench]) -> None:
    """After a failure before the first checkpoint: they have been trained, and nothing says how far."""
    bench = bench_of(**UNCHARGED)
    work = bench.silo.work
    work._initial = {}  # as of a silo that was opened with networks="when_asked"
    trained = work._trainer
    trained.train(3, phase="phase_1")
    work.load_state({})
    assert work._learner.vector().tolist() == bench.model.tolist()
    assert work._trainer is not trained
    work._trainer.train(1, phase="phase_1")
    assert work._learner.vector().tolist() != bench.model.tolist(), "the new trainer trains the new networks"
