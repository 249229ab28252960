"""The graph of neighbours, who mask with each other, and the threshold within it.

A silo agrees on masks with its neighbours only, and gives only them shares of its two secrets: the seed of its own
mask, and the key of its masks with others. In SecAgg (Bonawitz et al. 2017) everyone else is a neighbour. In SecAgg+
(Bell et al. 2020) the silos stand on a ring in random order and each is joined to the k nearest, so that a silo's work
grows with log n instead of n.

What the ring keeps is statistical, and for static corruption: which silos work for the aggregator must not depend on
the graph; whoever breaks into one silo's neighbours once the ring is known is outside the bound. An aggregator may pick
who "dropped out" as it likes: a cut through the ring leaves the silos at its edge with half of their neighbours, who
are too few to open them. That the sum opens at all is promised for drop-outs that nobody picks.

The bound is for a ring that nobody chose. Its order follows from the session's id alone. In a job the id hashes a nonce
of every silo, and the phase and the round (`federation.job.releases.sum_id`). So an aggregator cannot try run ids,
request numbers, models to start from or lists of who is present until corrupted silos surround an honest one; what
remains is to begin another run (`federation.job.beacon`). Each round of a job has a ring of its own. All of them are
known once the nonces are, and their failures add up: a job of R rounds keeps security_bits - log2 R bits. Which silos
a round of FedAvg asks follows from the job's seed, known before the nonces: `corrupt` must hold among the silos of each
round.

One list. An aggregator may also tell different silos different survivors, or hold sealed shares back, to open the sum
of a few silos alone. A threshold t with 3 t > 2 k + 2 c + 1 rules both out, where c bounds the corrupted silos among
the k places around any one. An honest silo signs one list, and reveals under it when t + 1 of the k + 1 places that it
and its neighbours stand on have signed the same. To open a secret of a silo takes t shares of its neighbours.

1. Two honest silos that reveal under different lists stand d >= 2 t + 1 - k - c places apart. Around them are k + 1 + d
   places. Corrupted silos may sign both lists and are left out, of the signers and of the places: the honest signers
   are 2 (t + 1) less the corrupted around each of the two, and they are disjoint; the honest places are k + 1 + d less
   the corrupted around either. Those around both, c at most, are all that the first loses more than the second:
   2 (t + 1) - c <= k + 1 + d.
2. A silo's seed is opened under one list. If not, two of its neighbours reveal under different lists, and between them
   stand d - 1 places that reveal nothing unless corrupted. At most k + 2 - d + c <= 2 k + 2 c + 1 - 2 t < t shares
   come together.
3. Two neighbouring opened silos share one list, because 4 t > 2.5 k + 3 c + 1. That follows from 3 t > 2 k + 2 c + 1,
   which leaves room for a t <= k only where k >= 2 c + 2. Suppose that the seed of one is opened under a list, and the
   seed of the other, or its key though that list has it as a survivor, under others. The two stand at most k / 2 places
   apart, so around them are at most 1.5 k + 1 places. The honest silos that open one or the other are 2 t less the
   corrupted around each. They leave free the d - 1 places between the nearest two of different lists. Corrupted silos
   count as in 1; at most c are around both, and at most c stand between the nearest two: 2 t <= 1.5 k + 2 - d + 2 c,
   and with 1, 4 t <= 2.5 k + 3 c + 1. (The places between the nearest two are all around one of the opened silos. If
   not, fewer than k / 2 honest silos open one of them, and t - c > k / 2 are needed.)
4. So the silos of one list are opened together or not at all. Suppose that some of them, S, share no mask with the
   other honest ones. A silo leaves a mask out if its neighbour's sealed shares did not come, and then refuses every
   list that has this neighbour. Let i in S and j outside be the nearest such pair, p places apart. Of S, only the p
   places around i that are not around j can open i. If p > k / 4, all others that can stand on the side of j, on
   k / 2 + 1 - p places. With the corrupted, at most k / 2 + 1 + c open i. If p <= k / 4, the others are at most k - t,
   because i uploads only with t sealed shares, and p + k - t + c < t. With nobody to be j, k / 2 + c are left.
   Now 6 t >= 6 (k / 2 + 1 + c) + (k - 2 c - 2), so t is the larger but in the edge case k = 2 c + 2, t = k, where the
   two are equal. It is saved by the t sealed shares that are required: they are all k, so no mask is ever left out.
"""

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from siloseal.federation.errors import DomainError

