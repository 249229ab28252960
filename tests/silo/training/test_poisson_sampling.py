from math import sqrt

import numpy as np
import pytest
import torch

from siloseal.federation.errors import DataError
from siloseal.federation.randomness import SecureRandomness, SeededRandomness
from siloseal.silo.training.poisson_sampling import poisson_sample

N, RATE, DRAWS = 1000, 0.05, 2000


def test_the_count_has_the_mean_and_variance_of_a_binomial() -> None:
    """Seeded, so it never alarms by chance; over seeds, each bound at 5 standard errors fails once in 1.7 million."""
    randomness = SeededRandomness(1)
    counts = np.array([len(poisson_sample(N, RATE, randomness)) for _ in range(DRAWS)])
    variance = N * RATE * (1 - RATE)
    assert abs(counts.mean() - N * RATE) < 5 * sqrt(variance / DRAWS)
    # The standard error of a sample variance is about variance * sqrt(2 / draws) where the count is nearly normal.
    assert abs(counts.var(ddof=1) - variance) < 5 * variance * sqrt(2 / DRAWS)


def test_every_index_is_drawn_at_the_rate() -> None:
    """Bounds at 6 standard errors over 1000 indices: over seeds, a false alarm once in 500,000."""
    randomness = SeededRandomness(2)
    hits = np.zeros(N)
    for _ in range(DRAWS):
        hits[poisson_sample(N, RATE, randomness).numpy()] += 1
    assert np.abs(hits / DRAWS - RATE).max() < 6 * sqrt(RATE * (1 - RATE) / DRAWS)


def test_two_indices_are_drawn_independently() -> None:
    """The covariance of two indicators is 0 within 5 standard errors: over seeds, a false alarm once in 1.7 million."""
    randomness = SeededRandomness(3)
    drawn = [set(poisson_sample(2, 0.5, randomness).tolist()) for _ in range(DRAWS)]
    both = sum(sample == {0, 1} for sample in drawn) / DRAWS
    assert abs(both - 0.25) < 5 * sqrt(0.25 * 0.75 / DRAWS)


def test_a_sample_may_be_empty_and_may_be_everything() -> None:
    randomness = SecureRandomness()
    empty = poisson_sample(100, 0.0, randomness)
    assert empty.shape == (0,)
    assert empty.dtype == torch.int64
    assert poisson_sample(0, 0.5, randomness).shape == (0,)
    assert poisson_sample(100, 1.0, randomness).tolist() == list(range(100))


def test_indices_are_distinct_and_in_range() -> None:
    sample = poisson_sample(60_000, 0.01, SecureRandomness())
    assert len(set(sample.tolist())) == len(sample)
    assert int(sample.min()) >= 0
    assert int(sample.max()) < 60_000


@pytest.mark.parametrize("rate", [-0.1, 1.1, float("nan")])
def test_a_rate_that_is_no_probability_is_refused(rate: float) -> None:
    with pytest.raises(DataError, match=str(rate)):
        poisson_sample(10, rate, SecureRandomness())
