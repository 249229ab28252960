"""The smallest learner that is trained on real images: audits train it thousands of times."""

from torch import nn

from siloseal.models.classifier.learner import ClassifierLearner
from siloseal.silo.data.examples import Examples


class SoftmaxLearner(ClassifierLearner):
    """Softmax regression, which keeps its weights after every step: all of them count as released."""

    def __init__(self, images: Examples) -> None:
        self._layer = nn.Linear(images.inputs[0].numel(), images.classes, bias=False)
        nn.init.zeros_(self._layer.weight)
        super().__init__(nn.Sequential(nn.Flatten(), self._layer))
        self.released = [self._layer.weight.detach().clone()]

    def public_step(self) -> None:
        """Keep the weights: what a white-box attacker sees of a step."""
        super().public_step()
        self.released.append(self._layer.weight.detach().clone())