_FINEST_FRACTION = 10**6
"""The largest denominator of a fraction of silos: two such fractions are 1e-12 apart or more, floats 1e-16."""


@dataclass(frozen=True)
class Shape:
    """Degree and threshold of the graph: a silo has k neighbours, and t of their shares open one of its secrets.

    Fewer than t neighbours of any honest silo are corrupted, so its secrets stay closed to them. The honest silos that
    survive are connected through each other, so their masks cancel in no sum but the sum of all of them. At least t
    neighbours of every silo survive, so the sum can be opened.
    """

    degree: int
    threshold: int


def find_shape(silos: int, *, security_bits: int, correctness_bits: int, corrupt: float, dropout: float) -> Shape:
    """Return the smallest degree that serves, with its least threshold, or `DomainError` where none does.

    Of n silos, up to a fraction `corrupt` (gamma) works for the aggregator and up to `dropout` (delta) falls silent.
    Secrecy then fails with probability 2^-`security_bits` (sigma) at most, and the sum cannot be opened with
    2^-`correctness_bits` (eta) at most. The aggregator may tell different silos different survivors (semi-malicious in
    the literature), and opens no few silos apart from the others of their list.

    Below 100 silos the counts are too small for the model: take the complete graph there.
    """
    if not (0 <= corrupt < 1 and 0 <= dropout < 1):
        raise DomainError(
            f"fractions of silos lie between 0 and 1, found {corrupt} corrupted and {dropout} dropping out; "
            "correct the job's secure_sum"
        )
    corrupted, dropped = whole_silos(corrupt, silos), whole_silos(dropout, silos)
    shape = smallest_shape(silos, corrupted, dropped, security_bits, correctness_bits, largest_unsafe)
    if shape is None:
        raise DomainError(
            f"{silos} silos of which a fraction of {corrupt} may be corrupted and {dropout} may drop out have no "
            f"degree from 2 to {silos - 2} that fails with at most 2^-{security_bits} in secrecy and "
            f"2^-{correctness_bits} in opening; assume smaller fractions, or take `kind: secagg`, the complete graph"
        )
    return shape


def largest_unsafe(degree: int, corrupted: int) -> int:
    """Return the largest t with 3 t <= 2 k + 2 c + 1, which lets a lying aggregator open silos apart.

    The module's text derives it. Above it, 2 t > k + c holds as well: an honest neighbour reveals its share of one of a
    silo's two secrets, a corrupted one of both, so that k + c shares open at most one of the two.
    """
    return (2 * degree + 2 * corrupted + 1) // 3


def whole_silos(fraction: float, silos: int) -> int:
    """Return the fraction of the silos, rounded down to whole ones: 0.29 of 100 are 29, though floats say 28.999."""
    return math.floor(Fraction(fraction).limit_denominator(_FINEST_FRACTION) * silos)


