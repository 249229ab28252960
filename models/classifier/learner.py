"""A classifier as a learner: every example is protected on its own."""

from torch import Tensor, nn
from torch.nn import functional

from siloseal.models.learner import LabelledRows
from siloseal.models.module_learner import ModuleLearner


class ClassifierLearner(ModuleLearner[nn.Module]):
    """A learner that names each example's class."""

    def row_losses(self, rows: LabelledRows) -> Tensor:
        """Cross entropy of each example's class."""
        return functional.cross_entropy(self.private_module(rows.inputs), rows.labels, reduction="none")
