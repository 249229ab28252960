"""How like real records others are: what they teach, and which distributions and correlations they keep."""

import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import wasserstein_distance
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from torch.nn import functional as F

from siloseal.models.evaluation.classification import measure
from siloseal.silo.data.examples import Examples

CONSTANT = 1e-3
"""Standard deviation, in parts of the range, below which an input counts as always the same."""


@dataclass(frozen=True)
class Likeness:
    """What a set of records is worth in place of the real ones."""

    accuracy: float
    """Share of held-out real records that a logistic regression names rightly after training on these."""
    auc: float
    """Area under its ROC curve."""
    forest_auc: float
    """The same of a random forest, which also learns what hangs together in no straight line."""
    marginals: float
    """Mean over inputs of the Wasserstein distance to the real training records, whose range is 0 to 1."""
    correlations: float
    """Mean difference of the correlations of two inputs, or of an input and a class, from the real ones."""


def likeness(found: Examples, *, train: Examples, held_out: Examples) -> Likeness:
    """Compare records with the real ones that they stand for, and test what they teach on other real ones."""
    straight, forest = (
        _tested(model.fit(found.inputs.numpy(), found.labels.numpy()), held_out)
        for model in (LogisticRegression(C=10, max_iter=1000), RandomForestClassifier(100, random_state=0))
    )
    pairs = zip(found.inputs.T.numpy(), train.inputs.T.numpy(), strict=True)
    differences = np.abs(_correlations(found) - _correlations(train))
    return Likeness(
        *straight, forest[1], float(np.mean([wasserstein_distance(*pair) for pair in pairs])), float(differences.mean())
    )


def _tested(model: LogisticRegression | RandomForestClassifier, held_out: Examples) -> tuple[float, float]:
    shares = torch.from_numpy(model.predict_proba(held_out.inputs.numpy()))
    measured = measure(shares.clamp(min=1e-12).log(), held_out.labels, bins=10)
    return measured.accuracy, math.nan if measured.auc is None else measured.auc


def _correlations(records: Examples) -> NDArray[np.float64]:
    """Correlations of every two inputs, and of inputs and classes; 0 for an input that is always the same."""
    indicators = F.one_hot(records.labels, records.classes)[:, 1:]
    columns = torch.cat([records.inputs, indicators], dim=1).double().T.numpy()
    spread = columns.std(1)
    centred = (columns - columns.mean(1, keepdims=True)) / np.where(spread > CONSTANT, spread, np.inf)[:, np.newaxis]
    found: NDArray[np.float64] = (centred @ centred.T / len(records))[np.triu_indices(len(columns), 1)]
    return found
