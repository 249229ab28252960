"""The shape of one example, on which all silos of a job agree."""

from typing import TypeGuard

from siloseal.federation.errors import DataError

Shape = tuple[int, ...]
"""Sizes of one example, as a tensor."""

ImageShape = tuple[int, int, int]
"""Channels, height and width of an image."""

MOST_DIMENSIONS = 8
LARGEST_EXAMPLE = 3 * 4096 * 4096
"""Most numbers of one example: a colour picture of the largest side."""


def is_image(shape: Shape) -> TypeGuard[ImageShape]:
    """Whether an example of this shape can be an image: one channel or three, height and width."""
    return len(shape) == 3 and shape[0] in (1, 3) and min(shape) >= 1


def image_shape(shape: Shape) -> ImageShape:
    """The shape as that of an image, or `DataError`: generators and few-shot learners know nothing else."""
    if is_image(shape):
        return shape
    raise DataError(
        f"an example has shape {shape}, expected an image: 1 or 3 channels, height and width; choose a "
        "classifier with model logistic or mlp for other data, or convert them to greyscale or RGB"
    )
