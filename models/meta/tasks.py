"""A task: a few labelled images to learn from, and others to be told apart."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False, repr=False)
class Task:
    """A few-shot task. Classes are numbered 0 to ways - 1 within it."""

    support: Tensor  # (S, C, H, W), or features
    support_labels: Tensor  # (S,)
    query: Tensor  # (Q, C, H, W)
    query_labels: Tensor  # (Q,)

    def to(self, device: torch.device) -> "Task":
        """The task on a device."""
        parts = (self.support, self.support_labels, self.query, self.query_labels)
        return Task(*(part.to(device) for part in parts))


def task_of(classes: Sequence[Tensor], *, shots: int) -> Task:
    """A task from each class's images (N, C, H, W), or rows of features; the first of each class are learnt from.

    Classes may have different numbers of images, each more than `shots`.
    """
    queries = torch.tensor([len(images) - shots for images in classes])
    labels = torch.arange(len(classes))
    return Task(
        torch.cat([images[:shots] for images in classes]),
        labels.repeat_interleave(shots),
        torch.cat([images[shots:] for images in classes]),
        labels.repeat_interleave(queries),
    )
