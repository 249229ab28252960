"""Random check-ins: a simulated way to take part, and how much hiding among participants gains (Balle et al. 2020).

A window has m slots. Each client takes part with probability p0, in a slot that it chooses uniformly and tells nobody.
In each slot one of those who checked in is picked, and sends its contribution through its own local randomiser; in an
EMPTY slot the same randomiser runs on a zero contribution. Who sees the updates in order does not know whose is whose,
so the guarantee of the window can be better than that of one randomiser.

This is for simulations only. The bound falls with the square root of the slots: a consortium has tens of silos, and
with 100 slots, a local epsilon of 1 and a delta of 1e-6 the theorem gives 1.53, more than the randomiser has alone. It
takes 230 slots to gain anything and 10,000 for an epsilon of 0.15. `reported_epsilon` is the smaller one of the two.

The neighbouring relation is the replacement of one client's data. Epsilons are of the updates alone: whoever also sees
when clients check in, such as a server that keeps connection logs, gets the local guarantee and no better one.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from siloseal.federation.errors import ConfigError, UncountableEvent
from siloseal.federation.privacy.epsilon import delta_text
from siloseal.federation.randomness import Randomness

Contribution = TypeVar("Contribution")
Update = TypeVar("Update")

ABSENT = -1
"""The slot of a client that stays away, and the client of a slot that nobody checked in to."""

_LARGEST_EPSILON = 100.0
"""Largest epsilon. Beyond it the theorems say nothing that is finite in practice."""


@dataclass(frozen=True)
class Guarantee:
    """(epsilon, delta) differential privacy."""

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        _require_epsilon(self.epsilon)
        if not 0 <= self.delta < 1:
            raise UncountableEvent(f"a delta of {delta_text(self.delta)} says nothing; it lies in [0, 1)")


@dataclass(frozen=True)
class CheckIns:
    """A fixed window: numbers of slots and of clients, and each client's chance to take part."""

    slots: int
    clients: int
    participation: float
    """Probability p0 that a client takes part."""

    def __post_init__(self) -> None:
        if self.slots < 1 or self.clients < 1 or not 0 < self.participation <= 1:
            raise ConfigError(
                f"{self} is no window: it needs at least one slot and one client, and a participation in (0, 1]"
            )

    def check_in(self, randomness: Randomness) -> NDArray[np.int64]:
        """Draw the slot of each client, `ABSENT` for those who stay away."""
        joins = randomness.uniforms(self.clients) < self.participation
        # Uniform values are multiples of 2^-53, so no slot's chance is off by more than that.
        slots = np.floor(randomness.uniforms(self.clients) * self.slots).astype(np.int64)
        return np.where(joins, slots, ABSENT)

    def pick(self, checked_in: NDArray[np.int64], randomness: Randomness) -> NDArray[np.int64]:
        """Draw the client of each slot, uniform among those who checked in to it; `ABSENT` where nobody did.

        Every client holds a random ticket, and in each slot the lowest one wins.
        """
        order = np.lexsort((randomness.uniforms(checked_in.size), checked_in))  # by slot, then by ticket
        slots, first = np.unique(checked_in[order], return_index=True)
        picked = np.full(self.slots, ABSENT, dtype=np.int64)
        there = slots != ABSENT
        picked[slots[there]] = order[first[there]]
        return picked

    def updates(
        self,
        contribution: Callable[[int], Contribution],
        zero: Contribution,
        randomiser: Callable[[Contribution, Randomness], Update],
        randomness: Randomness,
    ) -> Iterator[Update]:
        """One update for each slot, in order, and nothing that tells an empty slot from another.

        `contribution(client)` is asked for when the slot comes, so that it may depend on what the updates before it
        made of the model. Without the dummy updates the theorem fails: a gap would tell that nobody was there.
        """
        picked = self.pick(self.check_in(randomness), randomness)
        for client in picked:
            yield randomiser(zero if client == ABSENT else contribution(int(client)), randomness)

    @property
    def expected_dummies(self) -> float:
        """Mean number of empty slots: a client is in a given slot with probability p0 / m."""
        return self.slots * (1 - self.participation / self.slots) ** self.clients


def reported_epsilon(local_epsilon: float, *, participation: float, slots: int, delta: float) -> float:
    """Return what may be claimed of a window: the theorem's epsilon, or the randomiser's own where that is smaller.

    The latter holds at any number of slots, because a client is picked at most once.
    """
    bound = fixed_window_epsilon(local_epsilon, participation=participation, slots=slots, delta=delta)
    return min(local_epsilon, bound)


