"""The probabilities that a table of integer noise stands for."""

from fractions import Fraction
from itertools import pairwise

from siloseal.federation.exact_noise import _DEPTH, TableSampler


def bounds_of(table: TableSampler) -> list[int]:
    """The cumulative chances between values, in units of 2^-192."""
    return table._bounds


def chances_of(table: TableSampler) -> list[Fraction]:
    """The probability of each value, in order: what a draw really has, up to bits that are never read."""
    edges = [0, *bounds_of(table), 1 << _DEPTH]
    return [Fraction(high - low, 1 << _DEPTH) for low, high in pairwise(edges)]
