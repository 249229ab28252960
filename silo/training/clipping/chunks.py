"""How many rows' gradients are written down at a time, and how rows are vectorised."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

CHUNK_BYTES = 32 * 2**20
"""Memory that the written gradients of one chunk of rows may take; a single row takes what it needs."""

CHUNK_ROWS = 32
"""Most rows of a chunk: more are not faster, and their activations need memory, too."""


def chunk_rows(parameters: Iterable[Tensor]) -> int:
    """The number of rows whose gradients of these parameters are computed together: at least 1."""
    return min(CHUNK_ROWS, fitting_rows(parameters))


def fitting_rows(parameters: Iterable[Tensor]) -> int:
    """The number of rows whose gradients of these parameters can be kept in memory: at least 1."""
    row = sum(parameter.numel() * parameter.element_size() for parameter in parameters)
    return max(1, CHUNK_BYTES // max(1, row))


@contextmanager
def vectorising() -> Iterator[None]:
    """Choose operations that `vmap` knows: attention in steps, for it would run the fused one row by row."""
    with sdpa_kernel(SDPBackend.MATH):
        yield
