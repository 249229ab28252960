"""Degree and threshold by the rules of the paper, which are weaker than ours.

Under them an aggregator that lies can open a few silos apart from the others. They show that the search is right,
because shapes that others computed follow them, and what our stricter rule rules out.
"""

from siloseal.federation.sums.secagg.graph import Shape, smallest_shape, whole_silos


def published_shape(
    silos: int, *, security_bits: int, correctness_bits: int, corrupt: float, dropout: float, lying: bool
) -> Shape:
    shape = smallest_shape(
        silos,
        whole_silos(corrupt, silos),
        whole_silos(dropout, silos),
        security_bits,
        correctness_bits,
        _unsafe_if_lying if lying else _unsafe_if_truthful,
    )
    assert shape is not None
    return shape


def _unsafe_if_truthful(degree: int, corrupted: int) -> int:
    return max(corrupted, 1)  # one share alone would open a secret


def _unsafe_if_lying(degree: int, corrupted: int) -> int:
    """The largest t with 2 t <= k + corrupted neighbours: both secrets of a silo are opened."""
    return (degree + corrupted) // 2
