"""A task: a few labelled images to learn from, and others to be told apart."""

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


def task_of(images: Tensor, *, shots: int) -> Task:
    """A task from each class's images (ways, images, C, H, W), or rows of features; the first are learnt from."""
    ways, per_class = images.shape[:2]
    labels = torch.arange(ways)
    return Task(
        images[:, :shots].flatten(0, 1),
        labels.repeat_interleave(shots),
        images[:, shots:].flatten(0, 1),
        labels.repeat_interleave(per_class - shots),
    )
