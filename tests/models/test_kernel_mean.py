import math

import pytest
import torch
from sklearn.datasets import load_digits
from torch import Tensor

from siloseal.federation.errors import ConfigError, DataError, DomainError
from siloseal.models.gan.generators import MlpGenerator
from siloseal.models.kernel_mean import COUNT_SHARE, FeatureMap, fit_generator

DIGITS = FeatureMap(shape=(1, 8, 8), classes=10, frequencies=600, length_scale=1.0, seed=3)
SHAPES = [(1, 8, 8), (1, 28, 28), (3, 9, 14)]


@pytest.fixture(scope="module")
def digits() -> tuple[Tensor, Tensor]:
    images, labels = load_digits(return_X_y=True)
    return torch.tensor(images, dtype=torch.float32).view(-1, 1, 8, 8) / 16, torch.tensor(labels)


def fitted(noisy_sum: Tensor, *, steps: int, seed: int) -> tuple[MlpGenerator, list[float]]:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        generator = MlpGenerator(shape=DIGITS.shape, classes=10, latent=8)
    distances: list[float] = []
    fit_generator(
        generator,
        DIGITS,
        noisy_sum,
        steps=steps,
        batch=200,
        learning_rate=5e-3,
        seed=seed,
        on_step=lambda step, distance: distances.append(distance),
    )
    return generator, distances


class TestTheLabelledSum:
    @pytest.mark.parametrize("length_scale", [1e-3, 3.5])
    @pytest.mark.parametrize("size", [1.0, 1e30])
    def test_one_record_moves_it_by_1_at_most_however_fine_the_kernel_is(
        self, length_scale: float, size: float
    ) -> None:
        """The others' phases keep their last bits, in blocks of any number of records and at any place in them."""
        features = FeatureMap(shape=(1, 9, 11), classes=1, frequencies=500, length_scale=length_scale, seed=3)
        images = size * torch.rand(1, 1, 9, 11, generator=torch.Generator().manual_seed(0))
        for count in (4, 260):
            same, labels = images.expand(count, 1, 9, 11).contiguous(), torch.zeros(count, dtype=torch.int64)
            everyone = features.labelled_sum(same, labels)
            for some in (slice(1, None), slice(None, -1)):
                assert (everyone - features.labelled_sum(same[some], labels[some])).norm() <= 1

    @pytest.mark.parametrize("shape", SHAPES)
    @pytest.mark.parametrize("brightness", [0.0, 1.0, 1e6])
    def test_moves_by_at_most_one_when_a_record_is_added_whatever_its_pixels_are(
        self, shape: tuple[int, int, int], brightness: float
    ) -> None:
        features = FeatureMap(shape, classes=3, frequencies=501, length_scale=0.5, seed=0)
        images = brightness * torch.rand(64, *shape, generator=torch.Generator().manual_seed(0))
        for image, label in zip(images, torch.arange(64) % 3, strict=True):
            norm = float(features.labelled_sum(image[None], label[None]).norm())
            assert 0.999 < norm <= 1

    def test_is_the_sum_of_the_sums_of_any_partition(self, digits: tuple[Tensor, Tensor]) -> None:
        images, labels = digits
        parts = torch.randperm(len(images), generator=torch.Generator().manual_seed(0)).chunk(4)
        by_part = sum((DIGITS.labelled_sum(images[part], labels[part]) for part in parts), torch.zeros(DIGITS.length))
        assert torch.allclose(by_part, DIGITS.labelled_sum(images, labels), atol=1e-3)

    def test_counts_the_images_of_every_class(self, digits: tuple[Tensor, Tensor]) -> None:
        blocks = DIGITS.labelled_sum(*digits).view(10, -1)
        assert torch.allclose(blocks[:, -1] / math.sqrt(COUNT_SHARE), digits[1].bincount().double(), atol=1e-3)

    def test_of_no_records_is_zero(self) -> None:
        assert not DIGITS.labelled_sum(torch.zeros(0, 1, 8, 8), torch.zeros(0, dtype=torch.int64)).any()

    def test_refuses_what_it_was_not_built_for(self) -> None:
        image, label = torch.zeros(1, 1, 8, 8), torch.zeros(1, dtype=torch.int64)
        with pytest.raises(DataError, match=r"\(1, 8, 9\).*\(1, 8, 8\)"):
            DIGITS.labelled_sum(torch.zeros(1, 1, 8, 9), label)
        with pytest.raises(DataError, match=r"\(2,\)"):
            DIGITS.labelled_sum(image, torch.zeros(2, dtype=torch.int64))
        with pytest.raises(DataError, match=r"10 to 10; .*0 to 9"):
            DIGITS.labelled_sum(image, label + 10)
        with pytest.raises(DataError, match="finite"):
            DIGITS.labelled_sum(image / 0, label)


