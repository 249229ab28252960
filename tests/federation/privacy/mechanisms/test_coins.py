"""Coins that carry a value: their mean, and chances that never leave their interval."""

import numpy as np
import pytest
from scipy import stats

from siloseal.federation.privacy.mechanisms.coins import CHANCE_STEP, heads
from siloseal.federation.randomness import SecureRandomness


@pytest.mark.parametrize("value", [-1.0, -0.3, 0.0, 0.7, 1.0])
def test_heads_are_binomial(value: float) -> None:
    """False alarms below 1e-7: the largest gap of 20,000 draws to the law, by Dvoretzky, Kiefer and Wolfowitz."""
    drawn = heads(np.full(20_000, value), 6, 0.2, SecureRandomness())
    share = np.cumsum(np.bincount(drawn, minlength=7)) / drawn.size
    law = stats.binom.cdf(np.arange(7), 6, 0.5 + 0.2 * value)
    assert np.abs(share - law).max() < np.sqrt(np.log(2 / 1e-7) / (2 * drawn.size))


class JustBelow:
    """Every 32-bit word is the same."""

    def __init__(self, word: int) -> None:
        self._word = word

    def bits(self, count: int) -> bytes:
        return self._word.to_bytes(4, "little") * (count // 4)

    def begin(self, stretch: str) -> None: ...

    uniforms = normals = None  # type: ignore[assignment]


@pytest.mark.parametrize("theta", [0.25, 0.1, 0.2493336, 1e-6])
def test_a_value_beyond_one_is_cut(theta: float) -> None:
    values = np.array([1.0, 1.5, 1e300, -1.0, -7.0, -1e300])
    low, high = (int(np.ceil((0.5 - theta) / CHANCE_STEP)), int(np.floor((0.5 + theta) / CHANCE_STEP)))
    assert heads(values, 2, theta, JustBelow(low - 1)).tolist() == [2] * 6
    assert heads(values, 2, theta, JustBelow(high)).tolist() == [0] * 6


def test_zero_is_a_fair_coin() -> None:
    assert heads(np.zeros(1), 1, 0.1, JustBelow(2**31 - 1)).tolist() == [1]
    assert heads(np.zeros(1), 1, 0.1, JustBelow(2**31)).tolist() == [0]
