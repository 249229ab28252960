"""The sum behind each average, and what its total means. Every party computes them from the job."""

import math

import numpy as np

from siloseal.federation.averages.config import AverageJob
from siloseal.federation.averages.mean import Mean
from siloseal.federation.averages.structure import Structure
from siloseal.federation.errors import DomainError
from siloseal.federation.job.agreement import statement
from siloseal.federation.job.releases import Content, Release
from siloseal.federation.job.weighting import mean_of
from siloseal.federation.sums.secure_sum import Sum

STAGE = "averages"
SINGLE_PRECISION = 2.0**-23
"""Bound on the relative error of a value that is rounded to single precision, in which averages travel."""


COARSEST = 2.0**-8
"""Largest error of a value if this silo's weight were all there is. Larger weights of other silos make it smaller."""


def require_precision(job: AverageJob, weight: int) -> None:
    """`DomainError` where a silo's weight is so far below largest_silo that rounding would spoil what it gives."""
    grid = job.secure_sum.build().grid(job.domain(1))
    if weight > 0 and (error := grid / 2 * job.largest_silo / weight) > COARSEST:
        raise DomainError(
            f"a weight of {weight} among up to {job.largest_silo} leaves a module's values uncertain by {error:.2g}; "
            f"lower largest_silo or largest_weight, or raise precision_bits of secure_sum by "
            f"{math.ceil(math.log2(error / COARSEST))}"
        )


def average_release(job: AverageJob, round: int, length: int) -> Release:
    """The release of one average of modules with this many values. It costs no epsilon, because it has no noise."""
    return Release(
        phase=STAGE,
        round=round,
        entry=STAGE,
        content=Content.MODEL,
        inner=job.secure_sum.build(),
        mechanism=None,
        domain=job.domain(length),
        roster=job.silos.names,
        quorum=job.quorum,
        event=None,
    )


def start_of(job: AverageJob, round: int, structure: Structure, last: Mean | None) -> bytes:
    """A digest of what all silos must have in common in one average; it is part of the session that they sign.

    It is the structure of the modules, and the last average: silos that were given different ones notice.
    """
    told = b"" if last is None else last.to_wire().SerializeToString(deterministic=True)
    return statement("an average of a run", job.digest, round.to_bytes(8, "little"), structure.digest, told)


def mean_in(job: AverageJob, round: int, summed: Sum) -> Mean:
    """The average that a sum stands for, with a bound on its error.

    T and U are the totals of a value and of the weights, as they were found; each may be off by e. The true average is
    (T - d) / (U - d') with d and d' of at most e. It differs from T / U by e (1 + |T / U|) / (U - e) at most.
    """
    mean, weights, error = mean_of(summed.total), float(summed.total[-1]), summed.error_bound
    if not weights > error:
        raise DomainError(
            "the silos' weights add up to less than the sum's error; raise precision_bits of secure_sum, or lower "
            "largest_silo or largest_weight in the job"
        )
    largest = float(np.abs(mean).max())
    bound = error * (1 + largest) / (weights - error) + largest * SINGLE_PRECISION
    # No true average is beyond the bound of what was averaged: to cut there takes a value only nearer to it.
    values = np.clip(mean, -job.largest_weight, job.largest_weight).astype("<f4")
    return Mean(round, values, summed.contributors, bound)
