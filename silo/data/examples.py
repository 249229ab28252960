"""The one form in which records travel inside a silo."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan

import numpy as np
import torch
from torch import Tensor

from siloseal.federation.errors import DataError
from siloseal.federation.shapes import Shape, image_shape

LARGEST_INPUT = 1e6


@dataclass(frozen=True, eq=False, repr=False)
class Examples:
    """Examples of one shape with what is to be learnt of each, checked once, so that no training code has to.

    It may be empty, because a Poisson sample may be. It prints its shape only: the contents are somebody's.
    """

    inputs: Tensor
    """float32 (N, ...), finite. Images are (N, C, H, W) in [0, 1]."""
    labels: Tensor
    """int64 (N, ...) in [0, classes); or float32 (N, ...), finite, where `classes` is 0: measured targets."""
    classes: int

    def __post_init__(self) -> None:
        _check_inputs(self.inputs)
        _check_labels(self.labels, self.classes)
        if len(self.inputs) != len(self.labels):
            raise DataError(
                f"found {len(self.inputs)} examples but {len(self.labels)} labels, expected one label an example; "
                "check that both come from the same split"
            )

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        return f"Examples({len(self)} of shape {self.shape}, {self.classes} classes)"

    @property
    def shape(self) -> Shape:
        """Shape of one example; channels, height and width of an image."""
        return tuple(self.inputs.shape[1:])

    def select(self, indices: Tensor) -> "Examples":
        """The examples at `indices`, in that order."""
        return Examples(self.inputs[indices], self.labels[indices], self.classes)

    def made_up(self, count: int) -> "Examples":
        """Random examples of the same shapes and classes, which nothing of these entered: other ones at every call."""
        inputs, size = torch.rand(count, *self.shape), (count, *self.labels.shape[1:])
        labels = torch.randint(self.classes, size) if self.classes else torch.rand(size)
        return Examples(inputs, labels, self.classes)

    def label_set(self) -> frozenset[int]:
        """The classes that occur here, which may be fewer than `classes`; none where targets are measured."""
        return frozenset(np.unique(self.labels.numpy()).tolist()) if self.classes else frozenset()


def joined(parts: Sequence[Examples]) -> Examples:
    """All examples of these parts, which must be of one kind."""
    if len(kinds := {(part.shape, part.classes) for part in parts}) != 1:
        raise DataError(f"the parts differ in shape or classes: {sorted(kinds)}; read them by one declaration")
    inputs, labels = torch.cat([part.inputs for part in parts]), torch.cat([part.labels for part in parts])
    return Examples(inputs, labels, parts[0].classes)


def require_images(examples: Examples) -> None:
    """`DataError` for anything but images with one class each: what generators and few-shot learners work on."""
    image_shape(examples.shape)
    if not examples.classes or examples.labels.ndim != 1:
        raise DataError("expected one class number an image; this learner knows no other targets")
    if examples.inputs.numel() == 0:
        return
    low, high = (bound.item() for bound in torch.aminmax(examples.inputs))
    if low < 0 or high > 1:
        raise DataError(f"pixels run from {low:g} to {high:g}, expected [0, 1]; rescale the images")


def _check_inputs(inputs: Tensor) -> None:
    if inputs.dtype != torch.float32 or inputs.ndim < 2 or 0 in inputs.shape[1:]:  # (N, ...)
        raise DataError(
            f"examples are {inputs.dtype} of shape {tuple(inputs.shape)}, expected torch.float32 of shape (count, ...) "
            "with at least one number an example; convert them before wrapping them"
        )
    _require_finite("examples", inputs)
    if inputs.numel() and (largest := float(inputs.abs().max())) > LARGEST_INPUT:
        raise DataError(
            f"examples hold numbers up to {largest:g} in size, expected at most {LARGEST_INPUT:g}, beyond which their "
            "squares lose precision; declare their range, which scales them"
        )


def _check_labels(labels: Tensor, classes: int) -> None:
    expected = torch.int64 if classes else torch.float32
    if labels.dtype != expected or labels.ndim < 1:
        raise DataError(
            f"labels are {labels.dtype} of shape {tuple(labels.shape)}, expected {expected} of shape (count, ...); "
            "give class numbers for each example, or measured targets and no classes"
        )
    if labels.numel() == 0:
        return
    if not classes:
        _require_finite("targets", labels)
        return
    low, high = int(labels.min()), int(labels.max())
    if low < 0 or high >= classes:
        raise DataError(
            f"labels run from {low} to {high}, expected 0 to {classes - 1}; correct the labels or the number of classes"
        )


def _require_finite(what: str, values: Tensor) -> None:
    if values.numel() == 0:
        return
    low, high = (bound.item() for bound in torch.aminmax(values))  # one pass; a NaN anywhere makes both NaN
    if isnan(low) or isnan(high) or max(abs(low), abs(high)) == float("inf"):
        raise DataError(f"{what} hold NaN or infinity, expected finite numbers; repair or remove the damaged records")
