"""The clip norm of the silos' updates, as it moves from round to round by what the rounds released."""

import math

import numpy as np

from siloseal.federation.job.job import Job
from siloseal.federation.job.noise_on_sums import clip_rule
from siloseal.federation.job.releases import Release
from siloseal.federation.job.sections.privacy import SiloLevel
from siloseal.federation.privacy.mechanisms.clipping import LARGEST_NORM, SMALLEST_NORM, QuantileRule, WindowRule
from siloseal.federation.sums.secure_sum import Sum


class ClipNorm:
    """The clip norm as a function of the released sums, so that a replayed journal gives the same norms again."""

    def __init__(self, job: Job) -> None:
        self._rule = clip_rule(job)
        self._norm = job.privacy.clip_norm if isinstance(job.privacy, SiloLevel) else 0.0
        self._lengths: list[float] = []

    @property
    def requested(self) -> float:
        """The clip norm that a training request carries: 0 where the job fixes it."""
        return 0.0 if self._rule is None else self._norm

    def follow(self, release: Release, summed: Sum) -> None:
        """Move the norm by what one release shows."""
        match self._rule:
            case QuantileRule() as rule:
                moved = rule.following(self._norm, float(summed.total[-1]), len(summed.contributors))
            case WindowRule() as rule if release.mechanism is not None:
                silos = len(summed.contributors)
                deviation = release.mechanism.deviation(release.domain, silos) / silos
                average = np.asarray(summed.total, dtype=np.float64) / silos
                self._lengths.append(rule.measured(average, deviation))
                moved = rule.following(self._norm, self._lengths)
            case _:
                return
        # Noise may say anything: a norm that ran away would end the run at the silos, which check it.
        # Seven digits: silos are told the norm, and a machine that replays the journal may add up otherwise.
        self._norm = (
            float(f"{min(max(moved, SMALLEST_NORM), LARGEST_NORM):.6e}") if math.isfinite(moved) else self._norm
        )
