"""What an audit found of one part of a job."""

from dataclasses import dataclass
from typing import Literal

from scipy import optimize

from siloseal.federation.privacy.accounting import Accounting
from siloseal.federation.privacy.events import (
    DiscreteGaussianRelease,
    Event,
    GaussianRelease,
    SampledGaussianSteps,
    SkellamRelease,
)
from siloseal.privacy_audit.attackers import LOW_BITS
from siloseal.privacy_audit.booked_noise import moments
from siloseal.privacy_audit.guesses import ALPHA, BESIDE_SIZE, LIKELY, Guesses, chance_of_finding
from siloseal.privacy_audit.noise_size import NoiseSize
from siloseal.privacy_audit.sample_size import SampleSize
from siloseal.privacy_audit.success import noise_of, step_success

Verdict = Literal["sound", "broken", "not tested"]

LONG_ENOUGH = 2.0
"""Length of a canary's gradient, in clip norms, which shows wider clips well enough."""


@dataclass(frozen=True)
class BookedAs:
    """What the ledger books for the steps or releases of a part, all together, and how it counts them."""

    event: Event
    """All steps of the job, or one release."""
    times: int
    """Number of times that the event is booked."""
    accountant: Accounting


@dataclass(frozen=True)
class Finding:
    """Guesses and measured noise of one part, beside what is booked for it."""

    part: str
    """The training steps, the release, or the query that was audited."""
    event: Event
    """What is booked for one step or release."""
    guesses: Guesses
    noise: NoiseSize | None
    """The measured noise; None where a release has no noise of one size."""
    lower_bound: float
    """Epsilon that the guesses prove of all steps or releases that the job books, with `CONFIDENCE`.

    It takes for granted that the noise has the booked shape, where it has a size.
    """
    booked_epsilon: float
    """Epsilon of the same steps or releases as the ledger counts them."""
    delta: float
    seconds: float
    sample: SampleSize | None = None
    """The measured size of samples; None where every unit is in every step, or there are no steps."""
    canary_over_clip: float | None = None
    """Length of the canary's gradient before clipping, in clip norms; None where no gradients are clipped."""
    booked: BookedAs | None = None
    """The whole of what the ledger books; None where that is not known."""

    @property
    def p_value(self) -> float:
        """The probability of evidence as strong, at most, if what is booked is true: of all tests together."""
        measured = [test.p_value for test in (self.noise, self.sample) if test is not None]
        return min(
            1.0,
            ALPHA / self.guesses.level * self.guesses.p_value,
            *(ALPHA / self._level_of_sizes * p_value for p_value in measured),
        )

    @property
    def verdict(self) -> Verdict:
        """*Broken* only where the evidence is overwhelming; *sound* means that nothing was found at this power.

        *Not tested* means that there were too few steps for any power: even a release without noise would have passed,
        or, where samples are audited, steps of all units.
        """
        if self.p_value < ALPHA:
            return "broken"
        if self.sample is not None:
            return "not tested" if self.found_sampling_rate is None else "sound"
        return "sound" if self.found_by_noise is not None or self.guesses_can_find else "not tested"

    @property
    def guesses_can_find(self) -> bool:
        """Whether guesses alone find a release without any noise in nine audits of ten."""
        return self._chance((1 + self._rate) / 2) >= LIKELY

    @property
    def power_of_guesses_is_known(self) -> bool:
        """Whether it is known how often guesses are right about less noise.

        It is where the noise is (nearly) normal. It is not where a bound follows from an (epsilon, delta) curve alone,
        and attackers on low bits do not look at the size of the noise.
        """
        return self._multiplier is not None

    @property
    def untested(self) -> list[str]:
        """Which faults that the part is made for it could not have shown."""
        few = self.canary_over_clip is not None and self.sample is None and not self.guesses_can_find
        reused = ["noise that is used again was not looked for, in so few steps"] if few else []
        return [*reused, *([] if self.untested_clip is None else [self.untested_clip])]

    @property
    def untested_clip(self) -> str | None:
        """What the canary was too short to show of the clip; None if it was long enough."""
        match self.canary_over_clip:
            case None:
                return None
            case length if length <= 1:
                return f"the clip was not exercised, because no made-up gradient is longer than {length:.2g} clip norms"
            case length if length < LONG_ENOUGH:
                return (
                    f"clips wider than {length:.2f} clip norms were not tested, because no made-up gradient is longer"
                )
            case _:
                return None

    @property
    def found_by_guesses(self) -> float | None:
        """The shortfall of the noise that guesses alone find in nine audits of ten; None if none, or not known."""
        booked, rate = self._multiplier, self._rate
        if booked is None:
            return None
        # A margin of the bound must not count as noise that guesses see.
        multiplier = max(booked, noise_of(self.guesses.first_bound, rate))

        def missed(shortfall: float) -> float:
            return LIKELY - self._chance(step_success(rate, multiplier * (1 - shortfall)))

        if missed(1 - 1e-9) > 0:
            return None
        return float(optimize.brentq(missed, 0.0, 1 - 1e-9, xtol=1e-4))

    @property
    def found_by_noise(self) -> float | None:
        """The shortfall of the noise that its measurement finds in nine audits of ten; None if it finds none."""
        shortfall = 1.0 if self.noise is None else self.noise.smallest_found(self._level_of_sizes)
        return shortfall if shortfall < 1 else None

    @property
    def found_sampling_rate(self) -> float | None:
        """The smallest sampling rate that is found in nine audits of ten; None if none, or if nothing is sampled."""
        return None if self.sample is None else self.sample.smallest_found(self._level_of_sizes)

    @property
    def _level_of_sizes(self) -> float:
        """Level of each test of a size: they share what guesses leave."""
        return BESIDE_SIZE / max(1, sum(test is not None for test in (self.noise, self.sample)))

    def _chance(self, success: float) -> float:
        """The probability that guesses with this success mean *broken*."""
        made = self.guesses.steps
        return chance_of_finding(self.guesses.needed(made), made, success)

    @property
    def _rate(self) -> float:
        return self.event.sampling_rate if isinstance(self.event, SampledGaussianSteps) else 1.0

    @property
    def _multiplier(self) -> float | None:
        """The booked deviation of (nearly) normal noise, in units of the distance that one unit moves a sum."""
        if LOW_BITS in self.guesses.bounds and len(self.guesses.bounds) == 1:
            return None
        match self.event:
            case SampledGaussianSteps(noise_multiplier=noise) | GaussianRelease(noise_multiplier=noise):
                return noise
            case SkellamRelease() | DiscreteGaussianRelease() as event:
                return moments(event).deviation / event.l2
            case _:
                return None
