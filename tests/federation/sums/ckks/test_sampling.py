"""What the scheme draws for keys and errors: short entries."""

import numpy as np
from scipy import stats

from siloseal.federation.randomness import SecureRandomness, SeededRandomness
from siloseal.federation.sums.ckks.sampling import draw_short
from siloseal.federation.sums.ckks.security import VARIANCE


def test_short_entries_have_the_mean_and_variance_that_security_counts_on() -> None:
    """Of 400,000: the mean within 5 deviations of 0, the variance within 5 of its own; false alarms 1e-6."""
    drawn = draw_short(SeededRandomness(6), 400_000)
    assert abs(drawn.mean()) < 5 * (VARIANCE / drawn.size) ** 0.5
    assert abs(drawn.var() / VARIANCE - 1) < 5 * (2 / drawn.size) ** 0.5


def test_short_entries_fit_the_discrete_gaussian() -> None:
    """Chi-square over -20 .. 20; a false alarm has probability 5e-7."""
    drawn, values = draw_short(SeededRandomness(7), 200_000), np.arange(-20, 21)
    weights = np.exp(-(np.arange(-100, 101) ** 2) / (2 * VARIANCE))
    expected = (weights / weights.sum())[80:121] * drawn.size
    counted = np.array([(drawn == value).sum() for value in values], dtype=np.float64)
    expected *= counted.sum() / expected.sum()
    assert stats.chisquare(counted, expected).pvalue > 5e-7


def test_two_draws_of_the_operating_system_differ() -> None:
    randomness = SecureRandomness()
    assert not np.array_equal(draw_short(randomness, 200), draw_short(randomness, 200))
