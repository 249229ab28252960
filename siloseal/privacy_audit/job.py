"""The audit of a whole job: each thing that it releases, one after the other, within a time for all of them."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import torch

from siloseal.federation.analytics.any_job import AnyJob
from siloseal.federation.analytics.config import AnalyticsJob
from siloseal.federation.averages.config import AverageJob
from siloseal.federation.errors import ConfigError
from siloseal.federation.job.job import Job
from siloseal.federation.job.releases import Lengths
from siloseal.federation.job.sections.privacy import NoPrivacy, UnitLevel
from siloseal.federation.privacy.events import SampledGaussianSteps
from siloseal.models.building import vector_lengths
from siloseal.privacy_audit.finding import Finding
from siloseal.privacy_audit.holdings import Holdings
from siloseal.privacy_audit.job_releases import release_subjects
from siloseal.privacy_audit.query_releases import query_subjects
from siloseal.privacy_audit.releases import ReleaseSubject, audit_release
from siloseal.privacy_audit.training import Subject, audit_low_bits, audit_steps
from siloseal.privacy_audit.training_parts import MOST_PLANS, distinct_steps, steps_subject

STEPS = 20_000
"""Steps of each part, if the time allows."""
LOW_BIT_STEPS = 500
"""Steps of an audit of low bits: where they leak at all, every guess is right."""
SECONDS = 80.0
"""Time for all parts of a job together."""
MOST_NAMED = 2
"""Most other silos of the same plan that a part names."""

Run = Callable[[int, float, Callable[[int], None]], Finding]
"""Function from the most steps, the most seconds and who is told of progress, to what was found."""
Tell = Callable[[str, int, int], None]
"""Function that is told the part, the steps that are done, and the steps in all."""


@dataclass(frozen=True)
class Part:
    """One thing that is audited."""

    name: str
    run: Run
    most_steps: int = STEPS


def require_auditable(job: AnyJob) -> None:
    """`ConfigError` for a job that promises nothing which could be audited."""
    if isinstance(job, AverageJob):
        raise ConfigError(
            "a job of averages sums what the silos' own scripts trained, and promises no privacy of its own; audit the "
            "scripts, or a job that trains"
        )
    if isinstance(job.privacy, NoPrivacy):
        raise ConfigError("privacy.kind is none, so that there is no promise to audit; choose a kind that protects")


def audit_job(
    job: AnyJob, holdings: Holdings | None, *, steps: int = STEPS, seconds: float = SECONDS, tell: Tell
) -> Iterator[Finding]:
    """Audit every part of a job. What one part does not use of its time, the others have."""
    require_auditable(job)
    torch.set_num_threads(1)  # as at a silo; steps are small, and several threads mostly wait for each other
    parts = list(parts_of(job, holdings))
    ends = time.monotonic() + seconds
    for number, part in enumerate(parts):
        most = min(steps, part.most_steps)
        tell(part.name, 0, most)
        left = (ends - time.monotonic()) / (len(parts) - number)
        yield part.run(most, max(left, 0.0), partial(_told, tell, part.name, most))


def _told(tell: Tell, part: str, most: int, done: int) -> None:
    tell(part, done, most)


def parts_of(job: AnyJob, holdings: Holdings | None) -> Iterator[Part]:
    """The parts of a job: its training steps, the sums that are noised themselves, or its queries."""
    match job:
        case AnalyticsJob():
            for name, subject in query_subjects(job):
                yield Part(name, partial(_release, subject, name))
        case Job() if holdings is not None:
            yield from _training_parts(job, holdings)
        case _:
            raise ConfigError("a training job is audited with the shapes of its silos' data; give them")


def plans_left_out(job: AnyJob, holdings: Holdings | None) -> int:
    """Number of plans of training steps that are not audited, because `MOST_PLANS` with less noise are."""
    if not (isinstance(job, Job) and isinstance(job.privacy, UnitLevel) and holdings is not None):
        return 0
    return max(0, len(distinct_steps(job, holdings.parts, _lengths(job, holdings))) - MOST_PLANS)


def _lengths(job: Job, holdings: Holdings) -> Lengths:
    first = next(iter(holdings.parts.values()))
    return vector_lengths(job, first.shape, first.classes)


def _release(subject: ReleaseSubject, name: str, steps: int, seconds: float, tell: Callable[[int], None]) -> Finding:
    return audit_release(subject, part=name, trials=steps, seconds=seconds, tell=tell)


def _training_parts(job: Job, holdings: Holdings) -> Iterator[Part]:
    first, lengths = next(iter(holdings.parts.values())), _lengths(job, holdings)
    privacy = job.privacy
    if not isinstance(privacy, NoPrivacy):
        for name, release in release_subjects(job, first, lengths, privacy.delta):
            yield Part(name, partial(_release, release, name))
    if isinstance(privacy, UnitLevel):
        plans = distinct_steps(job, holdings.parts, lengths)
        alike = _alike(job, holdings, lengths, plans)
        for silo, booked in list(plans.items())[:MOST_PLANS]:
            subject = steps_subject(job, privacy, holdings.parts[silo], holdings.labels[silo], booked)
            yield from _step_parts(subject, _named(silo, alike[silo]))


def _alike(
    job: Job, holdings: Holdings, lengths: Lengths, plans: Mapping[str, SampledGaussianSteps]
) -> dict[str, list[str]]:
    """The other silos whose plan each of these is: the one that is nearest to their own."""
    alike: dict[str, list[str]] = {silo: [] for silo in plans}
    for name, part in holdings.parts.items():
        for own in distinct_steps(job, {name: part}, lengths).values():
            if (silo := min(plans, key=lambda other: _distance(plans[other], own))) != name:
                alike[silo].append(name)
    return alike


def _distance(one: SampledGaussianSteps, other: SampledGaussianSteps) -> float:
    return abs(one.noise_multiplier - other.noise_multiplier) + abs(one.sampling_rate - other.sampling_rate)


def _named(silo: str, alike: Sequence[str]) -> str:
    """The silo, and who else has its plan."""
    if not alike:
        return silo
    others = ", ".join(alike) if len(alike) <= MOST_NAMED else f"{len(alike)} others"
    return f"{silo} (and {others}: same plan)"


def _step_parts(subject: Subject, whose: str) -> Iterator[Part]:
    """The steps with every unit, where faults of noise and clipping show; as sampled; and by their low bits."""
    full = subject.in_every_step()
    yield Part(name := f"steps of {whose}, every unit in each", partial(_steps, full, name))
    if subject.booked.sampling_rate < 1:
        yield Part(name := f"steps of {whose}, sampled as booked", partial(_steps, subject, name))
    yield Part(name := f"steps of {whose}, low bits", partial(_low_bits, full, name), LOW_BIT_STEPS)


def _steps(subject: Subject, name: str, steps: int, seconds: float, tell: Callable[[int], None]) -> Finding:
    return audit_steps(subject, steps=steps, seconds=seconds, part=name, tell=tell)


def _low_bits(subject: Subject, name: str, steps: int, seconds: float, tell: Callable[[int], None]) -> Finding:
    return audit_low_bits(subject, steps=steps, seconds=seconds, part=name, tell=tell)
