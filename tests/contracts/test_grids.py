"""Everything that leaves a silo is on a grid: no last bits of floating-point numbers tell how they were computed."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from siloseal.federation.privacy.mechanisms.gaussian import GaussianAtSilo
from siloseal.federation.randomness import SecureRandomness
from siloseal.federation.sums.noisy_sum import NoisySum
from siloseal.federation.sums.secure_sum import SecureSum
from siloseal.federation.sums.session import RealDomain
from tests.federation.sums.recorded import Recorded

from .schemes import ALL_SCHEMES, INTEGERS, REALS, ROSTER, STOCK_CKKS, name_of


def of_all_sizes(domain: RealDomain) -> NDArray[np.float64]:
    """Reals from the bound down to 2^-60 of it, which single precision holds to their last bits."""
    return np.random.default_rng(3).uniform(-1, 1, domain.length) * domain.bound * 2.0 ** -(np.arange(300) % 60)


VECTORS = {name: of_all_sizes(REALS) for name in ROSTER}


def inner_grid(noisy: NoisySum) -> float:
    return noisy.inner.grid(noisy.encoding.domain(REALS, len(ROSTER)))


def off_the_grid(total: NDArray[np.float64], grid: float) -> float:
    """The largest distance from the grid, in steps."""
    points = total / grid
    return float(np.abs(points - np.rint(points)).max())


@pytest.mark.parametrize("scheme", ALL_SCHEMES, ids=name_of)
class TestEverySecureSum:
    @pytest.mark.parametrize("contributing", [ROSTER[:1], ROSTER], ids=["one silo", "all silos"])
    def test_what_silos_contribute_lies_on_its_grid(self, scheme: SecureSum, contributing: tuple[str, ...]) -> None:
        """Approximate ciphers are off by their own error, about a thousandth of a step; other sums by nothing."""
        vectors = {name: of_all_sizes(REALS) * (name in contributing) for name in ROSTER}
        total = np.asarray(Recorded(scheme, vectors, REALS, quorum=3).run().total, dtype=np.float64)
        assert scheme.grid(REALS) > 0
        assert off_the_grid(vectors[ROSTER[0]], scheme.grid(REALS)) > 0.4
        assert off_the_grid(total, scheme.grid(REALS)) < (0.05 if scheme is STOCK_CKKS else 2.0**-16)
        assert total.any()

    def test_integers_need_no_grid(self, scheme: SecureSum) -> None:
        assert scheme.grid(INTEGERS) == 0

    @pytest.mark.parametrize("deviation", [0.5, 1e-7], ids=["coarse noise", "fine noise"])
    def test_the_noised_total_that_opens_lies_on_the_coarser_grid_but_for_rounding_to_the_finer_one(
        self, scheme: SecureSum, deviation: float
    ) -> None:
        """Each silo rounds to the noise's grid and then to the sum's; approximate ciphers add their own error."""
        noisy = NoisySum(GaussianAtSilo(1.0, deviation), scheme, SecureRandomness())
        total = np.asarray(Recorded(noisy, VECTORS, REALS, quorum=3).run().total, dtype=np.float64)
        finer, coarser = sorted([2.0 ** (math.floor(math.log2(deviation)) - 12), inner_grid(noisy)])
        assert noisy.grid(REALS) == coarser
        assert off_the_grid(total, coarser) * coarser < len(ROSTER) * finer / 2 + 0.05 * inner_grid(noisy)
        assert off_the_grid(total, inner_grid(noisy)) < 0.05
