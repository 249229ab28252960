"""Why additive shares live in a ring: shares of floats, as DISCO (epfml/disco) makes them, and what they give away.

There n - 1 shares are float32, uniform in [-B, B), and the last is the secret minus their sum. It is written out here
as a counter-example and exists nowhere else. Each statistical test would raise a false alarm with one choice of its
seed in a million.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from scipy.interpolate import BSpline

from siloseal.federation.randomness import Randomness, SeededRandomness

VECTORS = json.loads((Path(__file__).parents[3] / "vectors" / "masked_sums.json").read_text())
RECORDED = [row for row in VECTORS if row["name"] == "disco_float_shares.tv_last_share"]
BOUND = 100.0
"""DISCO's B, `maxShareValue`."""
DRAWS = 500_000
FIVE_SIGMA = 5 * (0.5 / DRAWS) ** 0.5
"""Of the difference of two frequencies, over that many draws each: passed with probability 6e-7."""

Floats = NDArray[np.float32]
Words = NDArray[np.uint64]


def share_floats(secret: Floats, count: int, bound: float, randomness: Randomness) -> Floats:
    """(count, *secret.shape); the last share carries the secret."""
    uniforms = randomness.uniforms((count - 1) * secret.size).reshape(count - 1, *secret.shape)
    shares = ((2 * uniforms - 1) * bound).astype(np.float32)
    last = secret - shares.sum(axis=0, dtype=np.float32)
    return np.concatenate([shares, last[np.newaxis]])


def share_words(secret: Words, count: int, randomness: Randomness) -> Words:
    """(count, *secret.shape), modulo 2^64: arrays of words wrap around by themselves."""
    shares = np.frombuffer(randomness.bits(8 * (count - 1) * secret.size), dtype="<u8")
    shares = shares.reshape(count - 1, *secret.shape)
    return np.concatenate([shares, (secret - shares.sum(axis=0, dtype=np.uint64))[np.newaxis]])


def total_variation(count: int, difference: float, step: float = 0.05) -> float:
    """Between the last shares of two secrets, from their densities on a grid: the best guess's edge over a coin."""
    uniforms = count - 1
    middles = np.arange(step / 2, 2 * BOUND * uniforms, step)
    # The density of a sum of m uniform variables (Irwin-Hall) is the B-spline of degree m - 1 over the knots 0 .. m.
    spline = BSpline.basis_element(np.arange(uniforms + 1), extrapolate=False)
    density = np.nan_to_num(spline(middles / (2 * BOUND))) / (2 * BOUND)
    shift = np.zeros(round(difference / step))
    apart = np.abs(np.concatenate([density, shift]) - np.concatenate([shift, density]))
    return float(apart.sum() * step / 2)


