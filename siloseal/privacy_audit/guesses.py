"""Counted guesses: an exact test of what is booked, step after step, and what the guesses prove.

In each step a fresh fair coin decides whether the canary is there. Let the attacker's guess be any function of what
was released and of the whole past. If each step's event is true, then, given the past, the guess is right with
probability p at most, because the coin and the noise of this step are fresh (`success.py`). So the number of right
guesses among n is stochastically at most Binomial(n, p): by induction over the steps, whatever the past was, the next
guess adds no more than a p-coin does. The tail P(Binomial(n, p) >= right) is therefore an exact p-value. It takes
nothing for granted about the shape of the noise, and steps may depend on each other.

The guesses are looked at several times, so that gross faults end an audit early, and several attackers guess. Each
look at each of them is one test among all that were planned, so the smallest p-value is multiplied by their number
(Bonferroni). The number of tests is fixed before the first step. Each attacker has its own bound: that of any rule, or
a smaller one that holds for its rule alone.
"""

import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from scipy import stats

ALPHA = 1e-6
"""Level of the verdict *broken*: a sound part of a job is called so once in a million audits at most."""

BESIDE_SIZE = ALPHA / 2
"""Level of the guesses where the size of the noise is tested too, and of that test: together they have `ALPHA`."""

CONFIDENCE = 0.95
"""Confidence of lower bounds."""

LIKELY = 0.9
"""Chance with which an audit finds the faults that it says it would have found."""

FIRST_LOOK, LOOK_FACTOR = 500, 4


def looks_until(trials: int) -> tuple[int, ...]:
    """Numbers of guesses at which they are counted: 500, four times as many, and so on, and the last of all."""

    def early() -> Iterator[int]:
        look = FIRST_LOOK
        while 2 * look <= trials:
            yield look
            look *= LOOK_FACTOR

    return (*early(), trials)


@dataclass(frozen=True)
class Count:
    """The guesses of one attacker at one look."""

    attacker: str
    guesses: int
    right: int
    bound: float
    """Largest probability that this attacker guesses right, if what is booked is true."""

    @property
    def p_value(self) -> float:
        """The probability of as many right guesses or more, at most, if what is booked is true."""
        return float(stats.binom.sf(self.right - 1, self.guesses, self.bound))

    def least_success(self, confidence: float) -> float:
        """The probability of a right guess that is exceeded with this confidence (Clopper and Pearson 1934)."""
        if not self.right:
            return 0.0
        return float(stats.beta.ppf(1 - confidence, self.right, self.guesses - self.right + 1))


@dataclass
class Guesses:
    """Guesses of several attackers about the same coins, and all looks at them so far."""

    bounds: Mapping[str, float]
    """Largest probability of a right guess of each attacker, if what is booked is true."""
    looks: tuple[int, ...]
    level: float = ALPHA
    """Level of the guesses alone: a fault is found where their p-value is below it."""
    made: dict[str, list[bool]] = field(init=False)
    """Whether each guess of an attacker was right."""
    counts: list[Count] = field(default_factory=list)
    steps: int = 0
    found: bool = False
    """Whether a look found a fault, so that the audit may end."""

    def __post_init__(self) -> None:
        self.made = {attacker: [] for attacker in self.bounds}

    @property
    def tests(self) -> int:
        """Number of tests that were planned."""
        return len(self.bounds) * len(self.looks)

    def add(self, coin: bool, guessed: dict[str, bool]) -> None:
        """Add one step's guesses, and look at all of them if it is time."""
        self.steps += 1
        for attacker, guess in guessed.items():
            self.made[attacker].append(guess == coin)
        if self.steps in self.looks and not self.found:
            self.look()

    def finish(self) -> None:
        """Count the guesses since the last look. An audit that ran out of time has its last look earlier.

        One that found a fault has no further look: that would be a test that nobody planned.
        """
        if not self.counts or (self.counts[-1].guesses < self.steps and not self.found):
            self.look()

    def look(self) -> None:
        """Count what there is."""
        for attacker, right in self.made.items():
            self.counts.append(Count(attacker, len(right), sum(right), self.bounds[attacker]))
        self.found = self.p_value < self.level

    @property
    def p_value(self) -> float:
        """The smallest p-value of all looks so far, times the number of tests that were planned."""
        return min([1.0, *(self.tests * count.p_value for count in self.counts)])

    @property
    def best(self) -> Count:
        """The look that speaks loudest against what is booked."""
        return min(self.counts, key=lambda count: count.p_value)

    def least_success(self) -> float:
        """The success of the best attacker, in all looks together, that is exceeded with `CONFIDENCE`."""
        each = 1 - (1 - CONFIDENCE) / self.tests
        return max([0.0, *(count.least_success(each) for count in self.counts)])

    @property
    def first_bound(self) -> float:
        """The bound of the first attacker, whose guesses get better as the noise gets smaller."""
        return next(iter(self.bounds.values()))

    def needed(self, guesses: int) -> int:
        """Number of right guesses of the first attacker among these that would have meant *broken*."""
        return int(stats.binom.isf(self.level / self.tests, guesses, self.first_bound)) + 1


def chance_of_finding(needed: int, guesses: int, success: float) -> float:
    """The probability that so many guesses are right, if each of them is with this probability."""
    return float(stats.binom.sf(needed - 1, guesses, success))


def coin() -> bool:
    """Toss a fair coin, from the operating system."""
    return bool(secrets.randbits(1))
