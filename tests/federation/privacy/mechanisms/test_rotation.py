"""The public rotation: Hadamard's transform against its matrix, norms, and the way back."""

import numpy as np
import pytest
from scipy import linalg

from siloseal.federation.privacy.mechanisms.rotation import hadamard, padded, rotate, rotate_back, signs

from .recorded import rows

SEED = bytes(range(32))


@pytest.mark.parametrize("row", rows("hadamard.orthonormal"), ids=lambda row: str(row["inputs"]))
def test_the_transform_equals_the_recorded_one(row: dict[str, dict[str, list[float]]]) -> None:
    transformed = hadamard(np.array(row["inputs"]["x"], dtype=np.float64))
    np.testing.assert_allclose(transformed, row["expected"], atol=row["tolerance"]["abs"])  # type: ignore[arg-type]


@pytest.mark.parametrize("power", range(12))
def test_the_transform_is_hadamards_matrix(power: int) -> None:
    """Lengths below, at and above the radix of 32, and powers that it does not divide."""
    size = 2**power
    vector = np.random.default_rng(power).normal(size=size)
    np.testing.assert_allclose(hadamard(vector), linalg.hadamard(size) @ vector / np.sqrt(size), atol=1e-12)


@pytest.mark.parametrize("size", [1, 2, 32, 64, 1024, 2**15, 2**17])
def test_the_transform_is_its_own_inverse_and_keeps_the_norm(size: int) -> None:
    vector = np.random.default_rng(size).normal(size=size)
    np.testing.assert_allclose(hadamard(hadamard(vector)), vector, atol=1e-12)
    assert np.linalg.norm(hadamard(vector)) == pytest.approx(np.linalg.norm(vector), rel=1e-13)


@pytest.mark.parametrize(("length", "size"), [(1, 1), (2, 2), (3, 4), (4, 4), (5, 8), (1000, 1024), (1025, 2048)])
def test_vectors_are_padded_to_the_next_power_of_two(length: int, size: int) -> None:
    assert padded(length) == size
    assert rotate(np.ones(length), SEED).size == size


@pytest.mark.parametrize("length", [1, 2, 3, 7, 33, 1000, 5000])
def test_rotating_back_gives_the_vector(length: int) -> None:
    vector = np.random.default_rng(length).normal(size=length)
    rotated = rotate(vector, SEED)
    assert np.linalg.norm(rotated) == pytest.approx(np.linalg.norm(vector), rel=1e-13)
    np.testing.assert_allclose(rotate_back(rotated, SEED, length), vector, atol=1e-12)


def test_a_vector_of_one_entry_is_spread_over_all() -> None:
    vector = np.zeros(4096)
    vector[17] = 1.0
    np.testing.assert_allclose(np.abs(rotate(vector, SEED)), 1 / 64, atol=1e-14)


def test_a_constant_vector_is_spread_too() -> None:
    """Without the signs all of it would land in one entry. Six deviations: by chance once in a hundred thousand seeds."""
    rotated = rotate(np.full(4096, 1 / 64), SEED)
    assert np.abs(rotated).max() < 6 / 64


def test_signs_are_a_function_of_the_seed_and_balanced() -> None:
    """The balance of a fixed seed: nothing here is left to chance."""
    drawn = signs(100_000, SEED)
    np.testing.assert_array_equal(drawn, signs(100_000, SEED))
    np.testing.assert_array_equal(np.abs(drawn), 1.0)
    assert abs(drawn.mean()) < 5 / np.sqrt(100_000)
    assert not np.array_equal(drawn, signs(100_000, bytes(32)))
    np.testing.assert_array_equal(drawn[:77], signs(77, SEED))
