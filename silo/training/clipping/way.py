"""The contract of a way to the clipped gradient sum."""

from collections.abc import Callable
from typing import Protocol

from torch import Tensor

from siloseal.models.learner import LabelledRows

PASS_ROWS = 128
"""Most rows of one forward pass: more take more memory, and little less time where they take less at all."""

RowLosses = Callable[[LabelledRows], Tensor]
"""The losses (rows,) of a batch: one run of the network, in which entry i depends on row i and on no other row."""


class ClippingWay(Protocol):
    """A way to the sum of a batch's clipped gradients. Norms of single rows stay inside: they carry no noise."""

    @property
    def watches_draws(self) -> bool:
        """Whether it looks if a layer draws from the process's generators, so that no other thread may draw."""

    def gradient_sum(
        self, row_losses: RowLosses, rows: LabelledRows, *, clip_norm: float, counted: Tensor | None = None
    ) -> list[Tensor]:
        """The sum over rows of g_i / max(1, |g_i| / C), where g_i is the gradient of the i-th entry of the losses.

        Gradients are those of the trainable parameters, in order, as doubles.
        Rows that the mask `counted` (rows,) leaves out run like others, and add nothing.
        """

    def sources(self, row_losses: RowLosses, rows: LabelledRows) -> list[Tensor]:
        """All that the rows' gradients are computed from, each (rows, ...), as it is when these rows run together."""
