"""Kernel mean: one noisy sum over all silos, to which a conditional generator is fitted.

Every silo adds up random features of its labelled images. The features are public and every record adds a vector of
norm at most 1, so the sum is linear (a secure sum of it is exact) and one Gaussian release makes it private. Whoever
holds the noisy sum then fits a generator whose images have the same mean features, the squared maximum mean
discrepancy of DP-MERF (Harder, Adamczewski and Park, AISTATS 2021). That is post-processing: it costs no budget, and
it gives the silos the common warm start without which an average of their generators is worthless.

The features are random Fourier features: the mean of cos(w.x - w.y) over random frequencies w is a shift-invariant
kernel k(x, y), and a few thousand frequencies are enough (Rahimi and Recht, NIPS 2007). Half of the frequencies look
at the whole image, which gives the Gaussian kernel. The other half look through windows of random place and size, which
gives a sum of kernels on parts: a part has far fewer likely appearances than an image, so the same number of
frequencies describes it far better, and strokes come out sharp.
"""

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from siloseal.federation.errors import ConfigError, DataError, DomainError
from siloseal.models.adam import Adam

COUNT_SHARE = 1 / 16  # of a record's squared norm, for the constant feature that counts the images of a class
ROUNDING = 1e-5  # keeps 32-bit rounding from lifting a norm above 1
WINDOW_SIDES = (1 / 7, 2 / 7, 4 / 7)  # of the image's side: a stroke, a corner, half a digit
WINDOW_FREQUENCY_NORM = 3.0  # two images differ by about 1/3 in a pixel, which turns a window's phase by about 1
WINDOW_BLUR = (0.2, 0.6, 0.2)  # neighbouring pixels differ little; a window should not listen to their difference
ROWS_AT_ONCE = 256
LARGEST_PIXEL = 100.0  # far outside of [0, 1]; phases of much larger numbers would be rounding alone
FREQUENCIES_PER_STEP = 500
WEIGHT_AVERAGE = 0.995
WARM_UP_STEPS = 50


