"""Kashin's representation: the vector comes back, and no coefficient is large."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from siloseal.federation.privacy.mechanisms.kashin import DELTA, ETA, LEVEL, analyse, frame_size, synthesise

from .recorded import rows

LENGTHS = [2, 3, 5, 16, 100, 128, 129, 1000, 5000]
SEEDS = [bytes([seed]) * 32 for seed in range(6)]
MANY_SEEDS = [bytes([seed]) * 32 for seed in range(40)]


def vectors(length: int) -> dict[str, NDArray[np.float64]]:
    drawn = np.random.default_rng(length)
    sparse = np.zeros(length)
    sparse[drawn.choice(length, max(1, length // 20), replace=False)] = drawn.normal(size=max(1, length // 20))
    return {
        "normal": drawn.normal(size=length),
        "heavy tails": drawn.standard_cauchy(size=length),
        "sparse": sparse,
        "one entry": np.eye(1, length, length // 2)[0],
        "constant": np.full(length, -3.0),
        "alternating": np.where(np.arange(length) % 2, 1.0, -1.0),
    }


@pytest.mark.parametrize("row", rows("kashin.level"))
def test_the_level_equals_the_recorded_one(row: dict[str, dict[str, float]]) -> None:
    assert (row["inputs"]["eta"], row["inputs"]["delta"]) == (ETA, DELTA)
    assert pytest.approx(row["expected"], rel=row["tolerance"]["rel"]) == LEVEL


@pytest.mark.parametrize("length", LENGTHS)
def test_the_frame_has_twice_as_many_rows_and_a_power_of_two(length: int) -> None:
    size = frame_size(length)
    assert 2 * length <= size < 4 * length
    assert size & (size - 1) == 0


@pytest.mark.parametrize("length", LENGTHS)
def test_the_coefficients_stand_for_the_vector(length: int) -> None:
    for kind, vector in vectors(length).items():
        for seed in SEEDS:
            back = synthesise(analyse(vector, seed), seed, length)
            assert np.linalg.norm(back - vector) <= 1e-12 * np.linalg.norm(vector), kind


@pytest.mark.parametrize("length", LENGTHS)
def test_no_coefficient_is_above_the_level(length: int) -> None:
    """For fixed seeds and vectors: nothing here is left to chance."""
    for kind, vector in vectors(length).items():
        for seed in SEEDS:
            assert level(vector, seed) <= LEVEL, kind


@pytest.mark.parametrize("length", [100, 128, 1000, 1024])
@pytest.mark.parametrize("kind", ["constant", "ramp"])
def test_no_coefficient_of_a_smooth_vector_is_above_the_level(length: int, kind: str) -> None:
    """Hadamard's transform alone would put nearly all of it into one coefficient; for fixed seeds."""
    vector = np.full(length, -3.0) if kind == "constant" else np.arange(1.0, length + 1)
    assert max(level(vector, seed) for seed in MANY_SEEDS) <= LEVEL


def level(vector: NDArray[np.float64], seed: bytes) -> float:
    """The largest coefficient in units of the norm over the root of their number."""
    largest = float(np.abs(analyse(vector, seed)).max())
    return largest * math.sqrt(frame_size(vector.size)) / float(np.linalg.norm(vector))


def test_the_coefficients_are_flatter_than_a_rotation() -> None:
    """Twice as many rows, and yet the largest is below that of a plain random rotation of as many entries."""
    vector = np.random.default_rng(7).normal(size=4096)
    vector /= np.linalg.norm(vector)
    flat = np.abs(analyse(vector, SEEDS[0])).max() * math.sqrt(frame_size(4096))
    rotated = np.abs(synthesise(np.pad(vector, (0, 4096)), SEEDS[0], 8192)).max() * math.sqrt(8192)
    assert flat < LEVEL < rotated


def test_the_zero_vector_has_zero_coefficients() -> None:
    np.testing.assert_array_equal(analyse(np.zeros(10), SEEDS[0]), np.zeros(32))


def test_the_frame_keeps_norms_and_depends_on_the_seed() -> None:
    """U^T U = 1: synthesis of what a frame's own columns give is the vector, and no coefficients become longer."""
    coefficients = np.random.default_rng(8).normal(size=256)
    short = synthesise(coefficients, SEEDS[0], 100)
    assert np.linalg.norm(short) <= np.linalg.norm(coefficients)
    np.testing.assert_array_equal(short, synthesise(coefficients, SEEDS[0], 100))
    assert not np.allclose(short, synthesise(coefficients, SEEDS[1], 100))