class TestTheFeatureMap:
    @pytest.mark.parametrize("shape", SHAPES)
    def test_has_the_length_that_it_announces(self, shape: tuple[int, int, int]) -> None:
        features = FeatureMap(shape, classes=4, frequencies=11, length_scale=1.0, seed=0)
        assert features.labelled_sum(torch.rand(5, *shape), torch.arange(5) % 4).shape == (features.length,)

    def test_is_the_same_for_the_same_seed_only(self) -> None:
        images = torch.rand(4, 1, 8, 8, generator=torch.Generator().manual_seed(0))
        again = FeatureMap((1, 8, 8), classes=10, frequencies=600, length_scale=1.0, seed=3)
        other = FeatureMap((1, 8, 8), classes=10, frequencies=600, length_scale=1.0, seed=4)
        assert torch.equal(DIGITS.embed(images), again.embed(images))
        assert not torch.allclose(DIGITS.embed(images), other.embed(images))

    def test_approximates_the_gaussian_kernel_with_its_first_half(self) -> None:
        # Standard deviation of the mean of 20,000 cosines: below 0.0071, so 0.035 is five of them (1e-6 a pair).
        features = FeatureMap((1, 8, 8), classes=1, frequencies=40_000, length_scale=1.5, seed=0)
        images = torch.rand(8, 64, generator=torch.Generator().manual_seed(0))
        phases = images @ features.frequency_matrix[:20_000].T
        estimate = torch.cos(phases[:, None] - phases[None]).mean(2)
        kernel = torch.exp(-torch.cdist(images, images).square() / (2 * 1.5**2))
        assert float((estimate - kernel).abs().max()) < 0.035

    @pytest.mark.parametrize(("frequencies", "length_scale"), [(1, 1.0), (10, 0.0), (10, math.nan)])
    def test_refuses_values_that_make_no_kernel(self, frequencies: int, length_scale: float) -> None:
        with pytest.raises(ConfigError):
            FeatureMap((1, 8, 8), 10, frequencies, length_scale, seed=0)


class TestFitting:
    def test_brings_the_mean_features_of_generated_images_to_those_of_real_ones(
        self, digits: tuple[Tensor, Tensor]
    ) -> None:
        _, distances = fitted(DIGITS.labelled_sum(*digits), steps=300, seed=0)
        assert sum(distances[-20:]) < 0.2 * sum(distances[:20])

    def test_gives_images_that_a_nearest_mean_classifier_can_learn_from(self, digits: tuple[Tensor, Tensor]) -> None:
        generator, _ = fitted(DIGITS.labelled_sum(*digits), steps=300, seed=0)
        labels = torch.arange(2000) % 10
        with torch.no_grad():
            images = generator(torch.randn(2000, 8, generator=torch.Generator().manual_seed(0)), labels)
        means = torch.stack([images[labels == label].mean(0) for label in range(10)]).flatten(1)
        guesses = torch.cdist(digits[0].flatten(1), means).argmin(1)
        assert float((guesses == digits[1]).float().mean()) > 0.8

    def test_survives_a_class_that_nobody_holds(self, digits: tuple[Tensor, Tensor]) -> None:
        images, labels = digits
        generator, distances = fitted(DIGITS.labelled_sum(images[labels != 4], labels[labels != 4]), steps=20, seed=0)
        assert all(map(math.isfinite, distances))
        assert all(parameter.isfinite().all() for parameter in generator.parameters())

    def test_repeats_itself_for_the_same_seed(self, digits: tuple[Tensor, Tensor]) -> None:
        noisy_sum = DIGITS.labelled_sum(*digits)
        (first, _), (again, _), (other, _) = (fitted(noisy_sum, steps=5, seed=seed) for seed in (0, 0, 1))
        assert torch.equal(first.pixels.weight, again.pixels.weight)
        assert not torch.equal(first.pixels.weight, other.pixels.weight)

    def test_refuses_a_sum_of_another_length(self) -> None:
        with pytest.raises(DomainError, match=rf"\({DIGITS.length - 1},\).*\({DIGITS.length},\)"):
            fitted(torch.zeros(DIGITS.length - 1), steps=1, seed=0)
