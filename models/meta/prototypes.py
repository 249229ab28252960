"""Models that compare images in feature space: a class is the mean of its embedded examples."""

import torch
from torch import Tensor
from torch.nn import functional

from siloseal.federation.job.sections.few_shot import EmbeddingConfig, ProtonetConfig
from siloseal.federation.shapes import ImageShape
from siloseal.models.meta.model import FewShotModel
from siloseal.models.meta.network import build_body


class ProtonetModel(FewShotModel):
    """A model whose scores are minus squared distances to the classes' means (Snell, Swersky and Zemel 2017)."""

    def __init__(self, config: ProtonetConfig | EmbeddingConfig, shape: ImageShape) -> None:
        super().__init__()
        self.shape = shape
        self.body = build_body(config.network, shape, config.filters)

    def features(self, images: Tensor) -> Tensor:
        """The features by which images are compared."""
        rows: Tensor = self.body(images)
        return rows

    def compare(self, support: Tensor, labels: Tensor, query: Tensor) -> Tensor:
        """The scores (Q, ways) of the classes, from features."""
        return -_squared_distances(query, _means(support, labels))

    def classify(self, support: Tensor, labels: Tensor, query: Tensor) -> Tensor:
        """The scores (Q, ways) of the classes, from images."""
        features = self.features(torch.cat([support, query]))
        return self.compare(features[: len(support)], labels, features[len(support) :])


class EmbeddingModel(ProtonetModel):
    """Features of a classifier, made comparable across tasks (Wang et al. 2019, "SimpleShot").

    They are centred by the mean of what the task gives to learn from, where the paper takes the mean of all training
    images: that one is a statistic of private data.
    """

    def compare(self, support: Tensor, labels: Tensor, query: Tensor) -> Tensor:
        """The scores (Q, ways) of the classes, from features."""
        centre = support.mean(0)
        return super().compare(
            functional.normalize(support - centre, dim=1), labels, functional.normalize(query - centre, dim=1)
        )


def _means(rows: Tensor, labels: Tensor) -> Tensor:
    """The means (ways, F) of each class's rows."""
    members = functional.one_hot(labels).to(rows.dtype)  # (S, ways)
    return (members.T @ rows) / members.sum(0)[:, None]


def _squared_distances(rows: Tensor, centres: Tensor) -> Tensor:
    return (rows[:, None] - centres[None]).square().sum(2)
