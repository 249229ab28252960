"""Every kind of noise on a sum, calibrated for the same demand, and the error that a sum shows under it."""

from typing import Literal, assert_never, get_args

import numpy as np
from numpy.typing import NDArray

from siloseal.federation.errors import ConfigError
from siloseal.federation.privacy.mechanism import Mechanism
from siloseal.federation.privacy.mechanisms.calibration import Demand, gaussian_multiplier
from siloseal.federation.privacy.mechanisms.gaussian import GaussianAtAggregator, GaussianAtSilo
from siloseal.federation.privacy.mechanisms.lattice_calibration import calibrated_lattice
from siloseal.federation.privacy.mechanisms.pbm_calibration import calibrated_pbm, calibrated_pbm_kashin
from siloseal.federation.sums.in_process import sum_in_process
from siloseal.federation.sums.noisy_sum import NoisySum
from siloseal.federation.sums.plain.plain_sum import PlainSum
from siloseal.federation.sums.session import RealDomain

Kind = Literal["gaussian_central", "ddg", "skellam", "pbm", "binomial", "pbm_kashin", "gaussian_local"]
KINDS: tuple[Kind, ...] = get_args(Kind)
"""Kinds of noise, from the one that trusts most to the one that trusts nobody."""

CLIP_NORM = 1.0
"""L2 norm of every vector."""


def calibrated(kind: Kind, demand: Demand, *, bits: int) -> Mechanism | None:
    """Return the mechanism for vectors of norm 1; None where the bits are too few. The two Gaussians know no bits."""
    try:
        match kind:
            case "gaussian_central":
                return GaussianAtAggregator(CLIP_NORM, CLIP_NORM, gaussian_multiplier(demand))
            case "gaussian_local":
                return GaussianAtSilo(CLIP_NORM, gaussian_multiplier(demand), whole=True)
            case "pbm":
                return calibrated_pbm(demand, bits=bits, clip_norm=CLIP_NORM)
            case "pbm_kashin":
                return calibrated_pbm_kashin(demand, bits=bits, clip_norm=CLIP_NORM)
            case "ddg" | "skellam" | "binomial":
                return calibrated_lattice(kind, demand, bits=bits, sensitivity=CLIP_NORM)
            case _:
                assert_never(kind)
    except ConfigError:
        return None


def noised_sum(mechanism: Mechanism, vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the silos' vectors (silos, entries) as released: noised and added, without masks around them."""
    scheme, domain = NoisySum(mechanism, PlainSum()), RealDomain(vectors.shape[1], CLIP_NORM)
    return np.asarray(sum_in_process(scheme, vectors, domain=domain).total, dtype=np.float64)


def error(mechanism: Mechanism, vectors: NDArray[np.float64]) -> float:
    """Return the root mean square error, over entries, of one release."""
    return float(np.sqrt(np.mean((noised_sum(mechanism, vectors) - vectors.sum(axis=0)) ** 2)))


def random_directions(silos: int, length: int, *, seed: int) -> NDArray[np.float64]:
    """Return a random vector of norm 1 for each silo (silos, length)."""
    vectors = np.random.default_rng(seed).standard_normal((silos, length))
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float64)
