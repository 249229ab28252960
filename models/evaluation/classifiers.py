"""Classifiers that are trained on generated images and tested on real ones.

The recipe is fixed in advance: the number of passes, a cosine-decayed learning rate, the last weights. Nothing is
selected, neither on real data, which would flatter the result, nor on generated data. Every random number comes from a
generator of the call's own, so a result depends on the images, the seed and the number of threads, and on nothing else.
"""

import math
from dataclasses import dataclass
from typing import Literal, assert_never

import torch
from torch import Tensor, nn
from torch.nn import functional

from siloseal.models.adam import Adam

ClassifierName = Literal["logistic", "mlp", "cnn"]

BATCH = 64
# Small sets get more passes: a few hundred images are not learnt in a few dozen steps.
FEWEST_STEPS = 300
# Larger images are averaged down to this side first, which bounds the time whatever a dataset's resolution is.
LARGEST_SIDE = 32
FEATURES = 64
WEIGHT_DECAY = 1e-2


@dataclass(frozen=True, slots=True)
class Recipe:
    """What is fixed before a classifier sees an image."""

    passes: int
    learning_rate: float


class Classifier(nn.Module):
    """A linear head on the penultimate features of an image, scaled by the statistics of the training images."""

    mean: Tensor
    deviation: Tensor

    def __init__(self, body: nn.Module, features: int, classes: int) -> None:
        super().__init__()
        self.body = body
        self.head = nn.Linear(features, classes)
        self.register_buffer("mean", torch.zeros(()))
        self.register_buffer("deviation", torch.ones(()))

    def features(self, images: Tensor) -> Tensor:  # (N, C, H, W) -> (N, features)
        rows: Tensor = self.body((shrink(images) - self.mean) / self.deviation)
        return rows

    def forward(self, images: Tensor) -> Tensor:
        scores: Tensor = self.head(self.features(images))
        return scores


def shrink(images: Tensor) -> Tensor:
    """Images of at most LARGEST_SIDE pixels a side, by averaging."""
    height, width = (min(side, LARGEST_SIDE) for side in images.shape[-2:])
    return images if images.shape[-2:] == (height, width) else functional.adaptive_avg_pool2d(images, (height, width))


def recipe_of(name: ClassifierName) -> Recipe:
    """The recipe of a classifier; the same for every dataset."""
    match name:
        case "logistic":
            return Recipe(passes=15, learning_rate=4e-3)
        case "mlp":
            return Recipe(passes=12, learning_rate=3e-3)
        case "cnn":
            return Recipe(passes=5, learning_rate=4e-3)
        case _:
            assert_never(name)


def build(name: ClassifierName, shape: torch.Size, classes: int, rng: torch.Generator) -> Classifier:
    """A classifier for images of one shape (C, H, W), its weights drawn from `rng` alone."""
    channels, height, width = shape[0], *(min(side, LARGEST_SIDE) for side in shape[1:])
    pixels = channels * height * width
    with torch.device("meta"):  # no weight is drawn here: torch's own initialisation would use the global generator
        match name:
            case "logistic":
                model = Classifier(nn.Flatten(), pixels, classes)
            case "mlp":
                body = nn.Sequential(nn.Flatten(), nn.Linear(pixels, 128), nn.ReLU())
                model = Classifier(body, 128, classes)
            case "cnn":
                model = Classifier(convolutions(channels, height, width), FEATURES, classes)
            case _:
                assert_never(name)
    model.to_empty(device="cpu")
    for weights in model.parameters():
        if weights.dim() > 1:
            nn.init.kaiming_uniform_(weights, a=math.sqrt(5), generator=rng)
        else:
            nn.init.zeros_(weights)
    return model.to(memory_format=torch.channels_last)  # type: ignore[call-overload, no-any-return]


def convolutions(channels: int, height: int, width: int) -> nn.Sequential:
    """Two convolutions, each halved by max pooling, and a layer of FEATURES."""

    def halved(side: int) -> int:
        return math.ceil(side / 2)

    flat = 16 * halved(halved(height)) * halved(halved(width))
    return nn.Sequential(
        nn.Conv2d(channels, 8, 5, padding=2), nn.MaxPool2d(2, ceil_mode=True), nn.ReLU(),
        nn.Conv2d(8, 16, 3, padding=1), nn.MaxPool2d(2, ceil_mode=True), nn.ReLU(),
        nn.Flatten(), nn.Linear(flat, FEATURES), nn.ReLU(),
    )  # fmt: skip


def train(name: ClassifierName, images: Tensor, labels: Tensor, *, classes: int, seed: int) -> Classifier:
    """The recipe, top to bottom. Returns the last weights."""
    rng = torch.Generator().manual_seed(seed)
    model, recipe = build(name, images.shape[1:], classes, rng), recipe_of(name)
    images = shrink(images).contiguous(memory_format=torch.channels_last)  # once, not at every step
    model.mean, model.deviation = images.mean(), images.std().clamp_min(0.05)
    optimizer = Adam(model.parameters(), decay=WEIGHT_DECAY)
    per_pass = math.ceil(len(images) / BATCH)
    steps = max(FEWEST_STEPS, recipe.passes * per_pass)
    with torch.enable_grad():
        for step in range(steps):
            if step % per_pass == 0:
                batches = torch.split(torch.randperm(len(images), generator=rng), BATCH)
            batch = batches[step % per_pass]
            loss = functional.cross_entropy(model(images[batch]), labels[batch])
            learning_rate = recipe.learning_rate * (1 + math.cos(math.pi * step / steps)) / 2
            optimizer.step(loss, learning_rate=learning_rate)
    return model


def downstream_accuracy(
    name: ClassifierName, images: Tensor, labels: Tensor, real_images: Tensor, real_labels: Tensor,
    *, classes: int, seed: int,
) -> float:  # fmt: skip
    """The share of real images that a classifier names rightly after training on `images` alone."""
    model = train(name, images, labels, classes=classes, seed=seed)
    with torch.no_grad():
        guesses = torch.cat([model(chunk).argmax(dim=1) for chunk in torch.split(real_images, 1000)])
    return (guesses == real_labels).double().mean().item()
