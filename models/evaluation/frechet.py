"""The Fréchet distance between two sets of feature vectors, each seen as a Gaussian.

    d^2 = |m_a - m_b|^2 + tr(C_a) + tr(C_b) - 2 tr((C_a^1/2 C_b C_a^1/2)^1/2)

The square (as FID reports it) is what is returned. All of it is float64, and both roots are of symmetric matrices, by
eigenvalues: the product C_a C_b is not symmetric, and its general root can come out complex.

A sample covariance of n vectors in d dimensions spreads the eigenvalues, which biases the distance upwards. The
Ledoit-Wolf shrinkage (J. Multivariate Analysis 88, 2004) draws them back by as much as n is too small; from about
n = 20 d (1,280 images for 64 features) it changes little. Compare distances of equal n only.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from siloseal.federation.errors import DataError


@dataclass(frozen=True, slots=True)
class Gaussian:
    """Mean (d,) and covariance (d, d) of a set of feature vectors, float64."""

    mean: Tensor
    covariance: Tensor


def fit_gaussian(features: Tensor) -> Gaussian:
    """Mean and Ledoit-Wolf covariance of `features` (n, d)."""
    count = len(features)
    if count < 2:
        raise DataError(f"found {count} feature vectors; a covariance needs two at least, and 1,280 to be of use")
    rows = features.detach().double()
    mean = rows.mean(dim=0)
    centred = rows - mean
    return Gaussian(mean, shrunk_covariance(centred))


def shrunk_covariance(centred: Tensor) -> Tensor:
    """Ledoit-Wolf: the sample covariance, drawn towards a multiple of the identity."""
    count, width = centred.shape
    sample = centred.T @ centred / count
    target = torch.eye(width, dtype=torch.float64) * (sample.trace() / width)
    spread = (sample - target).square().sum()  # how far the sample covariance is from a multiple of the identity
    # The mean of |x x^T - S|^2 over the rows, divided by n: how far S is expected to be from the truth.
    error = (centred.square().sum(dim=1).square().mean() - sample.square().sum()) / count
    share = (error / spread).clamp(0, 1) if spread > 0 else torch.zeros((), dtype=torch.float64)
    return share * target + (1 - share) * sample


def frechet_distance(a: Gaussian, b: Gaussian) -> float:
    """The squared Fréchet distance of two Gaussians; never negative."""
    root = symmetric_root(a.covariance)
    cross = torch.linalg.eigvalsh(symmetric(root @ b.covariance @ root)).clamp_min(0).sqrt().sum()
    means = (a.mean - b.mean).square().sum()
    return max(0.0, float(means + a.covariance.trace() + b.covariance.trace() - 2 * cross))


def symmetric_root(matrix: Tensor) -> Tensor:
    """The positive semi-definite square root of a symmetric matrix."""
    values, vectors = torch.linalg.eigh(symmetric(matrix))
    # Rounding can leave an eigenvalue of zero slightly below it.
    root: Tensor = (vectors * values.clamp_min(0).sqrt()) @ vectors.T
    return root


def symmetric(matrix: Tensor) -> Tensor:
    """The symmetric part, which rounding would otherwise lose."""
    return (matrix + matrix.T) / 2
