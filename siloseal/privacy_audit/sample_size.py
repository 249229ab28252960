"""The size of samples, counted: a test of its own where a job trains on samples.

The ledger books that each unit is in a step's sample with the booked rate q, whatever becomes of all others and of
other steps. So n steps of m units draw Binomial(n m, q) units in all, and the tail of that is an exact p-value for
samples that are too large. Samples of the right size that are drawn in another way are left to the guesses.
"""

from dataclasses import dataclass

from scipy import optimize, stats

from siloseal.privacy_audit.guesses import LIKELY, chance_of_finding


@dataclass
class SampleSize:
    """The units that were drawn so far, against those that could have been."""

    rate: float
    """Booked sampling rate."""
    drawn: int = 0
    units: int = 0

    def add(self, drawn: int, *, units: int) -> None:
        """Add the sample of one step, of so many units."""
        self.drawn += drawn
        self.units += units

    @property
    def share(self) -> float:
        """The measured sampling rate."""
        return self.drawn / max(1, self.units)

    @property
    def p_value(self) -> float:
        """The probability of as many drawn units or more, if the booked rate is true."""
        return float(stats.binom.sf(self.drawn - 1, self.units, self.rate))

    def smallest_found(self, alpha: float) -> float | None:
        """The smallest sampling rate that is found in nine audits of ten; None if not even a rate of 1 is."""
        needed = int(stats.binom.isf(alpha, self.units, self.rate)) + 1

        def missed(rate: float) -> float:
            return LIKELY - chance_of_finding(needed, self.units, rate)

        return None if missed(1.0) > 0 else float(optimize.brentq(missed, self.rate, 1.0, xtol=1e-9))