@lru_cache(maxsize=64)
def smallest_shape(
    silos: int,
    corrupted: int,
    dropped: int,
    security_bits: int,
    correctness_bits: int,
    largest_unsafe: Callable[[int, int], int],
) -> Shape | None:
    """Search degrees upwards, without those that cannot serve. Each kind of secrecy failure gets half of 2^-sigma.

    `largest_unsafe` is the largest threshold that does not keep secrets, of degree and corrupted neighbours.
    """
    degree = 2
    while degree <= silos - 2:
        if not _stays_connected(silos, corrupted + dropped, degree, security_bits + 1):
            degree += 2
            continue
        most_corrupted = _most_marked(silos, corrupted, degree, 2.0 ** -(security_bits + 1) / silos)
        fewest_surviving = degree - _most_marked(silos, dropped, degree, 2.0**-correctness_bits / silos)
        threshold = largest_unsafe(degree, most_corrupted) + 1
        if fewest_surviving >= threshold:
            return Shape(degree, threshold)
        # One more neighbour adds at most one survivor and takes away nobody corrupted: the gap closes by one at most.
        gap = threshold - fewest_surviving
        degree += gap + gap % 2
    return None


def _stays_connected(silos: int, removed: int, degree: int, bits: int) -> bool:
    """Whether the others stay connected but with probability 2^-bits, when `removed` silos leave the ring.

    Two arcs of k/2 neighbours each must be gone to cut a ring of this kind. There are n (n - k - 1) / 2 pairs of arcs.
    """
    if degree > removed:
        return True
    log_pairs = math.log(silos * (silos - degree - 1) / 2)
    log_both_gone = math.lgamma(removed + 1) + math.lgamma(silos - degree + 1)
    log_both_gone -= math.lgamma(silos + 1) + math.lgamma(removed - degree + 1)
    return log_pairs + log_both_gone < -bits * math.log(2)


def _most_marked(silos: int, marked: int, degree: int, probability: float) -> int:
    """Return the least m that a silo's number of marked neighbours exceeds with at most this probability.

    Over the ring's order, the k places around any one place hold a random k of all n silos.
    """
    # The hypergeometric distribution, written out: scipy's takes minutes where n is 100,000.
    count = np.arange(degree + 1)
    log_mass = _log_choose(marked, count) + _log_choose(silos - marked, degree - count)
    log_mass -= _log_choose(silos, np.array(degree))
    at_least = np.cumsum(np.exp(log_mass)[::-1])[::-1]  # summed from the thin end, where the answer lies
    return int(np.count_nonzero(at_least > probability)) - 1


def _log_choose(all_of: int, some: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return ln of the binomial coefficient; minus infinity where there are too few to choose from."""
    log_factorial = _log_factorials(all_of)
    possible = some <= all_of
    drawn = np.where(possible, some, 0)
    return np.where(possible, log_factorial[all_of] - log_factorial[drawn] - log_factorial[all_of - drawn], -np.inf)


@lru_cache(maxsize=8)
def _log_factorials(most: int) -> NDArray[np.float64]:
    """Return ln n! for every n from 0 to `most`."""
    return np.array([math.lgamma(number + 1) for number in range(most + 1)])


def complete(roster: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Return the complete graph: everyone is everyone else's neighbour."""
    return {silo: roster[:place] + roster[place + 1 :] for place, silo in enumerate(roster)}


def harary(roster: tuple[str, ...], degree: int, seed: bytes) -> dict[str, tuple[str, ...]]:
    """Return each silo's neighbours, in the roster's order, on a ring whose order is a random function of the seed."""
    if degree % 2 or not 2 <= degree < len(roster):
        raise DomainError(
            f"{len(roster)} silos cannot have {degree} neighbours each on a ring; the degree must be even, 2 or more, "
            "and below the number of silos"
        )
    # No slow hash: trying seeds is ruled out where the seed comes from, and not made slow here.
    label = b"siloseal secagg ring" + seed
    order = sorted(
        range(len(roster)), key=lambda place: hashlib.sha256(label + roster[place].encode()).digest()
    )  # of places on the roster
    offsets = [offset for step in range(1, degree // 2 + 1) for offset in (-step, step)]
    joined = {
        place: sorted(order[(position + offset) % len(order)] for offset in offsets)
        for position, place in enumerate(order)
    }
    return {silo: tuple(roster[other] for other in joined[place]) for place, silo in enumerate(roster)}
