"""How often anyone can be right about a coin, if what the ledger books is true.

A fair coin decides whether a unit is there. Whoever sees the release then guesses the coin. Let P and Q be what is
released without and with the unit. No rule is right more often than with probability (1 + TV(P, Q)) / 2, TV being
their total variation (Neyman and Pearson). An event says what P and Q are in the worst case, and so bounds TV:

- One Gaussian release of noise multiplier z: TV = 2 Phi(1 / (2 z)) - 1, so a guess is right with at most
  Phi(1 / (2 z)) (Dong, Roth and Su 2022).
- One step on a Poisson sample: Q is (1 - q) P + q Q', with the unit in the sample in Q', so TV is q times as large.
- Integer noise: any rule has the last bound; the success of one rule is added up from the noise (`integer_success.py`).
- Noisy bits: a cell that is set shows a fair coin, and one that is not shows 1 with chance f, 1 - 2 f the contrast.
  The likelihood ratio of k cells grows with the number of ones, so the best rule is a threshold on that number.
- Any other event: it promises (epsilon, delta) at every delta, and a guess about an (epsilon, delta)-private release is
  right with at most (e^epsilon + delta) / (1 + e^epsilon) (Kairouz, Oh and Viswanath 2015). The least over a few deltas
  holds. It is looser: the curve of a Gaussian gives 0.77 in the place of 0.69 at z = 1.
"""

import math

from scipy import optimize, stats

from siloseal.federation.privacy.accounting import epsilon_of
from siloseal.federation.privacy.events import Event, GaussianRelease, NoisyBitsRelease, SampledGaussianSteps

DELTAS = (1e-6, 1e-4, 1e-3, 0.003, 0.01, 0.02, 0.03, 0.05, 0.08, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45)
"""Deltas at which an event's curve is asked; more of them change the third digit."""


def largest_success(event: Event) -> float:
    """The largest probability of a right guess about one release, or one step, of this event."""
    match event:
        case SampledGaussianSteps(sampling_rate=rate, noise_multiplier=noise):
            return step_success(rate, noise)
        case GaussianRelease(noise_multiplier=noise):
            return step_success(1.0, noise)
        case NoisyBitsRelease(contrast=contrast, cells=cells):
            return bits_success(contrast, cells)
        case _:
            return min(_success_at(epsilon_of([event], delta), delta) for delta in DELTAS)


def step_success(sampling_rate: float, noise_multiplier: float) -> float:
    """The largest probability of a right guess about one step."""
    return (1 - sampling_rate) / 2 + sampling_rate * float(stats.norm.cdf(1 / (2 * noise_multiplier)))


def bits_success(contrast: float, cells: int) -> float:
    """The largest probability of a right guess about noisy bits of which one unit may set so many cells."""
    seldom = (1 - contrast) / 2
    ones = range(cells)
    return max(float(stats.binom.sf(t, cells, 0.5) + stats.binom.cdf(t, cells, seldom)) / 2 for t in ones)


def noise_of(success: float, sampling_rate: float = 1.0) -> float:
    """The most noise with which guesses about a step can be right so often: infinite if half of them are, 0 if none."""
    seen = (success - (1 - sampling_rate) / 2) / sampling_rate
    if seen <= 0.5:
        return math.inf
    return 1 / (2 * float(stats.norm.ppf(seen))) if seen < 1 else 0.0


def epsilon_of_success(success: float, delta: float) -> float:
    """The least epsilon of any release about which guesses can be right so often; the inverse of the bound above."""
    return max(0.0, math.log((success - delta) / (1 - success))) if delta < success < 1 else 0.0


def gaussian_epsilon(mu: float, delta: float) -> float:
    """Epsilon of two unit normals a distance mu apart (Balle and Wang 2018), exactly; 0 where delta alone covers it."""

    def excess(epsilon: float) -> float:
        first, second = (stats.norm.logcdf(sign * mu / 2 - epsilon / mu) for sign in (1, -1))
        return math.exp(first) - math.exp(epsilon + second) - delta

    if mu <= 0 or excess(0.0) <= 0:
        return 0.0
    return float(optimize.brentq(excess, 0.0, mu * mu / 2 + 10 * mu))


def _success_at(epsilon: float, delta: float) -> float:
    return (1 + delta * math.exp(-epsilon)) / (1 + math.exp(-epsilon))
