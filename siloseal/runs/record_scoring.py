"""How a run's classifiers are measured: held-out records, over all of them and over each silo's mix of classes.

A silo's mix is exact where silos differ in how much they have of each class, and in nothing else: that is how a
simulation deals records. Records of one class are then as good as any other silo's.
"""

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from siloseal.federation.errors import DataError, RunError
from siloseal.models.evaluation.classification import Measures, measure, mix_weights, mixed_accuracy
from siloseal.models.evaluation.outputs import outputs_of
from siloseal.run_folder.classification import ClassificationMetric, ReliabilityBin
from siloseal.run_folder.metrics import QualityMetric
from siloseal.silo.data.examples import Examples

ACCURACY = "accuracy"
"""Share of held-out records that a classifier names rightly: the headline."""
BALANCED, AUC = "balanced accuracy", "AUC"


class RecordScorer:
    """A scorer that has a classifier name held-out records.

    Where each silo has a part of the network of its own, a silo's model is measured on the silo's mix of classes, and a
    model that is nobody's own (the pooled one) on every silo's mix, of which the mean counts.
    """

    def __init__(
        self, held_out: Examples, parts: Mapping[str, Examples], *, bins: int, personal: bool, most_silos: int
    ) -> None:
        if not held_out.classes or held_out.labels.ndim != 1:
            raise DataError("a classifier is measured on records of one class each; these have other targets")
        self._held_out, self._bins, self._personal = held_out, bins, personal
        self._mixes = {name: mix_of(part) for name, part in parts.items()}
        self._weights = {
            name: self._weights_of(name, mix) for name, mix in list(self._mixes.items())[:most_silos] if personal
        }

    def score(
        self, stage: str, silo: str | None, model: nn.Module, labels: Sequence[int], run_dir: Path
    ) -> QualityMetric:
        outputs = outputs_of(model, self._held_out.inputs)
        if silo is not None and self._personal:
            found = self._measure(outputs, self._weights[silo])
            return as_metric(stage, silo, found, {silo: found.accuracy})
        found = self._measure(outputs)
        by_silo = {name: mixed_accuracy(found.recall, mix) for name, mix in self._mixes.items()}
        served = {name: value for name, value in by_silo.items() if value is not None}
        metric = as_metric(stage, silo, found, served)
        if not self._personal:
            return metric
        each = [named_measures(self._measure(outputs, weights)) for weights in self._weights.values()]
        return metric.model_copy(update={"accuracy": mean_measures(each)})

    def reference(self) -> None:
        """No reference: pooled training is a run of its own."""

    def _measure(self, outputs: Tensor, weights: NDArray[np.float64] | None = None) -> Measures:
        return measure(outputs, self._held_out.labels, bins=self._bins, weights=weights)

    def _weights_of(self, name: str, mix: NDArray[np.float64]) -> NDArray[np.float64]:
        weights = mix_weights(self._held_out.labels, mix)
        if weights is None:
            raise DataError(
                f"no held-out record is of a class that {name} holds, so that its own model cannot be measured; hold "
                "out more records in data"
            )
        return weights


def mix_of(part: Examples) -> NDArray[np.float64]:
    """The share of each class in a silo's records."""
    counts = np.bincount(part.labels.numpy(), minlength=part.classes)
    shares: NDArray[np.float64] = counts / max(1, len(part))
    return shares


def as_metric(stage: str, silo: str | None, found: Measures, by_silo: dict[str, float]) -> QualityMetric:
    """Measures as a line of metrics.jsonl."""
    bins = [
        ReliabilityBin(
            low=one.low, high=one.high, records=one.records, confidence=one.confidence, accuracy=one.accuracy
        )
        for one in found.bins
    ]
    details = ClassificationMetric(
        recall=[*found.recall],
        precision=[*found.precision],
        records=[*found.records],
        confusion=[] if found.confusion is None else found.confusion.tolist(),
        calibration_error=found.calibration_error,
        reliability=bins,
        by_silo=by_silo,
    )
    return QualityMetric(stage=stage, silo=silo, accuracy=named_measures(found), classification=details)


def named_measures(found: Measures) -> dict[str, float]:
    """The numbers that stand for a classifier, by name; without the area where there is none."""
    measured = {ACCURACY: found.accuracy, BALANCED: found.balanced_accuracy, AUC: found.auc}
    return {name: value for name, value in measured.items() if value is not None}


def mean_metric(stage: str, own: Sequence[QualityMetric]) -> QualityMetric:
    """The mean over silos' own models, each measured on its silo's mix; of a class, over the silos that hold it."""
    details = [metric.classification for metric in own if metric.classification is not None]
    if not details:
        raise RunError("no silo has a final model of its own to be measured; run the job again")
    mean = ClassificationMetric(
        recall=_means([one.recall for one in details]),
        precision=_means([one.precision for one in details]),
        records=[max(counts) for counts in zip(*(one.records for one in details), strict=True)],
        calibration_error=statistics.fmean(one.calibration_error for one in details),
        by_silo={name: value for one in details for name, value in one.by_silo.items()},
    )
    accuracy = mean_measures([metric.accuracy for metric in own])
    return QualityMetric(stage=stage, accuracy=accuracy, classification=mean)


def mean_measures(each: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The mean of every measure over the models that have it."""
    names = dict.fromkeys(name for one in each for name in one)
    return {name: statistics.fmean(one[name] for one in each if name in one) for name in names}


def _means(each: Sequence[Sequence[float | None]]) -> list[float | None]:
    """Means place by place; None where nobody has a number."""
    columns = [[value for value in column if value is not None] for column in zip(*each, strict=True)]
    return [statistics.fmean(column) if column else None for column in columns]
