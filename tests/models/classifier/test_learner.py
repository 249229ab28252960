import torch
from torch import nn

from siloseal.models.classifier.learner import ClassifierLearner
from siloseal.silo.data.examples import Examples


def test_the_loss_of_a_row_is_the_cross_entropy_of_its_class() -> None:
    network = nn.Linear(3, 4)
    rows = Examples(torch.rand(5, 3), torch.tensor([0, 3, 1, 1, 2]), 4)
    losses = ClassifierLearner(network).row_losses(rows)
    expected = -torch.log_softmax(network(rows.inputs), 1)[torch.arange(5), rows.labels]
    assert torch.allclose(losses, expected)


def test_an_empty_batch_has_no_losses() -> None:
    rows = Examples(torch.rand(0, 3), torch.zeros(0, dtype=torch.int64), 4)
    assert ClassifierLearner(nn.Linear(3, 4)).row_losses(rows).shape == (0,)
