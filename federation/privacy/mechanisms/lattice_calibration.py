"""The finest grid that some bits carry, and the least integer noise on it: nested bisections in logarithms."""

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Literal, assert_never

from scipy import optimize

from siloseal.federation.errors import ConfigError, UncountableEvent
from siloseal.federation.exact_noise import LARGEST_VARIANCE
from siloseal.federation.privacy.accounting import epsilon_of
from siloseal.federation.privacy.epsilon import delta_text
from siloseal.federation.privacy.mechanisms.calibration import MARGIN, Demand, renyi_gaussian_multiplier, round_up
from siloseal.federation.privacy.mechanisms.integer_noise import Binomial, DiscreteGaussian, IntegerNoise, Skellam
from siloseal.federation.privacy.mechanisms.lattice import LatticeNoise

LatticeKind = Literal["ddg", "skellam", "binomial"]

RANGE_DEVIATIONS = 5.0
"""Number of standard deviations at which a total leaves the modulus's range: one entry in 1.7 million does.

An entry that wraps is off by the whole range. With 4, the papers' choice, that adds 2 % to the mean squared error where
all silos contribute the same vector; with 5, which takes a third of a bit, it adds next to nothing.
"""

MOST_BITS = 32
WORST_DEVIATION: dict[LatticeKind, float] = {"ddg": 2.0, "skellam": 2.0, "binomial": 20.0}
"""Largest noise and rounding, as a multiple of the continuous Gaussian's: a coarser grid is refused, not used.

Binomial noise is counted by a looser theorem and a looser composition, and exceeds it on the finest grid.
"""


def calibrated_lattice(
    kind: LatticeKind,
    demand: Demand,
    *,
    bits: int | None,
    sensitivity: float,
    whole: bool = True,
    reach: float | None = None,
    wraps: bool = True,
) -> LatticeNoise:
    """The mechanism with the finest grid whose totals fit these bits; without bits, as many as are worth it.

    `reach` is how long the total of all silos may be in L2, noise aside; all sensitivities together if not given. Fine
    grids need little extra noise for the rounding, but more bits for the same range.
    """
    if not 0 < sensitivity < math.inf:
        raise ConfigError(f"a sensitivity of {sensitivity:g} cannot be hidden; it is finite and above 0")
    # All but the scale is the same for every sensitivity, which a clip norm that moves changes from round to round.
    total = demand.silos if reach is None else reach / sensitivity
    bits, step, noise = _calibrated(kind, demand, bits, whole, total)
    return LatticeNoise(sensitivity, whole, step * sensitivity, bits, noise, wraps)


@lru_cache(maxsize=64)
def _calibrated(
    kind: LatticeKind, demand: Demand, bits: int | None, whole: bool, reach: float
) -> tuple[int, float, IntegerNoise]:
    """The bits, step and noise for a sensitivity of 1."""
    bits = _bits_worth_it(kind, demand, reach, whole) if bits is None else bits
    found = _at_bits(kind, demand, bits, reach, whole)
    if found is None:
        enough = next((b for b in range(bits + 1, MOST_BITS + 1) if _at_bits(kind, demand, b, reach, whole)), None)
        better = f"{enough} bits" if enough else f"a larger epsilon: not even {MOST_BITS} bits are enough"
        raise ConfigError(
            f"{kind} cannot reach epsilon {demand.epsilon:g} at delta {delta_text(demand.delta)} over "
            f"{demand.releases} releases of {demand.length} entries with {bits} bits for {demand.silos} silos, of "
            f"which as few as {demand.honest} may be left and honest: it takes {better}, or fewer rounds, or fewer "
            "silos that may drop out or collude"
        )
    return bits, *found


