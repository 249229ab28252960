"""Renyi divergence of the Poisson-binomial mechanism by how far a silo moves: at most kappa(alpha) s^2 a coordinate.

Each of n silos throws m coins of chance 1/2 + theta x, |x| <= 1, and only the number of heads is seen. One silo's x is
s or 0, in either direction; the others' values are whatever they are. Coordinates add, so a vector of norm l2 costs at
most kappa l2^2. The steps below prove `kappa` for every admissible input; no maximum is over sampled points. P and Q
are the two laws of the heads, L = P / Q, and F = sum P^alpha Q^(1 - alpha) = exp((alpha - 1) D_alpha), or the same with
P and Q exchanged.

1. *The others are at the ends.* D_alpha is quasi-convex in (P, Q) together (van Erven and Harremoes 2014, Theorem 13),
   and both are affine in the chance of any one coin of the others: k coins have 1/2 + theta, the rest 1/2 - theta.
2. *All k, and tails.* `other_coins.py` has laws such that, for every k, the others' law is a mixture: of one of these
   with more independent numbers added, which can only lower F (data processing), and, with weight eta, of anything. F
   is convex in (P, Q) together, and of the silo's own coins alone it has a closed form, which nothing added exceeds.
3. *All s between two nodes.* L increases in the heads, because the own coins' laws have a monotone likelihood ratio and
   the others' law is log-concave (Shaked and Shanthikumar 2007, Theorem 1.C.9). Let a = 1/2 + s theta; let w(t) be the
   derivative of the summand of F in P(t), which increases in t as the summand is convex; d(u) = w(u + 1) - w(u) >= 0;
   and U the law of all coins but two of the silo's own. With A = sum U(u) d(u) and B = sum U(u) d(u + 1),
       F' = m theta ((1 - a) A + a B)  and  F'' >= m (m - 1) theta^2 (B - A) >= -(m - 1) theta / (1 - a) F'.
   So F' / (1 - a)^(m - 1) does not fall: F is a convex function of -(1 - a)^m, and lies below its chords. Nor does F
   itself fall in s.
4. *Small s.* Below `SMALLEST` the divergence is at most that at `SMALLEST`: kappa (s^2 + SMALLEST^2) covers every s.
5. *All orders.* (alpha - 1) D_alpha is convex in alpha and 0 at 1, and so is its supremum over inputs, which lies below
   its chords between the orders that are computed.

s < 0 is s > 0 with heads and tails exchanged, which takes k to its mirror image, and `other_coins.py` has that too.
"""

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from siloseal.federation.privacy.other_coins import laws_of_others

Array = NDArray[np.float64]

SMALLEST = 1 / 50
"""Moves below this cost no more than this one."""
_CHORD = 0.005
"""Relative loss of kappa by chords: in the order, and in s where the coins' chances move little; more where much."""
_GROUPS = (4.0, 16.0, 64.0, 1024.0)
"""Orders that share a window end here: high ones need a wider one."""
_FINEST = 64.0
_LEAST_LOG_ETA = -300.0
_ROUNDING = 1e-12
"""What rounding in double precision may take off ln F, for each unit of the order: sums of positive terms, relative
errors of a few hundred roundings in each chance."""


def kappa(orders: Sequence[float], *, silos: int, trials: int, theta: float) -> Array:
    """kappa(alpha) at these orders above 1; infinite above the last computed one."""
    nodes, products = _products(silos, trials, theta)
    alpha = np.asarray(orders, dtype=np.float64)
    between = np.interp(alpha, (1.0, *nodes), (0.0, *products), right=math.inf)
    return np.asarray(between / (alpha - 1))


def norm_curve(
    orders: Sequence[float], *, silos: int, trials: int, theta: float, l2: float, coordinates: int, moves: int
) -> Array:
    """The Renyi curve of a vector that is there, of norm `l2`, or zeros; or exchanged for another such vector.

    An exchange goes by way of zeros, R: D_a(P || Q) <= 2 a / (2 a - 1) D_(2 a - 1)(P || R) + D_(2 a)(R || Q), Mironov
    2017, Proposition 11, with p = 2 - 1 / a. For a Gaussian that is exactly four times the cost.
    """
    alpha, squared = np.asarray(orders, dtype=np.float64), l2**2 + coordinates * SMALLEST**2
    if moves == 1:
        return squared * kappa(orders, silos=silos, trials=trials, theta=theta)
    first = kappa(tuple(2 * alpha - 1), silos=silos, trials=trials, theta=theta)
    second = kappa(tuple(2 * alpha), silos=silos, trials=trials, theta=theta)
    return np.asarray(squared * (2 * alpha / (2 * alpha - 1) * first + second))


