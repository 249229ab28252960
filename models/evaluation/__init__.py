"""How good generated images are, measured on real data that no training saw.

Evaluation is the experimenter's instrument. It reads held-out real images without any noise, so it lies **outside the
privacy guarantee**, and nothing that it measures flows back to training: no weight, no stopping round and no setting
may be chosen by it. A consortium that has no held-out data to spare for this runs without it.

    classifiers.py   downstream accuracy: train on generated images only, test on real ones
    frechet.py       the Fréchet distance between two sets of feature vectors
    evaluator.py     both together, with the same numbers for real data beside them
"""

from siloseal.models.evaluation.classifiers import ClassifierName, downstream_accuracy
from siloseal.models.evaluation.evaluator import Evaluator, Quality
from siloseal.models.evaluation.frechet import Gaussian, fit_gaussian, frechet_distance

__all__ = [
    "ClassifierName",
    "Evaluator",
    "Gaussian",
    "Quality",
    "downstream_accuracy",
    "fit_gaussian",
    "frechet_distance",
]
