"""How well a classifier names held-out records: by class, by its own confidence, and over any mix of the classes.

Records may have weights. Weights that give each class the share that it has at one silo make every measure that of the
silo's own mix of classes: the accuracy is then the sum of the recalls, each by the silo's share of its class.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from siloseal.federation.errors import DataError, RunError

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]

MOST_CROSSED = 50
"""Most classes of a confusion matrix: a larger one is not read, and grows with the square."""


@dataclass(frozen=True, slots=True)
class ConfidenceBin:
    """Records whose confidence, the largest of a record's probabilities, lies in (low, high]."""

    low: float
    high: float
    records: int
    confidence: float
    """Mean confidence of these records."""
    accuracy: float
    """Share of them that are named rightly."""


@dataclass(frozen=True, slots=True)
class Measures:
    """What a classifier is worth on a set of labelled records. What the records cannot tell is None."""

    accuracy: float
    balanced_accuracy: float
    """Mean recall over the classes that occur."""
    auc: float | None
    """Area under the ROC curve: of class 1 where there are two, else the mean over classes, each against the rest."""
    records: tuple[int, ...]
    """Number of records of each class. Those without weight are not counted, here and below."""
    confusion: Counts | None  # (classes, classes): [actual, named]
    """Number of records by actual and by named class; None for more classes than anybody reads."""
    recall: tuple[float | None, ...]
    """Share of each class's records that are named so; None where no record is of the class."""
    precision: tuple[float | None, ...]
    """Share of the records named so that are of the class; None where nothing is named so."""
    calibration_error: float
    """Expected calibration error: the mean distance of confidence and accuracy over the bins, by their records."""
    bins: tuple[ConfidenceBin, ...]
    """Bins that hold a record, in order."""


def measure(logits: Tensor, labels: Tensor, *, bins: int, weights: Floats | None = None) -> Measures:
    """Measure outputs (N, classes) against labels (N,). Weights (N,) count a record as more or less than one."""
    shares = probabilities_of(logits)
    actual = _checked(labels, shares)
    weight = np.ones(len(actual)) if weights is None else weights
    if weight.shape != actual.shape or weight.min() < 0 or not 0 < weight.sum() < np.inf:
        raise DataError(f"found weights of shape {weight.shape} for {len(actual)} records, expected one each, above 0")
    classes, named = shares.shape[1], shares.argmax(1)
    right = _by_class(actual, weight * (actual == named), classes)
    recall, precision = (_shares(right, _by_class(of, weight, classes)) for of in (actual, named))
    found = _confidence_bins(shares.max(1), actual == named, weight, bins)
    counted = weight > 0
    return Measures(
        accuracy=float(min(1.0, right.sum() / weight.sum())),
        balanced_accuracy=float(np.mean([share for share in recall if share is not None])),
        auc=_mean_auc(shares, actual, weight),
        records=tuple(np.bincount(actual[counted], minlength=classes).tolist()),
        confusion=_crossed(actual[counted], named[counted], classes) if classes <= MOST_CROSSED else None,
        recall=recall,
        precision=precision,
        calibration_error=float(sum(part * abs(one.accuracy - one.confidence) for part, one in found)),
        bins=tuple(one for _, one in found),
    )


def probabilities_of(logits: Tensor) -> Floats:
    """The probabilities (N, classes) that outputs stand for, in float64."""
    scores = logits.detach().cpu().double().numpy()
    if scores.ndim != 2 or scores.shape[1] < 1:
        raise DataError(f"outputs have shape {scores.shape}, expected (records, classes): one number a class")
    if not np.isfinite(scores).all():
        raise RunError(
            "the network makes NaN or infinity of some records, expected finite numbers; lower the learning rate, or "
            "check the records' range"
        )
    powers = np.exp(scores - scores.max(1, keepdims=True))
    shares: Floats = powers / powers.sum(1, keepdims=True)
    return shares


def mix_weights(labels: Tensor, mix: Floats) -> Floats | None:
    """Weights that give these records a mix of classes (classes,); None where no record is of any class of it."""
    actual = labels.numpy()
    records = np.bincount(actual, minlength=len(mix))
    weights: Floats = (mix / np.maximum(records, 1))[actual]
    return weights if weights.sum() > 0 else None