class TestSharesOfFloats:
    @pytest.mark.parametrize("row", RECORDED, ids=lambda row: f"{row['inputs']['n']} shares")
    @pytest.mark.parametrize("difference", [1, 10])
    def test_the_last_one_tells_secrets_apart_by_the_recorded_distance(
        self, row: dict[str, Any], difference: int
    ) -> None:
        assert row["inputs"]["max_share"] == BOUND
        expected = row["expected"][f"delta_secret_{difference}"]
        assert total_variation(row["inputs"]["n"], difference) == pytest.approx(expected, rel=row["tolerance"]["rel"])

    @pytest.mark.parametrize("count", [2, 5, 10])
    def test_whoever_holds_the_last_one_guesses_better_than_a_coin_by_that_distance(self, count: int) -> None:
        """Between the secrets 0 and 10: 10, where the share lies nearer to 10."""
        randomness = SeededRandomness(count)
        secrets = (np.full(DRAWS, value, dtype=np.float32) for value in (0, 10))
        low, high = (float((share_floats(secret, count, BOUND, randomness)[-1] > 5).mean()) for secret in secrets)
        edge = total_variation(count, 10)
        assert high - low == pytest.approx(edge, abs=FIVE_SIGMA)
        assert edge > 4 * FIVE_SIGMA

    @pytest.mark.parametrize("count", [2, 5, 10])
    def test_a_secret_far_outside_their_range_stands_in_the_last_one(self, count: int) -> None:
        """The masks move it by (n - 1) B at most: beyond that, no two secrets are mistaken for each other."""
        secret = np.array([1e6, -1e6, 2.1 * (count - 1) * BOUND, 0.0], dtype=np.float32)
        last = share_floats(secret, count, BOUND, SeededRandomness(count))[-1]
        assert (np.abs(last - secret) <= (count - 1) * BOUND).all()
        assert last[:2] == pytest.approx(secret[:2], rel=1e-3)
        assert last[2] > (count - 1) * BOUND >= last[3]
        assert total_variation(count, 2 * (count - 1) * BOUND) == pytest.approx(1, rel=1e-6)

    @pytest.mark.parametrize(("bound", "recorded"), [(1, 6.6e-7), (100, 6.0e-5), (1e4, 6.4e-3), (1e6, 0.40)])
    def test_the_error_of_a_mean_grows_with_their_range(self, bound: float, recorded: float) -> None:
        """The more they hide, the less is left of the sum. Ten silos, as many shares; within a factor of 3."""
        randomness = SeededRandomness(7)
        secrets = randomness.normals(10 * 10_000).reshape(10, 10_000)
        received = share_floats(secrets, 10, bound, randomness)  # (holders, silos, entries)
        mean = received.sum(axis=1, dtype=np.float32).sum(axis=0, dtype=np.float32) / np.float32(10)
        error = float(np.abs(mean - secrets.mean(axis=0, dtype=np.float64)).max())
        assert recorded / 3 < error < recorded * 3

    def test_one_seed_for_two_tensors_gives_away_their_difference(self) -> None:
        """DISCO starts the same stream anew for each tensor of a model: equal masks, which a subtraction removes."""
        weights, biases = SeededRandomness(1).normals(2000).reshape(2, 1000)
        last = [share_floats(tensor, 5, BOUND, SeededRandomness(2))[-1] for tensor in (weights, biases)]
        assert last[0] - last[1] == pytest.approx(weights - biases, abs=1e-4)
        assert np.abs(weights - biases).mean() > 1


class TestSharesInTheRing:
    def test_all_but_the_last_are_the_same_for_every_secret(self) -> None:
        """And any n - 1 of them are uniform, as the last is the secret minus a uniform value."""
        secrets = [np.zeros(1000, dtype=np.uint64), np.arange(1000, dtype=np.uint64) << np.uint64(50)]
        first, second = (share_words(secret, 5, SeededRandomness(3)) for secret in secrets)
        assert (first[:-1] == second[:-1]).all()
        assert (first[-1] - second[-1] == secrets[0] - secrets[1]).all()

    @pytest.mark.parametrize("value", [0, 10 << 16, 2**63, 2**64 - 1])
    @pytest.mark.parametrize("count", [2, 5])
    def test_the_last_ones_bytes_are_uniform_whatever_the_secret(self, value: int, count: int) -> None:
        secret = np.full(20_000, value, dtype=np.uint64)
        last = share_words(secret, count, SeededRandomness(count))[-1]
        every_byte = last.astype("<u8").view(np.uint8).reshape(-1, 8)
        for position in range(8):
            assert stats.chisquare(np.bincount(every_byte[:, position], minlength=256)).pvalue > 1e-6 / 8

    def test_whoever_holds_the_last_one_guesses_no_better_than_a_coin(self) -> None:
        """The rule that tells floats apart, at 16 fractional bits: the share, read as signed, is nearer to 10 or not."""
        randomness = SeededRandomness(4)
        secrets = (np.full(DRAWS, value << 16, dtype=np.uint64) for value in (0, 10))
        low, high = (
            float((share_words(secret, 5, randomness)[-1].view(np.int64) > 5 << 16).mean()) for secret in secrets
        )
        assert high == pytest.approx(low, abs=FIVE_SIGMA)

    def test_their_sum_is_exact(self) -> None:
        """Ten silos' values of either sign; the same ones in floats with such wide masks would be off by 0.4."""
        values = np.rint(SeededRandomness(5).normals(10 * 1000).astype(np.float64) * 2**16).astype(np.int64)
        secrets = values.reshape(10, 1000)
        received = share_words(secrets.view(np.uint64), 10, SeededRandomness(6))  # (holders, silos, entries)
        total = received.sum(axis=1, dtype=np.uint64).sum(axis=0, dtype=np.uint64)
        assert (total.view(np.int64) == secrets.sum(axis=0)).all()
