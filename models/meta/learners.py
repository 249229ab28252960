"""Few-shot models as learners. The unit of privacy is one task; for the embedding, one example."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Generic, TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from siloseal.models.checkpoints import State, part_of, require_same_shapes, under
from siloseal.models.learner import LabelledRows
from siloseal.models.meta.inner_loop import ReptileModel, flat
from siloseal.models.meta.model import FewShotModel
from siloseal.models.meta.prototypes import EmbeddingModel
from siloseal.models.meta.tasks import Task
from siloseal.models.running_average import RunningAverage
from siloseal.models.vectors import flatten, load_flat

M = TypeVar("M", bound=FewShotModel)

TEMPERATURE = 16.0
"""Length of an image's features before the linear layer. They are compared by direction, so they are trained so."""


class _FewShotLearner(Generic[M]):
    """A learner that shares what sees data, as its running average: there is no public part that learns from it."""

    def __init__(self, model: M, *, average_decay: float) -> None:
        self._model = model
        self._average = RunningAverage(model, average_decay)

    @property
    def private_module(self) -> nn.Module:
        """The model."""
        return self._model

    @property
    def shared_model(self) -> M:
        """The model that leaves the silo."""
        return self._average.network

    def public_step(self) -> None:
        """Let the average follow the model."""
        self._average.follow()

    def public_metrics(self) -> Mapping[str, float]:
        """No metrics: every loss or accuracy here would be measured on private tasks."""
        return {}

    def vector(self) -> Tensor:
        """The shared model, flat."""
        return flatten([self._average.network])

    def load(self, vector: Tensor) -> None:
        """Take over a shared model."""
        load_flat([self._average.network], vector)
        self._average.restart()

    def state(self) -> State:
        """The model, with what is the silo's own, and the average."""
        return under("model", self.private_module.state_dict()) | under("average", self._average.state())

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """The inverse of `state`."""
        require_same_shapes(state, self.state())
        self.private_module.load_state_dict(part_of("model", state))
        self._average.load_state(part_of("average", state))


class TaskLossLearner(_FewShotLearner[FewShotModel]):
    """A learner of tasks by the loss on their queries: prototypical networks, and the LSTM meta-learner."""

    def task_gradients(self, tasks: Sequence[Task]) -> Iterator[Tensor]:
        """One flat gradient a task."""
        parameters = list(self._model.parameters())
        for task in tasks:
            logits = self._model.classify(task.support, task.support_labels, task.query)
            loss = functional.cross_entropy(logits, task.query_labels)
            gradients = torch.autograd.grad(loss, parameters, materialize_grads=True)
            yield torch.cat([gradient.reshape(-1) for gradient in gradients])


class ReptileLearner(_FewShotLearner[ReptileModel]):
    """A learner that moves the initialisation to where tasks lead: the way there, in steps, is its gradient."""

    def task_gradients(self, tasks: Sequence[Task]) -> Iterator[Tensor]:
        """One way a task, flat: the sum of its gradients. All its images are learnt from."""
        initial = flat(self._model.body).detach()
        for task in tasks:
            images, labels = torch.cat([task.support, task.query]), torch.cat([task.support_labels, task.query_labels])
            yield (initial - self._model.learn(images, labels)[: len(initial)]) / self._model.rate


class _Classifier(nn.Module):
    """The embedding with a linear layer for the silo's own classes."""

    def __init__(self, model: EmbeddingModel, classes: int) -> None:
        super().__init__()
        self.model = model
        self.head = nn.Linear(model.body.features, classes, bias=False)
        nn.init.zeros_(self.head.weight)

    def forward(self, images: Tensor) -> Tensor:
        logits: Tensor = self.head(TEMPERATURE * functional.normalize(self.model.features(images), dim=1))
        return logits


class EmbeddingLearner(_FewShotLearner[EmbeddingModel]):
    """A learner that tells the silo's own classes apart. The features are shared; the classes stay with the silo."""

    def __init__(self, model: EmbeddingModel, *, labels: Sequence[int], average_decay: float) -> None:
        super().__init__(model, average_decay=average_decay)
        self._labels = torch.tensor(sorted(set(labels)))
        self._classifier = _Classifier(model, len(self._labels))

    @property
    def private_module(self) -> nn.Module:
        """The embedding and the layer for the silo's classes, which starts at zeros."""
        return self._classifier

    def row_losses(self, units: LabelledRows) -> Tensor:
        """Cross entropy of each example's class among those that the silo declares."""
        targets = torch.searchsorted(self._labels, units.labels)
        return functional.cross_entropy(self._classifier(units.inputs), targets, reduction="none")
