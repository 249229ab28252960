"""Few-shot models as learners. The unit of privacy is one task; for the embedding, one example."""

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from siloseal.models.learner import LabelledRows
from siloseal.models.meta.inner_loop import ReptileModel, flat
from siloseal.models.meta.model import FewShotModel
from siloseal.models.meta.prototypes import EmbeddingModel
from siloseal.models.meta.tasks import Task
from siloseal.models.module_learner import ModuleLearner

TEMPERATURE = 16.0
"""Length of an image's features before the linear layer. They are compared by direction, so they are trained so."""


class TaskLossLearner(ModuleLearner[FewShotModel]):
    """A learner of tasks by the loss on their queries: prototypical networks, and the LSTM meta-learner."""

    def task_gradients(self, tasks: Sequence[Task]) -> Iterator[Tensor]:
        """One flat gradient a task."""
        parameters = list(self._model.parameters())
        for task in tasks:
            logits = self._model.classify(task.support, task.support_labels, task.query)
            loss = functional.cross_entropy(logits, task.query_labels)
            gradients = torch.autograd.grad(loss, parameters, materialize_grads=True)
            yield torch.cat([gradient.reshape(-1) for gradient in gradients])


class ReptileLearner(ModuleLearner[ReptileModel]):
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


class EmbeddingLearner(ModuleLearner[EmbeddingModel]):
    """A learner that tells the silo's own classes apart. The features are shared; the classes stay with the silo."""

    def __init__(self, model: EmbeddingModel, *, labels: Sequence[int], average_decay: float) -> None:
        super().__init__(model, average_decay=average_decay)
        self._labels = torch.tensor(sorted(set(labels)))
        self._classifier = _Classifier(model, len(self._labels))

    @property
    def private_module(self) -> nn.Module:
        """The embedding and the layer for the silo's classes, which starts at zeros."""
        return self._classifier

    def declared(self, labels: Tensor) -> Tensor:
        """Classes that the silo declares, in place of any: rows that are made up may be of all classes."""
        return self._labels.to(labels.device)[labels % len(self._labels)]

    def row_losses(self, rows: LabelledRows) -> Tensor:
        """Cross entropy of each example's class among those that the silo declares."""
        targets = torch.searchsorted(self._labels.to(rows.labels.device), rows.labels)
        return functional.cross_entropy(self._classifier(rows.inputs), targets, reduction="none")
