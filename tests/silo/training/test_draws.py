"""What a network draws in a private step: fresh, secret, its own, and of no consequence for what is drawn afterwards."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import get_args

import pytest
import torch
from torch import Tensor, nn

from siloseal.federation.errors import RunError
from siloseal.federation.job.sections.supervised import BuiltInNetwork
from siloseal.federation.randomness import SecureRandomness, SeededRandomness
from siloseal.models.classifier.learner import ClassifierLearner
from siloseal.models.classifier.networks import built_in
from siloseal.models.learner import LabelledRows
from siloseal.models.meta.tasks import Task
from siloseal.models.process_randomness import RandomStates
from siloseal.silo.data.examples import Examples
from siloseal.silo.training.device import CPU
from siloseal.silo.training.draws import may_draw
from siloseal.silo.training.gradients import TaskGradients, UnitGradients, unit_gradients

ROWS = torch.arange(9)


def data() -> Examples:
    random = torch.Generator().manual_seed(1)
    return Examples(torch.rand(9, 6, generator=random), torch.arange(9) % 3, 3)


def dropout(*, own: bool = False) -> ClassifierLearner:
    """A network with dropout: of torch's layers alone, or with code of a user's own."""

    class Own(nn.Sequential):
        def forward(self, rows: Tensor) -> Tensor:
            return super().forward(rows)

    torch.manual_seed(0)
    return ClassifierLearner((Own if own else nn.Sequential)(nn.Linear(6, 32), nn.Dropout(0.5), nn.Linear(32, 3)))


class Drawing:
    """A learner of tasks whose gradients are what it draws."""

    private_module = nn.Linear(6, 1, bias=False)

    def task_gradients(self, tasks: Sequence[Task]) -> Iterator[Tensor]:
        for _ in tasks:
            yield torch.randn(6)


class Tasks:
    """Tasks that hold nothing."""

    def __len__(self) -> int:
        return 9

    def select(self, indices: Tensor) -> list[Tensor]:
        return list(indices)  # a tensor can be moved to a device, as a task can


SUMS: dict[str, Callable[[], UnitGradients]] = {
    "layers of torch": lambda: unit_gradients(dropout(), data()),
    "own code": lambda: unit_gradients(dropout(own=True), data()),
    "tasks": lambda: TaskGradients(Drawing(), Tasks(), CPU, randomness=SecureRandomness()),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("kind", SUMS)
def test_two_steps_from_one_seed_of_torch_draw_otherwise(kind: str) -> None:
    gradients, found = SUMS[kind](), []
    gradients.require_clippable()
    for _ in range(2):
        torch.manual_seed(5)
        found.append(gradients.sum(ROWS, clip_norm=1.0))
    assert not torch.allclose(*found)


@pytest.mark.parametrize("kind", SUMS)
def test_after_a_private_step_the_generator_goes_on_as_if_nothing_was_drawn(kind: str) -> None:
    gradients = SUMS[kind]()
    gradients.require_clippable()
    before = RandomStates.now()
    gradients.sum(ROWS, clip_norm=1.0)
    assert before.equals(RandomStates.now())


def test_what_is_drawn_follows_from_the_silos_own_randomness() -> None:
    """So that a test, or a step that a crash repeats, draws the same again, whatever torch's seed is."""
    found = []
    for seed in range(2):
        gradients = unit_gradients(dropout(), data(), randomness=SeededRandomness(3))
        torch.manual_seed(seed)
        found.append(gradients.sum(ROWS, clip_norm=1.0))
    assert torch.equal(*found)


def test_without_privacy_torchs_own_generator_is_drawn_from() -> None:
    gradients, found = unit_gradients(dropout(), data()), []
    for _ in range(2):
        torch.manual_seed(5)
        found.append(gradients.sum(ROWS, clip_norm=None))
    assert torch.equal(*found)


def test_a_learner_that_seeds_torch_while_it_sees_data_is_refused() -> None:
    class Seeding(ClassifierLearner):
        def row_losses(self, rows: LabelledRows) -> Tensor:
            torch.manual_seed(0)
            return super().row_losses(rows)

    gradients = unit_gradients(Seeding(nn.Linear(6, 3)), data())
    with pytest.raises(RunError):
        gradients.sum(ROWS, clip_norm=1.0)


