"""The noised releases of a training job: its kernel mean, or its updates under privacy for whole silos."""

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray

from siloseal.federation.job.job import Job
from siloseal.federation.job.noise_on_sums import honest
from siloseal.federation.job.phase_sums import phase_sum
from siloseal.federation.job.phases import Phase
from siloseal.federation.job.releases import Content, Lengths, Release, by_phase, releases
from siloseal.federation.job.sections.warm_start import KernelMeanStart
from siloseal.models.building import feature_map
from siloseal.privacy_audit.releases import BASE_RECORDS, ReleaseSubject
from siloseal.silo.data.examples import Examples


def release_subjects(job: Job, part: Examples, lengths: Lengths, delta: float) -> Iterator[tuple[str, ReleaseSubject]]:
    """The first release of each phase whose sums are noised."""
    for release, count in by_phase(releases(job, lengths)):
        if release.mechanism is None or release.event is None:
            continue
        if release.content is Content.KERNEL_MEAN and isinstance(job.warm_start, KernelMeanStart):
            without, move = _kernel_mean(job, job.warm_start, part)
        else:
            without, move = _update(release)
        yield (
            f"{release.content.value.replace('_', ' ')} of {release.phase.replace('_', ' ')}",
            ReleaseSubject(
                mechanism=release.mechanism,
                domain=release.domain,
                event=release.event,
                releases=count,
                delta=delta,
                honest=honest(job, phase_sum(job, Phase(release.phase)).quorum),
                without=without,
                move=move,
            ),
        )


def _kernel_mean(job: Job, start: KernelMeanStart, part: Examples) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The sum over a few made-up records, and the one more record that is the canary."""
    features = feature_map(job, start, part.shape, part.classes)
    made_up = part.made_up(BASE_RECORDS + 1)
    every, base = torch.arange(BASE_RECORDS + 1), torch.arange(BASE_RECORDS)
    full, without = (
        features.labelled_sum(rows.inputs, rows.labels).numpy() for rows in map(made_up.select, (every, base))
    )
    return without, full - without


def _update(release: Release) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Nothing at all, and an update as long as the clip norm allows: the unit is the silo's whole contribution."""
    length = release.domain.length
    signs = np.random.default_rng(1).choice([-1.0, 1.0], length)
    return np.zeros(length), signs * release.domain.bound * (1 - 1e-9) / np.sqrt(length)