def fixed_window_epsilon(local_epsilon: float, *, participation: float, slots: int, delta: float) -> float:
    """Return the theorem's epsilon for a fixed window and a randomiser of (local_epsilon, 0), at this delta.

    p0 (e^eps0 - 1) sqrt(2 e^eps0 ln(1/delta) / m) + p0^2 e^eps0 (e^eps0 - 1)^2 / (2 m)
    """
    _require_epsilon(local_epsilon)
    _require_delta(delta)
    if slots < 1 or not 0 < participation <= 1:
        raise UncountableEvent(
            f"a window of {slots} slots with participation {participation:g} cannot be counted: it needs at least one "
            "slot and a participation in (0, 1]"
        )
    if local_epsilon > _LARGEST_EPSILON:
        return math.inf
    ratio, move = math.exp(local_epsilon), participation * math.expm1(local_epsilon)
    return move * math.sqrt(2 * ratio * math.log(1 / delta) / slots) + move**2 * ratio / (2 * slots)


def largest_local_delta(local_epsilon: float, slot_delta: float) -> float:
    """Return the largest delta that a randomiser may have, by the condition of the theorem's clause for these.

    (1 - e^-eps0) delta1 / (4 e^eps0 (2 + ln(2 / delta1) / ln(1 / (1 - e^(-5 eps0)))))
    """
    _require_epsilon(local_epsilon)
    _require_delta(slot_delta)
    if local_epsilon > _LARGEST_EPSILON:
        return 0.0
    tries = math.log(2 / slot_delta) / -math.log1p(-math.exp(-5 * local_epsilon))
    return -math.expm1(-local_epsilon) * slot_delta / (4 * math.exp(local_epsilon) * (2 + tries))


def fixed_window_guarantee(
    local: Guarantee, *, participation: float, slots: int, delta: float, slot_delta: float
) -> Guarantee:
    """Return the guarantee for a randomiser of (eps0, delta0): the bound at 8 eps0; its delta grows with the slots.

    `slot_delta` is the theorem's delta1, what each slot may fail by: delta' = delta + m (e^eps' + 1) delta1. Where the
    clause gives no better epsilon, the randomiser's own guarantee is returned.
    """
    most = largest_local_delta(local.epsilon, slot_delta)
    if not local.delta <= most:
        raise UncountableEvent(
            f"a local randomiser of delta {delta_text(local.delta)} is not covered: at epsilon {local.epsilon:g} and "
            f"slot_delta {delta_text(slot_delta)} the theorem needs at most {most:.3g}; use a randomiser of a smaller "
            "delta"
        )
    bound = fixed_window_epsilon(8 * local.epsilon, participation=participation, slots=slots, delta=delta)
    if bound >= local.epsilon:
        return local
    total = delta + slots * (math.exp(bound) + 1) * slot_delta
    if total >= 1:
        raise UncountableEvent(
            f"{slots} slots of slot_delta {delta_text(slot_delta)} add up to a delta of "
            f"{delta_text(total)}, which says nothing; lower it"
        )
    return Guarantee(bound, total)


def shuffled_epsilon(local_epsilon: float, *, clients: int, delta: float) -> float:
    """Return, for comparison, the epsilon of a real shuffler (Feldman, McMillan and Talwar 2021, closed form).

    ln(1 + (e^eps0 - 1) / (e^eps0 + 1) (8 sqrt(e^eps0 ln(4/delta) / n) + 8 e^eps0 / n)), while
    eps0 <= ln(n / (16 ln(2/delta)))
    """
    _require_epsilon(local_epsilon)
    _require_delta(delta)
    limit = clients / (16 * math.log(2 / delta))
    if not (limit > 1 and local_epsilon <= math.log(limit)):
        raise UncountableEvent(
            f"the shuffling of {clients} reports of local epsilon {local_epsilon:g} cannot be counted at delta "
            f"{delta_text(delta)}: the theorem needs e^epsilon to be at most {limit:.3g}; use the local epsilon"
        )
    ratio = math.exp(local_epsilon)
    spread = 8 * math.sqrt(ratio * math.log(4 / delta) / clients) + 8 * ratio / clients
    return math.log1p(math.tanh(local_epsilon / 2) * spread)


def _require_epsilon(epsilon: float) -> None:
    if not 0 < epsilon < math.inf:  # NaN fails this too
        raise UncountableEvent(f"an epsilon of {epsilon:g} cannot be counted with; it is finite and above 0")


def _require_delta(delta: float) -> None:
    if not 0 < delta < 1:
        raise UncountableEvent(f"a delta of {delta_text(delta)} cannot be counted at; it lies in (0, 1)")