def test_two_silos_in_threads_draw_each_from_its_own_source() -> None:
    """Each finds what it finds alone: 100 steps of each, and no draw of one enters the other."""

    def steps(seed: int, found: list[Tensor]) -> None:
        gradients = unit_gradients(learners.pop(), data(), randomness=SeededRandomness(seed))
        found += [gradients.sum(ROWS, clip_norm=1.0) for _ in range(100)]

    alone, together = ([list[Tensor](), list[Tensor]()] for _ in range(2))
    learners = [dropout() for _ in range(4)]  # made before, because that seeds torch
    before = RandomStates.now()
    for seed, found in enumerate(alone):
        steps(seed, found)
    threads = [threading.Thread(target=steps, args=each) for each in enumerate(together)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [len(found) for found in together] == [100, 100]
    for one, other in zip(alone, together, strict=True):
        assert torch.equal(torch.stack(one), torch.stack(other))
    assert not torch.equal(alone[0][0], alone[1][0])
    assert before.equals(RandomStates.now())


@pytest.mark.parametrize("drawing", [False, True])
def test_two_silos_are_in_a_step_at_the_same_time_unless_they_draw(
    monkeypatch: pytest.MonkeyPatch, drawing: bool
) -> None:
    """Both wait for each other within their losses: with draws neither comes, and the wait is broken off."""
    learners = [dropout() if drawing else ClassifierLearner(nn.Linear(6, 3)) for _ in range(2)]
    every = [unit_gradients(learner, data()) for learner in learners]
    for gradients in every:
        gradients.require_clippable()
    real, meeting, met = ClassifierLearner.row_losses, threading.Barrier(2), list[bool]()

    def waiting(self: ClassifierLearner, rows: LabelledRows) -> Tensor:
        with suppress(threading.BrokenBarrierError):
            meeting.wait(timeout=1.0 if drawing else 60.0)
            met.append(True)
        return real(self, rows)

    monkeypatch.setattr(ClassifierLearner, "row_losses", waiting)
    threads = [threading.Thread(target=gradients.sum, args=(ROWS,), kwargs={"clip_norm": 1.0}) for gradients in every]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(met) == (0 if drawing else 2)


@pytest.mark.parametrize("name", get_args(BuiltInNetwork))
def test_our_own_networks_draw_nothing_so_that_silos_train_at_the_same_time(name: BuiltInNetwork) -> None:
    """Other learners are in `tests/contracts/test_learners.py`."""
    learner = ClassifierLearner(built_in(name, (1, 16, 16), 3))
    images = Examples(torch.rand(9, 1, 16, 16), torch.arange(9) % 3, 3)
    before = RandomStates.now()
    unit_gradients(learner, images).sum(ROWS, clip_norm=None)
    assert before.equals(RandomStates.now())
    assert not may_draw(learner)


def test_a_private_step_that_draws_nothing_leaves_the_silos_randomness_alone() -> None:
    class Untouched(SeededRandomness):
        def bits(self, count: int) -> bytes:
            raise AssertionError

    gradients = unit_gradients(ClassifierLearner(nn.Linear(6, 3)), data(), randomness=Untouched(1))
    assert gradients.sum(ROWS, clip_norm=1.0).any()


@pytest.mark.parametrize("layer", [nn.Dropout(0.1), nn.RReLU(), nn.LSTM(6, 6, dropout=0.1, num_layers=2)], ids=str)
def test_a_layer_that_draws_may_draw(layer: nn.Module) -> None:
    assert may_draw(ClassifierLearner(nn.Sequential(nn.Linear(6, 6), layer)))


def test_code_of_a_users_own_may_draw() -> None:
    class Own(nn.Linear): ...

    class OwnLearner(ClassifierLearner): ...

    assert may_draw(ClassifierLearner(Own(6, 3)))
    assert may_draw(OwnLearner(nn.Linear(6, 3)))
    assert not may_draw(ClassifierLearner(nn.Linear(6, 3)))
