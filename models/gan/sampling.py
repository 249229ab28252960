"""Images out of a generator, a bounded number at a time."""

from typing import NamedTuple

import torch
from torch import Tensor

from siloseal.models.gan.generators import Generator

ROWS_AT_ONCE = 1024


class Generated(NamedTuple):
    """Images that a generator made, with the labels it was asked for."""

    images: Tensor  # float32 (count, C, H, W), in [0, 1]
    labels: Tensor  # int64 (count,)


def generate(generator: Generator, labels: Tensor, *, seed: int) -> Generated:
    """One image a label. Equal seeds give equal images."""
    stream = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        parts = [
            generator(torch.randn(len(part), generator.latent, generator=stream), part)
            for part in torch.split(labels, ROWS_AT_ONCE)
        ]
    return Generated(torch.cat(parts), labels)
