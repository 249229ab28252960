"""What an audit found of one part of a job."""

from dataclasses import dataclass
from typing import Literal

from scipy import optimize

from siloseal.federation.privacy.events import Event
from siloseal.privacy_audit.guesses import ALPHA, BESIDE_SIZE, Guesses, chance_of_finding
from siloseal.privacy_audit.noise_size import NoiseSize
from siloseal.privacy_audit.success import noise_of, step_success

Verdict = Literal["sound", "broken"]

LIKELY = 0.9
"""Chance with which an audit finds the faults that it says it would have found."""


LONG_ENOUGH = 2.0
"""Length of a canary's gradient, in clip norms, which shows wider clips well enough."""


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
    canary_over_clip: float | None = None
    """Length of the canary's gradient before clipping, in clip norms; None where no gradients are clipped."""

    @property
    def p_value(self) -> float:
        """The probability of evidence as strong, at most, if what is booked is true: of guesses and noise together."""
        by_noise = 1.0 if self.noise is None else ALPHA / BESIDE_SIZE * self.noise.p_value
        return min(1.0, ALPHA / self.guesses.level * self.guesses.p_value, by_noise)

    @property
    def verdict(self) -> Verdict:
        """*Broken* only where the evidence is overwhelming; *sound* means that nothing was found at this power."""
        return "broken" if self.p_value < ALPHA else "sound"

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
        """The shortfall of the noise that guesses alone find in nine audits of ten; None if they would find none."""
        guesses = self.guesses.steps
        needed = self.guesses.needed(guesses)

        def missed(shortfall: float) -> float:
            return LIKELY - chance_of_finding(needed, guesses, self._success(shortfall))

        if missed(1 - 1e-9) > 0:
            return None
        return float(optimize.brentq(missed, 0.0, 1 - 1e-9, xtol=1e-4))

    @property
    def found_by_noise(self) -> float | None:
        """The shortfall of the noise that its measurement finds in nine audits of ten."""
        return None if self.noise is None else self.noise.smallest_found(BESIDE_SIZE)

    def _success(self, shortfall: float) -> float:
        """The success of guesses about noise that is smaller by this share; by the shape that a Gaussian's has."""
        rate = getattr(self.event, "sampling_rate", 1.0)
        return step_success(rate, noise_of(self.guesses.first_bound, rate) * (1 - shortfall))
