"""A weighted mean as a sum: each silo contributes (w * u, u) with u = n / largest; the totals' quotient is the mean.

The weight rides inside the vector, so a scheme that hides contributions hides a silo's size too.
"""

import numpy as np
from numpy.typing import NDArray

from siloseal.federation.errors import DomainError
from siloseal.federation.sums.session import RealDomain, Vector


def weighted_domain(length: int, bound: float) -> RealDomain:
    """The domain of a weighted vector of `length` entries up to `bound`."""
    return RealDomain(length + 1, max(bound, 1.0))


def weigh(vector: NDArray[np.float64], *, weight: int, largest: int) -> NDArray[np.float64]:
    """One silo's contribution to the mean."""
    if not 0 < weight <= largest:
        raise DomainError(
            f"this silo holds {weight} examples, but the job counts with 1 to {largest}; raise largest_silo in the job"
        )
    share = weight / largest
    return np.append(vector * share, share)


def mean_of(total: Vector) -> NDArray[np.float64]:
    """The weighted mean that a sum of contributions stands for."""
    if not total[-1] > 0:
        raise DomainError(
            "the silos' weights add up to nothing: the sum's precision is too coarse for their sizes; raise its "
            "precision_bits, or lower largest_silo or largest_weight in the job"
        )
    return np.asarray(total[:-1] / total[-1], dtype=np.float64)
