"""What all few-shot models are for: to be shown a few labelled images, and to name others."""

from torch import Tensor, nn

Shape = tuple[int, int, int]


class FewShotModel(nn.Module):
    """A model that was meta-trained, as it leaves a federation."""

    image_shape: Shape

    def classify(self, support: Tensor, labels: Tensor, query: Tensor) -> Tensor:
        """(Q, classes): a score for each class, from images. `labels` number the classes from 0, without a gap."""
        raise NotImplementedError
