"""The one shape in which images and labels travel inside a silo."""

from dataclasses import dataclass
from math import isnan

import torch
from torch import Tensor

from siloseal.federation.errors import DataError


@dataclass(frozen=True, eq=False, repr=False)
class LabelledImages:
    """Images in [0, 1] with their classes, checked once, so that no training code has to.

    It may be empty, because a Poisson sample may be. It prints its shape only: the pixels are somebody's.
    """

    images: Tensor  # float32 (N, C, H, W), in [0, 1]
    labels: Tensor  # int64 (N,), in [0, classes)
    classes: int

    def __post_init__(self) -> None:
        _check_images(self.images)
        _check_labels(self.labels, self.classes)
        if len(self.images) != len(self.labels):
            raise DataError(
                f"found {len(self.images)} images but {len(self.labels)} labels, expected one label an image; "
                "check that both come from the same split"
            )

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        return f"LabelledImages({len(self)} images of {self.image_shape}, {self.classes} classes)"

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """Channels, height and width of an image."""
        _, channels, height, width = self.images.shape
        return channels, height, width

    def select(self, indices: Tensor) -> "LabelledImages":
        """The examples at `indices`, in that order."""
        return LabelledImages(self.images[indices], self.labels[indices], self.classes)

    def label_set(self) -> frozenset[int]:
        """The classes that occur here, which may be fewer than `classes`."""
        return frozenset(self.labels.tolist())


def _check_images(images: Tensor) -> None:
    if images.dtype != torch.float32 or images.ndim != 4:  # (N, C, H, W)
        raise DataError(
            f"images are {images.dtype} of shape {tuple(images.shape)}, expected torch.float32 of shape "
            "(count, channels, height, width); convert them before wrapping them"
        )
    if images.shape[1] not in (1, 3) or 0 in images.shape[2:]:
        raise DataError(
            f"images have {images.shape[1]} channels of {images.shape[2]}x{images.shape[3]} pixels, expected 1 or 3 "
            "channels and at least one pixel; convert them to greyscale or RGB"
        )
    if images.numel() == 0:
        return
    low, high = (bound.item() for bound in torch.aminmax(images))  # one pass; a NaN anywhere makes both NaN
    if isnan(low) or isnan(high):
        raise DataError("images hold NaN, expected pixels in [0, 1]; repair or remove the damaged images")
    if low < 0 or high > 1:
        raise DataError(f"pixels run from {low:g} to {high:g}, expected [0, 1]; rescale the images")


def _check_labels(labels: Tensor, classes: int) -> None:
    if labels.dtype != torch.int64 or labels.ndim != 1:
        raise DataError(
            f"labels are {labels.dtype} of shape {tuple(labels.shape)}, expected torch.int64 of shape (count,); "
            "give one class number an image"
        )
    if len(labels) == 0:
        return
    low, high = int(labels.min()), int(labels.max())
    if low < 0 or high >= classes:
        raise DataError(
            f"labels run from {low} to {high}, expected 0 to {classes - 1}; correct the labels or the number of classes"
        )
