"""The networks that a config names, with initial weights that every party can repeat."""

import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

import torch
from torch import nn

from federation.config.gan import Architecture, GanConfig
from federation.randomness import Randomness
from models.gan.discriminators import ConvDiscriminator, MlpDiscriminator
from models.gan.generators import ConvGenerator, Generator, MlpGenerator
from models.gan.learner import GanLearner, Shared

Shape = tuple[int, int, int]
Network = TypeVar("Network", bound=nn.Module)

_process_generator = threading.Lock()  # a simulation may build its silos in threads
CONV_FROM_SIDE = 16  # below this a convolution has little to slide over, and an MLP is far faster


def build_gan(
    config: GanConfig,
    image_shape: Shape,
    classes: int,
    *,
    labels: Sequence[int],
    expected_batch: float,
    seed: int,
    randomness: Randomness,
    shared: Shared = "generator",
) -> GanLearner:
    """A learner at its initial weights, which are a function of the job's public seed."""
    return GanLearner(
        config,
        build_generator(config, image_shape, classes, seed=seed),
        build_discriminator(config, image_shape, classes, seed=seed),
        labels=labels,
        expected_batch=expected_batch,
        randomness=randomness,
        shared=shared,
    )


def build_generator(config: GanConfig, image_shape: Shape, classes: int, *, seed: int) -> Generator:
    """The generator alone, as whoever only evaluates it needs it."""
    if _is_conv(config.generator, image_shape):
        return _seeded(seed, lambda: ConvGenerator(image_shape=image_shape, classes=classes, latent=config.latent))
    return _seeded(seed, lambda: MlpGenerator(image_shape=image_shape, classes=classes, latent=config.latent))


def build_discriminator(config: GanConfig, image_shape: Shape, classes: int, *, seed: int) -> nn.Module:
    """The discriminator alone."""
    if _is_conv(config.discriminator, image_shape):
        return _seeded(seed, lambda: ConvDiscriminator(image_shape, classes))
    return _seeded(seed, lambda: MlpDiscriminator(image_shape, classes))


def _is_conv(architecture: Architecture, image_shape: Shape) -> bool:
    if architecture == "auto":
        return min(image_shape[1:]) >= CONV_FROM_SIDE
    return architecture == "conv"


def _seeded(seed: int, build: Callable[[], Network]) -> Network:
    """Layers draw their weights from the process's generator: seed it for the moment, then put it back."""
    with _process_generator, torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return build()