def _at_bits(
    kind: LatticeKind, demand: Demand, bits: int, reach: float, whole: bool
) -> tuple[float, IntegerNoise] | None:
    """The step, in units of the sensitivity, and the noise; None where they do not fit."""

    def excess(log_step: float) -> float:
        """How far the range is beyond the modulus, as a logarithm; it falls as the step grows."""
        step = math.exp(log_step)
        noise = _least_noise(kind, demand, step, whole)
        if noise is None or noise.variance > LARGEST_VARIANCE:
            return math.inf if step < 1 else -math.inf
        signal = reach / (step * math.sqrt(demand.length))
        spread = math.sqrt(signal**2 + (noise.variance + 0.25) * demand.silos)
        return math.log(2 * RANGE_DEVIATIONS * spread) - bits * math.log(2)

    low, high = _bracket(excess)
    if low is None or high is None:
        return None
    while high - low > 1e-9:
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) > 0 else (low, middle)
    step = round_up(math.exp(high))
    noise = _least_noise(kind, demand, step, whole)
    if noise is None:
        return None
    deviation = step * math.sqrt(demand.honest * (noise.variance + 0.25))
    return (step, noise) if deviation <= WORST_DEVIATION[kind] * renyi_gaussian_multiplier(demand) else None


def _bits_worth_it(kind: LatticeKind, demand: Demand, reach: float, whole: bool) -> int:
    """The fewest bits of which one more would lower the noise by less than a hundredth."""
    last = math.inf
    for bits in range(2, MOST_BITS + 1):
        found = _at_bits(kind, demand, bits, reach, whole)
        deviation = math.inf if found is None else found[0] * math.sqrt(found[1].variance + 0.25)
        if last <= 1.01 * deviation and math.isfinite(last):
            return bits - 1
        last = deviation
    return MOST_BITS


def _bracket(excess: Callable[[float], float]) -> tuple[float | None, float | None]:
    """Logarithms of a step that is too fine and of one that is not, a factor of two apart."""
    for power in range(-40, 6):
        if excess(power * math.log(2)) <= 0:
            return (power - 1) * math.log(2), power * math.log(2)
    return None, None


def _least_noise(kind: LatticeKind, demand: Demand, step: float, whole: bool) -> IntegerNoise | None:
    """The least local noise on a grid of this step, in units of the sensitivity; None where none is enough."""
    move = LatticeNoise(1.0, whole, step, 1, Skellam(1.0)).move(demand.length)

    def excess(noise: IntegerNoise) -> float:
        try:
            epsilon = epsilon_of([noise.event(move, demand.honest)] * demand.releases, demand.delta)
        except UncountableEvent:  # too little noise for the theorem
            return 50.0
        return min(50.0, math.log(max(epsilon, 1e-12) / (MARGIN * demand.epsilon)))

    def excess_at(log_variance: float) -> float:
        return excess(_noise(kind, math.exp(log_variance), demand))

    # The continuous Gaussian's noise is where the search begins: a little more, and seldom a little less, is needed.
    guess = 2 * math.log(move.l2 * renyi_gaussian_multiplier(demand)) - math.log(demand.honest)
    low, high = guess - 0.01, guess + 0.01
    while excess_at(high) > 0:
        low, high = high, high + 2 * (high - guess)
        if high - guess > 40:
            return None
    while excess_at(low) <= 0:
        low -= 2 * (guess - low) + 0.01
        if guess - low > 40:
            return None
    root = float(optimize.brentq(excess_at, low, high, xtol=1e-9, rtol=1e-12))
    while excess(noise := _noise(kind, math.exp(root), demand)) > 0:  # the search may end a hair's breadth too low
        root += 1e-7
    return noise


def _noise(kind: LatticeKind, variance: float, demand: Demand) -> IntegerNoise:
    match kind:
        case "ddg":
            return DiscreteGaussian(round_up(variance))
        case "skellam":
            return Skellam(round_up(variance))
        case "binomial":  # half of delta for the releases' own, half for their composition
            return Binomial(2 * math.ceil(2 * variance), demand.delta / (2 * demand.releases))
        case _:
            assert_never(kind)
