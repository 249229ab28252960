"""The training steps of a job as subjects of audits: its learner on made-up units, under the noise of its plans."""

import math
from collections.abc import Mapping, Sequence

from siloseal.federation.job.job import Job
from siloseal.federation.job.planning import plan_silo
from siloseal.federation.job.releases import Lengths
from siloseal.federation.job.sections.privacy import UnitLevel
from siloseal.federation.privacy.events import SampledGaussianSteps
from siloseal.models.building import build_learner
from siloseal.privacy_audit.finding import LONG_ENOUGH
from siloseal.privacy_audit.known_randomness import KnownRandomness
from siloseal.privacy_audit.training import Subject
from siloseal.privacy_audit.units import OTHERS, SCALES, made_up_units, with_canary
from siloseal.silo.data.examples import Examples
from siloseal.silo.data.units import count_units

MOST_PLANS = 3
"""Most plans of one job that are audited, those with the least noise: silos run the same code, and differ in size."""


def distinct_steps(job: Job, parts: Mapping[str, Examples], lengths: Lengths) -> dict[str, SampledGaussianSteps]:
    """All booked steps of the first silo with each noise and sampling rate; the least noise first: it shows most."""
    found = dict[tuple[float, float], tuple[str, SampledGaussianSteps]]()
    for name, part in parts.items():
        plan = plan_silo(job, name, count_units(job, part), lengths, examples=len(part))
        if plan.step_noise is not None:
            booked = SampledGaussianSteps(plan.sampling_rate, plan.step_noise, sum(plan.steps.values()))
            found.setdefault((round(plan.step_noise, 4), round(plan.sampling_rate, 4)), (name, booked))
    return dict(found[key] for key in sorted(found))


def steps_subject(
    job: Job, privacy: UnitLevel, part: Examples, labels: Sequence[int], booked: SampledGaussianSteps
) -> Subject:
    """The booked steps on made-up units, of which the canary is `LONG_ENOUGH` if any is, or else the longest."""
    known = KnownRandomness()
    batch = booked.sampling_rate * (OTHERS + 1)
    learner = build_learner(job, part.shape, part.classes, labels=labels, expected_batch=batch, randomness=known)
    longest, clip_norm = 0.0, privacy.clip_norm
    for scale in SCALES:
        source = made_up_units(job, part, list(labels), scale, known)
        tried, norm = with_canary(learner, source, known)
        if scale == SCALES[0] or longest < norm < math.inf:
            units, longest = tried, norm
        if not norm < LONG_ENOUGH * clip_norm:  # a gradient that is too long for its numbers ends it, too
            break
    return Subject(
        learner, units, known, job.optimizer, clip_norm, booked, privacy.delta, booked.sampling_rate, longest
    )
