"""A test of uniformity: masked words tell nothing that coins would not tell."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

FALSE_ALARM = 1e-6
"""Chance that uniform words fail, in all of the bits that are looked at together."""


def assert_uniform(words: NDArray[Any], bits: int) -> None:
    """Chi-square over the lowest eight bits, over the highest eight, and over the lowest bit of neighbours."""
    tests = [words & 0xFF, words >> (bits - 8), 2 * (words[1::2] & 1) + (words[::2] & 1)]
    for values, kinds in zip(tests, (256, 256, 4), strict=True):
        counts = np.bincount(values, minlength=kinds)
        assert len(counts) == kinds
        assert stats.chisquare(counts).pvalue > FALSE_ALARM / len(tests)
