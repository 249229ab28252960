"""The exact curve of random bits, against divergences computed with sixty digits, and against the exact epsilon."""

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest

from siloseal.federation.privacy.accounting import epsilon_of
from siloseal.federation.privacy.event_curves import ORDERS
from siloseal.federation.privacy.events import NoisyBitsRelease
from siloseal.federation.privacy.random_bits import random_bit_curve

CONTRASTS = [1e-9, 1e-4, 0.03, 0.22, 0.63, 0.99, 1 - 2.0**-20]


def divergence(p: list[Decimal], q: list[Decimal], alpha: float) -> Decimal:
    """The definition: D_alpha(p || q) = ln sum p^alpha q^(1 - alpha) / (alpha - 1)."""
    order = Decimal(alpha)
    moment = sum(one**order * other ** (1 - order) for one, other in zip(p, q, strict=True))
    return Decimal(moment).ln() / (order - 1)


@pytest.mark.parametrize("contrast", CONTRASTS)
def test_the_curve_is_the_larger_divergence_at_every_order(contrast: float) -> None:
    with localcontext(prec=60):
        flip, half = (1 - Decimal(contrast)) / 2, Decimal("0.5")
        rare, coin = [1 - flip, flip], [half, half]
        exact = [float(max(divergence(coin, rare, alpha), divergence(rare, coin, alpha))) for alpha in ORDERS]
    np.testing.assert_allclose(random_bit_curve(ORDERS, contrast=contrast), exact, rtol=1e-9)


@pytest.mark.parametrize("contrast", CONTRASTS)
def test_a_gaussian_release_tells_more_and_no_order_tells_more_than_the_largest_loss(contrast: float) -> None:
    curve, a = random_bit_curve(ORDERS, contrast=contrast), math.atanh(contrast)
    assert np.all(curve <= np.array(ORDERS) * a**2 / 2 * (1 + 1e-9))
    assert np.all(curve <= -math.log1p(-contrast) * (1 + 1e-9))


@pytest.mark.parametrize("contrast", [0.1, 0.4, 0.63, 0.95])
def test_one_bit_is_booked_at_its_exact_epsilon_and_hardly_more(contrast: float) -> None:
    """A coin shows 1 more often than a rare bit by e^epsilon, but for delta: 1/2 - e^epsilon f = delta."""
    exact = math.log((1 - 2e-5) / (1 - contrast))
    assert exact < epsilon_of([NoisyBitsRelease(contrast, 1)], 1e-5) < exact + 0.01


def test_the_bits_of_one_unit_are_paid_for_one_by_one() -> None:
    """Their coins and flips are independent, so their divergences add up."""
    together, apart = [NoisyBitsRelease(0.3, 4)], [NoisyBitsRelease(0.3, 1)] * 4
    assert epsilon_of(together, 1e-5) == pytest.approx(epsilon_of(apart, 1e-5), rel=1e-12)
    assert epsilon_of(together, 1e-5) > 2 * epsilon_of(apart[:1], 1e-5)