def mixed_accuracy(recall: tuple[float | None, ...], mix: Floats) -> float | None:
    """The accuracy over a mix of classes (classes,), from recalls; None where no recall of its classes is known.

    A class without held-out records says nothing, so the others stand for it by their shares.
    """
    known = [(share, found) for share, found in zip(mix.tolist(), recall, strict=True) if found is not None]
    total = sum(share for share, _ in known)
    return sum(share * found for share, found in known) / total if total > 0 else None


def mix_records(records: tuple[int, ...], mix: Floats) -> int:
    """Number of records, at most, that a sample with this mix of classes can have, from so many records of each class.

    An accuracy over the mix has at most the variance p (1 - p) / n of one on n = min over c of n_c / m_c records: with
    recalls r_c that is the sum of m_c^2 r_c (1 - r_c) / n_c <= 1 / n * the sum of m_c r_c (1 - r_c), and p (1 - p) is
    concave. As in `mixed_accuracy`, a class without records counts as if it were not in the mix.
    """
    known = [(share, count) for share, count in zip(mix.tolist(), records, strict=True) if share > 0 and count > 0]
    total = sum(share for share, _ in known)
    return int(min((count * total / share for share, count in known), default=0.0) + 1e-9)


def _checked(labels: Tensor, shares: Floats) -> Counts:
    actual: Counts = labels.cpu().numpy()
    if actual.shape != shares.shape[:1] or actual.dtype != np.int64:
        raise DataError(
            f"labels are {actual.dtype} of shape {actual.shape}, expected int64 of shape ({len(shares)},): one class "
            "number a record"
        )
    if not len(actual):
        raise DataError("found no records, expected at least one; a classifier is measured on records")
    if actual.min() < 0 or actual.max() >= shares.shape[1]:
        raise DataError(
            f"labels run from {actual.min()} to {actual.max()}, expected 0 to {shares.shape[1] - 1}; the network has "
            "one output for each of these classes"
        )
    return actual


def _by_class(labels: Counts, weight: Floats, classes: int) -> Floats:
    """The weight of the records of each class."""
    return np.bincount(labels, weights=weight, minlength=classes).astype(np.float64)


def _shares(part: Floats, whole: Floats) -> tuple[float | None, ...]:
    """The parts as shares of their wholes; None where there is nothing to share."""
    pairs = zip(part.tolist(), whole.tolist(), strict=True)
    return tuple(min(1.0, right / total) if total > 0 else None for right, total in pairs)


def _crossed(actual: Counts, named: Counts, classes: int) -> Counts:
    """Number of records by actual class (rows) and named class (columns)."""
    cells = np.bincount(actual * classes + named, minlength=classes * classes)
    return cells.reshape(classes, classes)


def _mean_auc(shares: Floats, actual: Counts, weight: Floats) -> float | None:
    """The area of class 1 where there are two classes, else the mean over classes that have records and others, too."""
    wanted = [1] if shares.shape[1] == 2 else range(shares.shape[1])
    areas = [_auc(shares[:, label], actual == label, weight) for label in wanted]
    known = [area for area in areas if area is not None]
    return float(np.mean(known)) if known else None


def _auc(score: Floats, positive: NDArray[np.bool_], weight: Floats) -> float | None:
    """The chance that a record of the class scores above one that is not, where equal scores count one half."""
    values, place = np.unique(score, return_inverse=True)
    for_it = np.bincount(place, weights=weight * positive, minlength=len(values))
    against = np.bincount(place, weights=weight * ~positive, minlength=len(values))
    pairs = for_it.sum() * against.sum()
    if pairs <= 0:
        return None
    below = np.cumsum(against) - against
    return float(min(1.0, (for_it * (below + against / 2)).sum() / pairs))  # rounding can pass 1 by an ulp


def _confidence_bins(
    confidence: Floats, right: NDArray[np.bool_], weight: Floats, bins: int
) -> list[tuple[float, ConfidenceBin]]:
    """The bins of equal width that hold weight, each with its share of all weight."""
    edges = np.linspace(0.0, 1.0, bins + 1)
    place = np.searchsorted(edges[1:-1], confidence)  # (low, high]
    found = list[tuple[float, ConfidenceBin]]()
    for index in range(bins):
        inside = place == index
        mass = float(weight[inside].sum())
        if mass > 0:
            mean, accuracy = (float((weight[inside] * values[inside]).sum()) / mass for values in (confidence, right))
            low, high = (round(edge / bins, 6) for edge in (index, index + 1))
            shown = ConfidenceBin(low, high, int((weight[inside] > 0).sum()), mean, accuracy)
            found.append((mass / float(weight.sum()), shown))
    return found
