"""Measures of classifiers, against scikit-learn's, on random records and on those that have gaps."""

import warnings

import numpy as np
import pytest
import torch
from sklearn import calibration, metrics

from siloseal.federation.errors import DataError, RunError
from siloseal.models.evaluation.classification import (
    measure,
    mix_records,
    mix_weights,
    mixed_accuracy,
    probabilities_of,
)

CASES = [(400, 2, False), (400, 2, True), (300, 5, False), (300, 5, True), (60, 10, True), (7, 3, False)]


def drawn(records: int, classes: int, *, tied: bool, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """Outputs that know something of the labels; with `tied`, of so few values that many are equal."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(classes, (records,), generator=generator)
    logits = torch.randn(records, classes, generator=generator, dtype=torch.float64)
    logits[torch.arange(records), labels] += 1.0
    return (logits.round() if tied else logits), labels


def sklearn_auc(shares: np.ndarray, labels: np.ndarray, weights: np.ndarray | None = None) -> float:
    if shares.shape[1] == 2:
        return float(metrics.roc_auc_score(labels, shares[:, 1], sample_weight=weights))
    occurring = [c for c in range(shares.shape[1]) if 0 < (labels == c).sum() < len(labels)]
    return float(np.mean([metrics.roc_auc_score(labels == c, shares[:, c], sample_weight=weights) for c in occurring]))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("records", "classes", "tied"), CASES)
def test_every_measure_is_scikit_learns(records: int, classes: int, tied: bool, weighted: bool) -> None:
    logits, labels = drawn(records, classes, tied=tied)
    weights = np.random.default_rng(1).uniform(0.1, 3.0, records) if weighted else None
    found = measure(logits, labels, bins=10, weights=weights)
    shares, actual = probabilities_of(logits), labels.numpy()
    named = shares.argmax(1)
    assert found.accuracy == pytest.approx(metrics.accuracy_score(actual, named, sample_weight=weights))
    with warnings.catch_warnings():  # scikit-learn says so when a class that does not occur is named
        warnings.simplefilter("ignore")
        balanced = metrics.balanced_accuracy_score(actual, named, sample_weight=weights)
    assert found.balanced_accuracy == pytest.approx(balanced)
    assert found.auc == pytest.approx(sklearn_auc(shares, actual, weights))
    every = list(range(classes))
    assert np.array_equal(found.confusion, metrics.confusion_matrix(actual, named, labels=every))
    for ours, theirs in ((found.recall, metrics.recall_score), (found.precision, metrics.precision_score)):
        expected = theirs(actual, named, labels=every, average=None, zero_division=np.nan, sample_weight=weights)
        assert [np.nan if share is None else share for share in ours] == pytest.approx(expected.tolist(), nan_ok=True)


@pytest.mark.parametrize("bins", [2, 5, 10, 15])
@pytest.mark.parametrize(("records", "classes", "tied"), CASES)
def test_bins_of_confidence_are_scikit_learns(records: int, classes: int, tied: bool, bins: int) -> None:
    logits, labels = drawn(records, classes, tied=tied)
    found = measure(logits, labels, bins=bins)
    shares = probabilities_of(logits)
    right = shares.argmax(1) == labels.numpy()
    accuracy, confidence = calibration.calibration_curve(right, shares.max(1), n_bins=bins, strategy="uniform")
    assert [one.accuracy for one in found.bins] == pytest.approx(accuracy.tolist())
    assert [one.confidence for one in found.bins] == pytest.approx(confidence.tolist())
    assert all(one.low < one.confidence <= one.high + 1e-12 for one in found.bins)
    counts = np.array([one.records for one in found.bins])
    assert counts.sum() == records
    expected = float((counts / records * np.abs(accuracy - confidence)).sum())
    assert found.calibration_error == pytest.approx(expected)


def test_probabilities_are_torchs_softmax_also_for_large_outputs() -> None:
    logits = torch.tensor([[1000.0, 999.0, -1000.0], [0.0, 0.0, 0.0]])
    assert probabilities_of(logits) == pytest.approx(logits.double().softmax(1).numpy())


class TestRecordsWithGaps:
    def test_one_class_has_an_accuracy_and_no_area(self) -> None:
        found = measure(torch.tensor([[2.0, 1.0], [0.0, 3.0], [1.0, 0.0]]), torch.tensor([0, 0, 0]), bins=10)
        assert found.accuracy == found.balanced_accuracy == pytest.approx(2 / 3)
        assert found.auc is None
        assert found.recall == (pytest.approx(2 / 3), None)
        assert found.precision == (1.0, 0.0)

    def test_a_class_that_never_occurs_is_left_out_of_the_means(self) -> None:
        logits, labels = drawn(200, 3, tied=False)
        kept = labels != 1
        found = measure(logits[kept], labels[kept], bins=10)
        shares = probabilities_of(logits[kept])
        assert found.recall[1] is None
        assert found.auc == pytest.approx(sklearn_auc(shares, labels[kept].numpy()))

    def test_a_class_that_is_never_named_has_no_precision(self) -> None:
        found = measure(torch.tensor([[1.0, 0.0], [1.0, 0.0]]), torch.tensor([0, 1]), bins=10)
        assert found.precision == (0.5, None)
        assert found.recall == (1.0, 0.0)

    def test_equal_outputs_are_worth_a_coin(self) -> None:
        found = measure(torch.zeros(6, 2), torch.tensor([0, 1, 0, 1, 1, 0]), bins=10)
        assert found.auc == 0.5
        assert found.bins[0].confidence == 0.5

    def test_a_perfect_classifier_is_perfect(self) -> None:
        labels = torch.tensor([0, 1, 2, 2])
        found = measure(100 * torch.eye(3)[labels], labels, bins=10)
        assert (found.accuracy, found.balanced_accuracy, found.auc) == (1.0, 1.0, 1.0)
        assert found.calibration_error == pytest.approx(0.0)
        assert np.array_equal(found.confusion, np.diag([1, 1, 2]))

    def test_of_many_classes_no_matrix_is_made(self) -> None:
        logits, labels = drawn(200, 51, tied=False)
        found = measure(logits, labels, bins=10)
        assert found.confusion is None
        assert sum(found.records) == 200

    def test_no_records_are_refused(self) -> None:
        with pytest.raises(DataError):
            measure(torch.zeros(0, 2), torch.zeros(0, dtype=torch.int64), bins=10)

    @pytest.mark.parametrize("labels", [[0, 2], [-1, 0], [0], [[0], [1]]])
    def test_labels_that_are_not_the_networks_classes_are_refused(self, labels: list[int]) -> None:
        with pytest.raises(DataError):
            measure(torch.zeros(2, 2), torch.tensor(labels), bins=10)

    def test_outputs_that_are_no_numbers_are_refused(self) -> None:
        with pytest.raises(RunError):
            measure(torch.tensor([[0.0, float("nan")]]), torch.tensor([0]), bins=10)
        with pytest.raises(DataError):
            measure(torch.zeros(2), torch.tensor([0, 1]), bins=10)


class TestAMixOfClasses:
    MIX = np.array([0.7, 0.2, 0.1])

    def test_weights_and_recalls_give_the_same_accuracy(self) -> None:
        logits, labels = drawn(300, 3, tied=False)
        plain = measure(logits, labels, bins=10)
        weighted = measure(logits, labels, bins=10, weights=mix_weights(labels, self.MIX))
        assert mixed_accuracy(plain.recall, self.MIX) == pytest.approx(weighted.accuracy)
        assert weighted.recall == pytest.approx(plain.recall)

    def test_records_of_classes_outside_of_it_do_not_count(self) -> None:
        logits, labels = drawn(300, 3, tied=False)
        weighted = measure(logits, labels, bins=10, weights=mix_weights(labels, np.array([0.5, 0.5, 0.0])))
        assert weighted.records == (*(int((labels == label).sum()) for label in (0, 1)), 0)
        assert weighted.recall[2] is None
        assert sum(one.records for one in weighted.bins) == sum(weighted.records)

    def test_it_is_the_accuracy_on_records_in_that_mix(self) -> None:
        """By hand: recalls of 1, 1/2 and 0 in shares of 7, 2 and 1."""
        labels = torch.tensor([0, 1, 1, 2])
        logits = torch.eye(3)[torch.tensor([0, 1, 0, 1])]
        assert mixed_accuracy(measure(logits, labels, bins=2).recall, self.MIX) == pytest.approx(0.8)

    def test_as_many_records_as_a_sample_of_it_can_have(self) -> None:
        assert mix_records((70, 20, 10), self.MIX) == 100
        assert mix_records((700, 20, 100), self.MIX) == 100
        assert mix_records((7, 20, 10), self.MIX) == 10
        assert mix_records((7, 20, 0), self.MIX) == 9
        assert mix_records((0, 20), np.array([1.0, 0.0])) == 0

    def test_an_accuracy_varies_no_more_than_on_so_many_records(self) -> None:
        """By the variances themselves, of recalls and mixes at random."""
        generator = np.random.default_rng(0)
        for mix in generator.dirichlet([0.5] * 4, size=200):
            counts, recall = generator.integers(20, 100, 4), generator.uniform(0, 1, 4)
            accuracy, bound = mix @ recall, mix_records(tuple(counts.tolist()), mix)
            assert mix**2 @ (recall * (1 - recall) / counts) <= accuracy * (1 - accuracy) / bound

    def test_classes_without_held_out_records_leave_their_share_to_the_others(self) -> None:
        assert mixed_accuracy((1.0, None, 0.0), self.MIX) == pytest.approx(0.7 / 0.8)
        assert mixed_accuracy((None, 1.0), np.array([1.0, 0.0])) is None
        assert mix_weights(torch.tensor([1, 1]), np.array([1.0, 0.0])) is None
