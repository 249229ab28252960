"""The clip norm from round to round, by what made-up sums released."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from siloseal.aggregator.clip_norm import ClipNorm
from siloseal.federation.job.job import Job
from siloseal.federation.job.phases import Phase
from siloseal.federation.job.releases import Lengths, release_of
from siloseal.federation.privacy.mechanisms.clipping import LARGEST_NORM, SMALLEST_NORM
from siloseal.federation.sums.secure_sum import Sum

SILO_LEVEL = {"kind": "silo_level", "epsilon": 8, "delta": 1e-4, "clip_norm": 1.0}
LENGTH = 400
SILOS = ("north", "east", "south")


@pytest.fixture
def norm_of(small_job: Callable[..., Job]) -> Callable[..., tuple[ClipNorm, Callable[[float], None]]]:
    """A clip norm, and a round whose released average has a length, noise included."""

    def make(clipping: dict[str, Any]) -> tuple[ClipNorm, Callable[[float], None]]:
        job = small_job(privacy=SILO_LEVEL, mechanism={"kind": "gaussian_local", "clipping": clipping})
        norm = ClipNorm(job)

        def released(length: float) -> None:
            release = release_of(job, Lengths(0, LENGTH), Phase.PHASE_2, 1, norm.requested)
            total = np.full(release.domain.length, 3 * length / np.sqrt(release.domain.length))
            norm.follow(release, Sum(total, SILOS, 0.0))

        return norm, released

    return make


def noise_length(small_job: Callable[..., Job], clip_norm: float) -> float:
    """How long the average's noise alone is."""
    job = small_job(privacy=SILO_LEVEL, mechanism={"kind": "gaussian_local"})
    release = release_of(job, Lengths(0, LENGTH), Phase.PHASE_2, 1, clip_norm)
    assert release.mechanism is not None
    return float(release.mechanism.deviation(release.domain, 3) / 3 * np.sqrt(LENGTH))


def test_a_fixed_one_is_the_jobs_and_is_not_told(norm_of: Callable[..., Any]) -> None:
    norm, released = norm_of({"kind": "fixed"})
    released(100.0)
    assert norm.requested == 0.0


def test_a_window_follows_the_median_length_without_noise_and_at_most_doubles(
    small_job: Callable[..., Job], norm_of: Callable[..., Any]
) -> None:
    norm, released = norm_of({"kind": "window", "window": 3, "factor": 1.0})
    assert norm.requested == 1.0
    released(float(np.hypot(1.5, noise_length(small_job, 1.0))))
    assert norm.requested == pytest.approx(1.5, rel=1e-6)
    released(1e6)  # the median of the two is far off
    assert norm.requested == pytest.approx(3.0, rel=1e-6)


def test_a_window_of_nothing_but_noise_stays(small_job: Callable[..., Job], norm_of: Callable[..., Any]) -> None:
    norm, released = norm_of({"kind": "window"})
    released(0.9 * noise_length(small_job, 1.0))
    assert norm.requested == 1.0


@pytest.mark.parametrize(("entry", "end"), [(1e300, SMALLEST_NORM), (-1e300, LARGEST_NORM)])
def test_a_norm_that_noise_drives_away_stays_one_that_silos_take(
    norm_of: Callable[..., Any], entry: float, end: float
) -> None:
    """However far out an entry is, one round moves the norm by e^(learning rate / 2) at most."""
    norm, released = norm_of({"kind": "quantile"})
    released(entry)
    assert abs(np.log(norm.requested)) == pytest.approx(0.1, rel=1e-5)
    for _ in range(200):
        released(entry)
    assert norm.requested == end


def test_what_is_told_has_seven_digits_so_that_another_machine_tells_the_same(norm_of: Callable[..., Any]) -> None:
    norm, released = norm_of({"kind": "quantile"})
    released(0.123456789)
    assert norm.requested == float(f"{norm.requested:.6e}") != 1.0