@dataclass(frozen=True)
class FeatureMap:
    """The public features of images (C, H, W) in [0, 1], the same for everyone who has these five values.

    `length_scale` is that of the Gaussian kernel on whole images, exp(-|x - y|^2 / 2 length_scale^2). A third of the
    usual distance between two images serves well: 3.5 for MNIST, 1 for 8x8 digits.
    """

    shape: tuple[int, int, int]
    classes: int
    frequencies: int
    length_scale: float
    seed: int

    def __post_init__(self) -> None:
        if min(*self.shape, self.classes) < 1 or self.frequencies < 2 or not self.length_scale > 0:
            raise ConfigError(
                f"features of {self.shape} images of {self.classes} classes with {self.frequencies} frequencies "
                f"and length scale {self.length_scale:g}; all must be positive, and the frequencies at least 2"
            )

    @property
    def features(self) -> int:
        """Number of entries of one embedding: a cosine and a sine for every frequency, and the constant."""
        return 2 * self.frequencies + 1

    @property
    def length(self) -> int:
        """Number of entries of the whole labelled sum."""
        return self.classes * self.features

    @cached_property
    def frequency_matrix(self) -> Tensor:  # (frequencies, C * H * W)
        public = torch.Generator().manual_seed(self.seed)
        whole = torch.randn(self.frequencies // 2, *self.shape, generator=public) / self.length_scale
        windowed = _windowed_frequencies(self.frequencies - len(whole), self.shape, public)
        return torch.cat([whole, windowed]).flatten(1)

    def embed(self, images: Tensor) -> Tensor:
        """Features (rows, features) of images (rows, C, H, W). Every row has norm at most 1, whatever the image is."""
        if images.shape[1:] != self.shape:
            raise DataError(f"images of shape {tuple(images.shape[1:])}; these features are of {self.shape} images")
        # In single precision a phase of thousands of turns has no bits left, and its rounding depends on the batch.
        turns = images.flatten(1).double() @ (self.frequency_matrix.T.double() / math.tau)
        phases = (math.tau * (turns - turns.round())).float()
        waves = torch.cat([phases.cos(), phases.sin()], dim=1) * math.sqrt(
            (1 - COUNT_SHARE - ROUNDING) / self.frequencies
        )
        return F.pad(waves, (0, 1), value=math.sqrt(COUNT_SHARE))

    def labelled_sum(self, images: Tensor, labels: Tensor) -> Tensor:
        """Sum (length,) of embedding (x) one-hot label over the records, in 64 bits.

        A record adds its embedding to its own class's block and nothing elsewhere, so adding or removing one record
        moves the sum by at most 1 in L2 norm.
        """
        if labels.shape != images.shape[:1]:
            raise DataError(
                f"{len(images)} images with labels of shape {tuple(labels.shape)}; every image needs one label"
            )
        if len(labels) and not 0 <= int(labels.min()) <= int(labels.max()) < self.classes:
            raise DataError(f"labels from {int(labels.min())} to {int(labels.max())}; expected 0 to {self.classes - 1}")
        total = torch.zeros(self.classes, self.features, dtype=torch.float64)
        with torch.no_grad():
            for start in range(0, len(labels), ROWS_AT_ONCE):
                rows = slice(start, start + ROWS_AT_ONCE)
                block, count = images[rows].clamp(-LARGEST_PIXEL, LARGEST_PIXEL), len(labels[rows])
                # Blocks of one size: how a product is rounded may depend on the number of its rows.
                full = torch.cat([block, block.new_zeros(ROWS_AT_ONCE - count, *block.shape[1:])])
                total.index_add_(0, labels[rows], self.embed(full)[:count].double())
        if not images.isfinite().all():
            raise DataError("an image holds a value that is not a finite number; clean the data first")
        return total.flatten()


def _windowed_frequencies(count: int, shape: tuple[int, int, int], public: torch.Generator) -> Tensor:
    """Frequencies (count, C, H, W) under Gaussian windows, all of the same norm."""
    channels, height, width = shape
    waves = torch.randn(count, channels, height, width, generator=public)
    blur = torch.tensor(WINDOW_BLUR).outer(torch.tensor(WINDOW_BLUR)).expand(channels, 1, 3, 3)
    waves = F.conv2d(waves, blur, padding=1, groups=channels)
    centres = torch.rand(count, 2, generator=public)
    sides = torch.tensor(WINDOW_SIDES)[torch.randint(len(WINDOW_SIDES), (count,), generator=public)]
    rows = _bell(height, centres[:, 0], sides)  # (count, H)
    columns = _bell(width, centres[:, 1], sides)  # (count, W)
    waves = waves * (rows[:, :, None] * columns[:, None, :])[:, None]
    return WINDOW_FREQUENCY_NORM * F.normalize(waves.flatten(1)).view_as(waves)


def _bell(pixels: int, centres: Tensor, sides: Tensor) -> Tensor:
    """Gaussian bumps (count, pixels) whose centres and sides (two standard deviations) are fractions of the axis."""
    # A window narrower than a pixel would see nothing at all between two pixels.
    deviations = (sides * pixels / 2).clamp(min=0.5)[:, None]
    return torch.exp(-((torch.arange(pixels) - centres[:, None] * (pixels - 1)) ** 2) / (2 * deviations**2))


def fit_generator(
    generator: nn.Module,
    features: FeatureMap,
    noisy_sum: Tensor,
    *,
    steps: int,
    batch: int,
    learning_rate: float,
    seed: int,
    on_step: Callable[[int, float], None] | None = None,
) -> None:
    """Fit generator(z, labels) in place to a noisy labelled sum, by Adam on the squared distance of mean embeddings.

    `generator` has the attributes `latent` and `classes`. It ends with the moving average of its weights over the last
    few hundred steps. `on_step` gets the step and that step's estimate of the squared distance, the mean over classes.
    """
    target, weights = _class_means(features, noisy_sum)
    random = torch.Generator().manual_seed(seed)
    rows = max(2, batch // features.classes)  # of each class
    labels = torch.arange(rows * features.classes) % features.classes
    average = copy.deepcopy(generator)
    optimizer = Adam(generator.parameters(), betas=(0.9, 0.99))
    for step in range(steps):
        # A random part of the frequencies estimates the distance without bias and makes a step several times cheaper.
        chosen = torch.randperm(features.frequencies, generator=random)[:FREQUENCIES_PER_STEP]
        noise = torch.randn(len(labels), int(generator.latent), generator=random)  # type: ignore[arg-type]
        phases = generator(noise, labels).flatten(1) @ features.frequency_matrix[chosen].T
        waves = torch.stack([phases.cos(), phases.sin()])  # (2, rows * classes, chosen)
        means = waves.view(2, rows, features.classes, -1).mean(1)  # (2, classes, chosen)
        distances = _squared_distance(means, target[:, :, chosen], rows)
        loss = (weights * distances).mean()
        optimizer.step(loss, learning_rate=learning_rate * _decay(step, steps))
        _move_towards(average, generator, 1 - min(WEIGHT_AVERAGE, (step + 1) / (step + 11)))
        if on_step is not None:
            on_step(step, loss.item())
    generator.load_state_dict(average.state_dict())


def _class_means(features: FeatureMap, noisy_sum: Tensor) -> tuple[Tensor, Tensor]:
    """Mean cosines and sines (2, classes, frequencies) of every class, and how much each class weighs (classes,).

    The constant feature gives the noisy counts to divide by. A class of which the silos hold little or nothing is
    mostly noise after that division, so it weighs in proportion to its count.
    """
    if noisy_sum.shape != (features.length,):
        raise DomainError(f"a labelled sum of shape {tuple(noisy_sum.shape)}; these features need ({features.length},)")
    blocks = noisy_sum.double().view(features.classes, features.features)
    counts = (blocks[:, -1] / math.sqrt(COUNT_SHARE)).clamp(min=1)
    scale = math.sqrt((1 - COUNT_SHARE - ROUNDING) / features.frequencies)
    means = blocks[:, :-1] / (counts * scale)[:, None]
    weights = (counts / counts.mean()).clamp(max=1)
    return means.view(-1, 2, features.frequencies).transpose(0, 1).float(), weights.float()


def _squared_distance(means: Tensor, target: Tensor, rows: int) -> Tensor:
    """Unbiased estimate (classes,) of |E f - target|^2 per frequency, from the means of `rows` images of each class.

    The square of a mean over few rows is too large by its variance, which would hide how close a fit is, and reward a
    generator for little variety. For a wave, whose cosine^2 + sine^2 is 1, the excess has a closed form.
    """
    squared_mean = (rows * means.square().sum(0) - 1) / (rows - 1)  # (classes, frequencies)
    return (squared_mean - 2 * (means * target).sum(0) + target.square().sum(0)).mean(1)


def _decay(step: int, steps: int) -> float:
    """Linear warm-up, then a cosine down to 2% of the learning rate."""
    return min(1.0, (step + 1) / WARM_UP_STEPS) * (0.51 + 0.49 * math.cos(math.pi * step / steps))


@torch.no_grad()
def _move_towards(average: nn.Module, current: nn.Module, share: float) -> None:
    for kept, new in zip(average.parameters(), current.parameters(), strict=True):
        kept.lerp_(new, share)
