"""The low-bit attacker reads floating-point noise, and finds nothing on a grid."""

import numpy as np
import pytest
import torch

from siloseal.federation.randomness import SecureRandomness
from siloseal.privacy_audit.low_bits import unreachable, unreachable_total

ENTRIES, NOISE_STD = 400, 1.37
GRID = 2.0**-20


def noise() -> torch.Tensor:
    return torch.from_numpy(SecureRandomness().normals(ENTRIES))


def test_bare_noise_in_single_precision_is_always_within_its_own_reach() -> None:
    for known in (torch.zeros(ENTRIES), torch.linspace(-3, 3, ENTRIES)):
        assert unreachable(known.add(noise(), alpha=NOISE_STD), known, NOISE_STD) == 0


def test_a_contribution_puts_some_entries_out_of_reach() -> None:
    """Each entry is out of reach with a chance of a tenth at least: 400 are all within it once in 1e18 runs."""
    known = torch.zeros(ENTRIES)
    released = torch.full((ENTRIES,), 0.1).add(noise(), alpha=NOISE_STD)
    assert unreachable(released, known, NOISE_STD) > 0


def test_on_a_grid_a_contribution_changes_nothing() -> None:
    """Points of a grid are out of the reach of single-precision noise as often with a contribution as without.

    Both counts are binomial with deviation 10 at most: they differ by more than 80 once in 1e7 runs.
    """
    known = torch.zeros(ENTRIES)
    without, there = (
        unreachable(torch.round((move + NOISE_STD * noise()) / GRID) * GRID, known, NOISE_STD) for move in (0.0, 0.1)
    )
    assert abs(without - there) < 80


@pytest.mark.parametrize(("move", "leaks"), [(0.0, False), (0.1, True)])
def test_totals_in_double_precision_are_read_alike(move: float, leaks: bool) -> None:
    """Noise of single precision in a double total reaches one of 2^29 floats: with a contribution none is reached."""
    known = np.zeros(ENTRIES)
    total = known + move + NOISE_STD * noise().numpy().astype(np.float64)
    assert (unreachable_total(total, known, NOISE_STD) > 0) == leaks
