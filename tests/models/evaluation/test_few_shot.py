"""Accuracy over tasks: the same tasks for everyone, of held-out classes, with an honest interval."""

import pytest
import torch
from torch import Tensor

from siloseal.federation.errors import DataError
from siloseal.federation.job.sections.few_shot import ProtonetConfig
from siloseal.models.evaluation.few_shot import TaskEvaluator, draw_tasks
from siloseal.models.meta.model import FewShotModel
from siloseal.models.meta.prototypes import ProtonetModel


class Oracle(FewShotModel):
    """Images carry their class as their brightness: it names a share of them rightly, and guesses the others."""

    shape = (1, 2, 2)

    def __init__(self, right: float) -> None:
        super().__init__()
        self._right, self._generator = right, torch.Generator().manual_seed(0)

    def classify(self, support: Tensor, labels: Tensor, query: Tensor) -> Tensor:
        means = torch.stack([support[labels == label].mean() for label in range(5)])
        known = -(query.mean((1, 2, 3))[:, None] - means).abs()
        guess = torch.rand(known.shape, generator=self._generator) * 1e-9
        knows = torch.rand(len(query), 1, generator=self._generator) < self._right
        return torch.where(knows, known, guess)


def evaluator(episodes: int = 200, shots: tuple[int, ...] = (1, 5)) -> TaskEvaluator:
    labels = torch.arange(240) % 8
    images = (labels / 8).view(-1, 1, 1, 1).expand(-1, 1, 2, 2).contiguous()
    return TaskEvaluator(images, labels, ways=5, shots=shots, queries=15, episodes=episodes, seed=1)


def test_a_model_that_knows_is_always_right() -> None:
    found = evaluator().score(Oracle(1.0), shots=1)
    assert (found.mean, found.margin) == (1.0, 0.0)


def test_a_model_that_guesses_is_at_chance_within_its_interval() -> None:
    found = evaluator(600).score(Oracle(0.0), shots=1)
    assert abs(found.mean - 0.2) < 2 * found.margin  # a false alarm in ten thousand; the seed is fixed besides


def test_the_interval_covers_the_truth_as_often_as_it_says() -> None:
    truth, covered = 0.6 + 0.4 * 0.2, 0
    for seed in range(60):
        oracle = Oracle(0.6)
        oracle._generator.manual_seed(seed)
        found = evaluator(40).score(oracle, shots=1)
        covered += abs(found.mean - truth) <= found.margin
    assert 50 <= covered <= 60  # of 60 at 0.95: fewer than 50 happens once in 3,000


def test_embedding_every_image_once_changes_nothing() -> None:
    generator = torch.Generator().manual_seed(2)
    images, labels = torch.rand(160, 1, 8, 8, generator=generator), torch.arange(160) % 8
    scores = TaskEvaluator(images, labels, ways=5, shots=(1,), queries=5, episodes=20, seed=1)
    model = ProtonetModel(ProtonetConfig(kind="protonet", filters=4), (1, 8, 8))

    class Plain(FewShotModel):
        shape = (1, 8, 8)

        def classify(self, support: Tensor, labels: Tensor, query: Tensor) -> Tensor:
            return model.classify(support, labels, query)

    assert scores.score(model, shots=1).mean == pytest.approx(scores.score(Plain(), shots=1).mean, abs=0.02)


class TestTasks:
    def test_they_are_the_same_each_time_and_others_for_another_seed(self) -> None:
        labels = torch.arange(240) % 8
        one, same, other = (draw_tasks(labels, ways=5, images=20, episodes=3, seed=[s]) for s in (1, 1, 2))
        assert all(torch.equal(a, b) for a, b in zip(one, same, strict=True))
        assert not torch.equal(one[0], other[0])

    def test_each_class_is_one_row_and_no_image_comes_twice(self) -> None:
        labels = torch.arange(240) % 8
        for task in draw_tasks(labels, ways=5, images=20, episodes=20, seed=[1]):
            assert len(set(task.flatten().tolist())) == 100
            assert (labels[task] == labels[task][:, :1]).all()
            assert len(set(labels[task][:, 0].tolist())) == 5

    def test_too_few_held_out_images_are_refused_before_anything_runs(self) -> None:
        with pytest.raises(DataError, match=r"^0 .* 65 images.*evaluation\.queries"):
            evaluator(shots=(1, 50))