@lru_cache(maxsize=32)
def _products(silos: int, trials: int, theta: float) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Orders, and (alpha - 1) kappa(alpha) at each."""
    nodes, found = _nodes_of_order(), list[Array]()
    for low, high in zip((1.0, *_GROUPS), _GROUPS, strict=False):
        group = np.array([order for order in nodes if low < order <= high])
        found.append(_suprema(group, silos, trials, theta))
    return nodes, tuple(np.concatenate(found).tolist())


@lru_cache(maxsize=1)
def _nodes_of_order() -> tuple[float, ...]:
    """Orders from 1.1 to 64 with chords that are close, and powers of two above, where few orders are asked for.

    The chord of alpha (alpha - 1) is off by a quarter of the squared step.
    """
    nodes = [1.1]
    while nodes[-1] < _FINEST:
        step = max(0.1, 2 * math.sqrt(_CHORD * nodes[-1] * (nodes[-1] - 1)))
        nodes.append(min(nodes[-1] + step, next(group for group in _GROUPS if group > nodes[-1])))
    while nodes[-1] < _GROUPS[-1]:
        nodes.append(2 * nodes[-1])
    return tuple(nodes)


def _suprema(orders: Array, silos: int, trials: int, theta: float) -> Array:
    """The supremum of ln F / s^2 at each order, over s from `SMALLEST` to 1, both directions, and the others' coins."""
    s = _nodes_of_move(trials, theta)
    alone = np.array([[_alone(power, trials, theta, s) for power in (alpha, 1 - alpha)] for alpha in orders])
    log_eta = max(_LEAST_LOG_ETA, -25.0 - float(alone[-1, :, -1].max()))
    own = stats.binom.pmf(np.arange(trials + 1), trials, 0.5 + theta * s[:, np.newaxis])  # (s, heads)
    fair = stats.binom.pmf(np.arange(trials + 1), trials, 0.5)
    worst = np.zeros((len(orders), 2, len(s)))
    for others in laws_of_others((silos - 1) * trials, theta, log_eta):
        log_q = np.log(np.convolve(fair, others))
        slope = np.log(np.array([np.convolve(part, others) for part in own])) - log_q  # ln L: (s, heads)
        for row, alpha in enumerate(orders):
            for column, power in enumerate((alpha, 1 - alpha)):
                np.maximum(worst[row, column], _log_sums(log_q, slope, power), out=worst[row, column])
    if silos > 1:
        worst = np.logaddexp(worst, log_eta + alone)
    worst += _ROUNDING * orders[:, np.newaxis, np.newaxis]
    return np.array([max(_highest(s, logs, trials, theta) for logs in both) for both in worst])


def _log_sums(logs: Array, slope: Array, power: float) -> Array:
    """ln of the sum of e^(logs + power * slope), for each row of `slope`."""
    exponents = power * slope
    exponents += logs
    top = exponents.max(axis=1, keepdims=True)
    exponents -= top
    return np.asarray(np.log(np.exp(exponents, out=exponents).sum(axis=1)) + top[:, 0])


def _alone(power: float, trials: int, theta: float, s: Array) -> Array:
    """ln F of the own coins without any others."""
    return np.asarray(trials * np.log(((1 + 2 * theta * s) ** power + (1 - 2 * theta * s) ** power) / 2))


def _nodes_of_move(trials: int, theta: float) -> Array:
    """Values of s from `SMALLEST` to 1, close enough for chords in -(1 - a)^m."""
    bend, nodes = (trials - 1) * theta / (0.5 - theta), [1.0]
    chord = _CHORD * (1 + bend / 8)
    while nodes[-1] > SMALLEST:
        nodes.append(max(SMALLEST, nodes[-1] * (1 - math.sqrt(4 * chord / (1 + bend * nodes[-1])))))
    return np.array(nodes[::-1])


def _highest(s: Array, logs: Array, trials: int, theta: float) -> float:
    """The supremum of ln F / s^2 from ln F at the nodes, by its chords.

    The chord is concave in s, so its logarithm lies below the tangent v + w (s - c) in the middle c of two nodes. The
    tangent over s^2 has its largest value at an end, or at -2 (v - w c) / w between them.
    """
    low, high, centre = s[:-1], s[1:], (s[:-1] + s[1:]) / 2
    left, right, middle = ((0.5 - theta * part) ** trials for part in (low, high, centre))
    share = (left - middle) / (left - right)
    gap = np.exp(logs[:-1] - logs[1:])
    chord = share + (1 - share) * gap
    value = logs[1:] + np.log(chord)
    slope = (1 - gap) / chord * trials * theta * middle / (0.5 - theta * centre) / (left - right)
    start = value - slope * centre
    ends = np.maximum((start + slope * low) / low**2, (start + slope * high) / high**2)
    with np.errstate(divide="ignore", invalid="ignore"):
        turn = -2 * start / slope
        inside = np.where((start < 0) & (low < turn) & (turn < high), -(slope**2) / (4 * start), 0.0)
    return float(np.maximum(ends, inside).max())
