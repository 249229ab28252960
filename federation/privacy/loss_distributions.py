"""Privacy loss distributions of Gaussian events: tighter than Renyi curves, and slower.

The events must be those of one pair of neighbours: the unit comes in all sampled steps, or goes in all of them, or is
exchanged. Steps of both kinds compose, because an exchange costs the same in both directions.

Exchange under sampling. A step draws each unit with chance q and adds noise of deviation z to a sum of vectors of norm
at most 1. Given the other units that were drawn, the step releases

    P = (1 - q) N(0, z^2) + q N(u, z^2)    or, after the exchange,    Q = (1 - q) N(0, z^2) + q N(v, z^2),

and averaging over the others lowers no divergence (joint convexity). No u and v are worse than opposite ones of norm 1,
at any level c > 0 of the hockey-stick divergence E max(0, q A - c q B - (1 - q) (c - 1)), where x is drawn from
N(0, z^2), A = exp(<u, x> / z^2 - |u|^2 / 2 z^2), B likewise with v. Call f the convex function of (A, B) inside: its
f_AA and f_BB are at least 0 and its f_AB is at most 0.

- The correlation of <u, x> and <v, x> is all that f sees of their angle, and its derivative there has the sign of f_AB
  (Plackett 1954). So opposite vectors are worst, u = -s and v = t on a line.
- The derivative in s is s E[A^2 f_AA] / z^2 - t E[A B f_AB] / z^2, at least 0, and the same holds in t. So s = t = 1.

That is the pair which dp-accounting has for REPLACE_ONE; its mirror image is Q against P, so one direction is enough,
and s = 0 or t = 0 shows that it is worse than the unit's coming or going. Pairs that are worst at every level compose,
also where later steps depend on earlier ones (Zhu, Dong and Wang 2022, Theorem 10). Each distribution is rounded by
connecting the dots (Doroshenko et al. 2022), which is pessimistic, and what is cut off counts as an infinite loss.
"""

import math
from collections.abc import Mapping
from functools import lru_cache, reduce

from dp_accounting import NeighboringRelation
from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution, from_gaussian_mechanism

from siloseal.federation.privacy.events import ExchangedGaussianSteps, GaussianRelease, SampledGaussianSteps

Composable = GaussianRelease | SampledGaussianSteps | ExchangedGaussianSteps

ROUNDING_ERRORS, ROUNDING_ERRORS_A_STEP = 1e-11, 2e-16
"""The part of delta, absolute, that is left to the rounding of Fourier transforms, and what each step adds to it.

A transform is raised to the power of the number of steps, and its relative error grows with that number: of a million
steps, 7e-17 a step were measured. A delta of no more is not counted here.
"""
MOST_STEPS = 1_000_000
"""Most steps that are counted here, of all events together: their power takes a second or two, and ten times as many
take a minute."""

COARSEST, CELLS_A_DEVIATION = 5e-3, 13
"""The widest cell of the grid, and the number of cells in the standard deviation of one step's loss.

A grid of width w adds at most about w^2 / 6 to the variance of each step's loss, here a thousandth of it, and so a
two-thousandth to epsilon. The width does not fall as steps are added: epsilon would fall where it jumps. It falls where
an event of smaller losses than all others is added. Then epsilon may fall by as much as a two-thousandth of it, which
it was too high before; it is never too low.
"""
WIDEST_CELL = 0.1
MOST_CELLS_OF_ONE, MOST_CELLS_OF_ALL = 50_000, 1_000_000
"""About the most cells of the grid, for one step's loss and for all: losses that mean nothing get wider cells."""


def epsilon_by_losses(events: Mapping[Composable, int], delta: float) -> float:
    """Epsilon of these releases and single steps, each so many times.

    It is never too low. Infinity where delta is too small for the numbers of double precision, or losses so large that
    a grid of so many cells tells nothing, or steps so many that they would take too long.
    """
    width, steps = _width(events), sum(events.values())
    left = delta - ROUNDING_ERRORS - steps * ROUNDING_ERRORS_A_STEP
    if left <= 0 or width > WIDEST_CELL or steps > MOST_STEPS:
        return math.inf
    losses = [_of_one(event, width).self_compose(times) for event, times in events.items()]
    return float(reduce(PrivacyLossDistribution.compose, losses).get_epsilon_for_delta(left))


@lru_cache(maxsize=16)
def _of_one(event: Composable, width: float) -> PrivacyLossDistribution:
    """The distribution of one release or step, cached: a plan asks for each phase, a ledger for more and more steps."""
    exchanged = isinstance(event, ExchangedGaussianSteps)
    return from_gaussian_mechanism(
        event.noise_multiplier,
        sampling_prob=_rate(event),
        value_discretization_interval=width,
        neighboring_relation=NeighboringRelation.REPLACE_ONE if exchanged else NeighboringRelation.ADD_OR_REMOVE_ONE,
    )


def _width(events: Mapping[Composable, int]) -> float:
    """The width of the grid's cells."""
    deviations, losses = (
        {event: _deviation(event) for event in events},
        {event: _largest_loss(event) for event in events},
    )
    width = max(min(COARSEST, min(deviations.values()) / CELLS_A_DEVIATION), max(losses.values()) / MOST_CELLS_OF_ONE)
    # Together, losses are nearly those of a Gaussian.
    variance = sum(times * min(deviations[event], losses[event]) ** 2 for event, times in events.items())
    return max(width, (variance / 2 + 15 * math.sqrt(variance)) / MOST_CELLS_OF_ALL)


def _deviation(event: Composable) -> float:
    """About the standard deviation of one loss, from the chi-squared divergence of its pair."""
    precision = 1 / event.noise_multiplier**2
    return _rate(event) * math.sqrt(math.expm1(precision)) if precision < 100 else math.inf


def _largest_loss(event: Composable) -> float:
    """About the largest loss on the grid: beyond 15 standard deviations lies less than e^-50 of the noise."""
    distance = 1 / event.noise_multiplier
    unsampled = distance * (15 + distance)
    return max(0.0, unsampled + math.log(_rate(event))) + math.log(2)  # at least log(1 - q + q e^unsampled)


def _rate(event: Composable) -> float:
    return 1.0 if isinstance(event, GaussianRelease) else event.sampling_rate
