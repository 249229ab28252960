"""Networks of somebody else's that mix rows in ways that no name tells."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from siloseal.federation.errors import UnclippableModule
from siloseal.models.learner import LabelledRows
from siloseal.silo.training.clipping.book_keeping import BookKeeping
from siloseal.silo.training.clipping.plan import clipping_plan
from siloseal.silo.training.clipping.probe import Probe
from tests.silo.training.clipping.networks import Borrowed, Case, case_of


class Centred(nn.Module):
    """Rows minus their mean over the batch, which may hide from the derivative, or from evaluation."""

    def __init__(self, *, detached: bool = False, training_only: bool = False, fewest: int = 0) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 3)
        self._detached, self._training_only, self._fewest = detached, training_only, fewest

    def forward(self, rows: Tensor) -> Tensor:
        if (self._training_only and not self.training) or len(rows) < self._fewest:
            return self.layer(rows)
        mean = rows.mean(0)
        return self.layer(rows - (mean.detach() if self._detached else mean))


class Neighbour(nn.Module):
    """Rows that see their neighbour through a term whose value is zero: only the derivative tells."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 3)

    def forward(self, rows: Tensor) -> Tensor:
        beside = rows.roll(1, 0)
        return self.layer(rows + (beside - beside.detach()))


class Counting(nn.Module):
    """A buffer that counts what it has seen, by a new tensor each time."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 3)
        self.register_buffer("seen", torch.zeros(4, dtype=torch.float64))

    def forward(self, rows: Tensor) -> Tensor:
        self.seen = self.seen + rows.detach().sum(0)
        return self.layer(rows)


MIXING: dict[str, Callable[[], nn.Module]] = {
    "mean over the batch": Centred,
    "detached mean over the batch": lambda: Centred(detached=True),
    "mean over the batch in training": lambda: Centred(training_only=True),
    "neighbour": Neighbour,
    "mean over a large batch": lambda: Centred(fewest=9),
    "attention over the batch": lambda: nn.Sequential(
        nn.Unflatten(1, (1, 4)), nn.TransformerEncoderLayer(4, 2, 8), nn.Flatten(), nn.Linear(4, 3)
    ),
    "counting buffer": Counting,
    "spectral norm": lambda: nn.Sequential(nn.utils.parametrizations.spectral_norm(nn.Linear(4, 3))),
}


@pytest.mark.parametrize("name", MIXING)
def test_a_network_that_mixes_rows_or_keeps_their_trace_is_refused(name: str) -> None:
    torch.manual_seed(1)
    case = Case(MIXING[name]().double(), (4,), words=False)
    with pytest.raises(UnclippableModule):
        clipping_plan(case.module, case.row_losses, case.public_rows, rows_may_share=True)


def test_words_that_meet_over_the_batch_are_noticed_without_a_derivative() -> None:
    class Shared(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words, self.head = nn.Embedding(7, 4), nn.Linear(4, 3)

        def forward(self, rows: Tensor) -> Tensor:
            found: Tensor = self.words(rows).mean(1)
            return self.head(found / found.norm())

    torch.manual_seed(1)
    case = Case(Shared().double(), (7,), words=True)
    with pytest.raises(UnclippableModule):
        clipping_plan(case.module, case.row_losses, case.public_rows, rows_may_share=True)


def test_losses_that_share_a_mean_are_refused() -> None:
    case = case_of("linear")

    def row_losses(rows: LabelledRows) -> Tensor:
        losses = case.row_losses(rows)
        return losses / losses.sum()

    with pytest.raises(UnclippableModule):
        clipping_plan(case.module, row_losses, case.public_rows, rows_may_share=True)


def test_books_that_miss_a_use_of_a_weight_do_not_agree() -> None:
    torch.manual_seed(1)
    case = Case(Borrowed().double(), (4,), words=False)
    assert not Probe(case.module, case.row_losses, case.public_rows).agrees(BookKeeping(case.module))


@pytest.mark.parametrize(
    "change", [lambda losses: losses[:1], lambda losses: losses.repeat(2), lambda losses: losses[0]]
)
def test_every_row_has_one_loss(change: Callable[[Tensor], Tensor]) -> None:
    case = case_of("linear")
    with pytest.raises(UnclippableModule):
        clipping_plan(case.module, lambda rows: change(case.row_losses(rows)), case.public_rows, rows_may_share=True)
