"""How a run's classifiers are measured: on all held-out records, and for each silo.

Silos with files of their own are measured on their own held-out records. Where one set is dealt, each is measured over
its mix of classes: that is exact where silos differ in how much they have of each class, and in nothing else. Records
of one class are then as good as any other silo's.
"""

import itertools
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from siloseal.federation.errors import DataError, RunError
from siloseal.models.evaluation.classification import Measures, measure, mix_records, mix_weights, mixed_accuracy
from siloseal.models.evaluation.outputs import outputs_of
from siloseal.run_folder.classification import ClassificationMetric, ReliabilityBin
from siloseal.run_folder.metrics import QualityMetric
from siloseal.silo.data.examples import Examples

ACCURACY = "accuracy"
"""Share of held-out records that a classifier names rightly: the headline."""
BALANCED, AUC = "balanced accuracy", "AUC"


class RecordScorer:
    """A scorer that has a classifier name held-out records.

    Where each silo has a part of the network of its own, a silo's model is measured on the silo's records or mix of
    classes, and a model that is nobody's own (the pooled one) on every silo's, of which the mean counts.
    """

    def __init__(
        self,
        held_out: Examples,
        parts: Mapping[str, Examples],
        *,
        held_out_of: Mapping[str, Examples],
        bins: int,
        personal: bool,
        most_silos: int,
    ) -> None:
        if not held_out.classes or held_out.labels.ndim != 1:
            raise DataError("a classifier is measured on records of one class each; these have other targets")
        self._held_out, self._bins, self._personal = held_out, bins, personal
        self._mixes = {name: mix_of(part) for name, part in parts.items()}
        self._places = places_of(held_out_of)
        self._records = self._silo_records()
        self._weights = {name: self._weights_of(name) for name in list(parts)[:most_silos] if personal}

    def score(
        self, stage: str, silo: str | None, model: nn.Module, labels: Sequence[int], run_dir: Path
    ) -> QualityMetric:
        outputs = outputs_of(model, self._held_out.inputs)
        if silo is not None and self._personal:
            found = self._measure(outputs, self._weights[silo])
            return self._metric(stage, silo, found, {silo: found.accuracy})
        found = self._measure(outputs)
        metric = self._metric(stage, silo, found, self._served(outputs, found))
        if not self._personal:
            return metric
        each = [named_measures(self._measure(outputs, weights)) for weights in self._weights.values()]
        return metric.model_copy(update={"accuracy": mean_measures(each)})

    def reference(self) -> None:
        """No reference: pooled training is a run of its own."""

    def _metric(self, stage: str, silo: str | None, found: Measures, by_silo: dict[str, float]) -> QualityMetric:
        records = {name: self._records[name] for name in by_silo}
        return as_metric(stage, silo, found, by_silo, records, own_records=bool(self._places))

    def _silo_records(self) -> dict[str, int]:
        """The number of held-out records that each silo's accuracy rests on."""
        if self._places:
            return {name: place.stop - place.start for name, place in self._places.items()}
        counts = tuple(np.bincount(self._held_out.labels.numpy(), minlength=self._held_out.classes).tolist())
        return {name: mix_records(counts, mix) for name, mix in self._mixes.items()}

    def _served(self, outputs: Tensor, found: Measures) -> dict[str, float]:
        """The accuracy for each silo of which something is held out."""
        if self._places:
            right = (outputs.argmax(1) == self._held_out.labels).double()
            return {name: float(right[place].mean()) for name, place in self._places.items() if len(right[place])}
        mixed = {name: mixed_accuracy(found.recall, mix) for name, mix in self._mixes.items()}
        return {name: value for name, value in mixed.items() if value is not None}

    def _measure(self, outputs: Tensor, weights: NDArray[np.float64] | None = None) -> Measures:
        return measure(outputs, self._held_out.labels, bins=self._bins, weights=weights)

    def _weights_of(self, name: str) -> NDArray[np.float64]:
        """The weight of each held-out record in what a silo's own model is measured on."""
        if self._places:
            own = np.zeros(len(self._held_out))
            own[self._places[name]] = 1.0
            weights = own if own.any() else None
        else:
            weights = mix_weights(self._held_out.labels, self._mixes[name])
        if weights is None:
            raise DataError(
                f"no held-out record is {name}'s, or of a class that it holds, so that its own model cannot be "
                "measured; hold out more records in data"
            )
        return weights


def places_of(held_out_of: Mapping[str, Examples]) -> dict[str, slice]:
    """The place of each silo's records among all held-out ones, which are joined in the order of the silos."""
    ends = itertools.accumulate(len(own) for own in held_out_of.values())
    return {name: slice(end - len(own), end) for (name, own), end in zip(held_out_of.items(), ends, strict=True)}


def mix_of(part: Examples) -> NDArray[np.float64]:
    """The share of each class in a silo's records."""
    counts = np.bincount(part.labels.numpy(), minlength=part.classes)
    shares: NDArray[np.float64] = counts / max(1, len(part))
    return shares


def as_metric(
    stage: str,
    silo: str | None,
    found: Measures,
    by_silo: dict[str, float],
    silo_records: dict[str, int],
    *,
    own_records: bool,
) -> QualityMetric:
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
        silo_records=silo_records,
        own_records=own_records,
    )
    return QualityMetric(stage=stage, silo=silo, accuracy=named_measures(found), classification=details)


def named_measures(found: Measures) -> dict[str, float]:
    """The numbers that stand for a classifier, by name; without the area where there is none."""
    measured = {ACCURACY: found.accuracy, BALANCED: found.balanced_accuracy, AUC: found.auc}
    return {name: value for name, value in measured.items() if value is not None}


def mean_metric(stage: str, own: Sequence[QualityMetric]) -> QualityMetric:
    """The mean over silos' own models, each measured for its own silo; of a class, over the silos that hold it."""
    details = [metric.classification for metric in own if metric.classification is not None]
    if not details:
        raise RunError("no silo has a final model of its own to be measured; run the job again")
    mean = ClassificationMetric(
        recall=_means([one.recall for one in details]),
        precision=_means([one.precision for one in details]),
        records=[max(counts) for counts in zip(*(one.records for one in details), strict=True)],
        calibration_error=statistics.fmean(one.calibration_error for one in details),
        by_silo={name: value for one in details for name, value in one.by_silo.items()},
        silo_records={name: count for one in details for name, count in one.silo_records.items()},
        own_records=details[0].own_records,
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
