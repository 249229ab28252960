"""What all few-shot models are for: to be shown a few labelled images, and to name others."""

from abc import ABC, abstractmethod

from torch import Tensor, nn

from siloseal.federation.shapes import ImageShape


class FewShotModel(nn.Module, ABC):
    """A model that was meta-trained, as it leaves a federation."""

    shape: ImageShape

    @abstractmethod
    def classify(self, support: Tensor, labels: Tensor, query: Tensor) -> Tensor:
        """The scores (Q, classes) of the classes, from images. `labels` number the classes from 0, without a gap."""
