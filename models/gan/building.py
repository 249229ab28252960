"""The networks that a config names, with initial weights that every party can repeat."""

from collections.abc import Sequence

from torch import nn

from siloseal.federation.job.sections.gan import Architecture, GanConfig
from siloseal.federation.randomness import Randomness
from siloseal.federation.shapes import ImageShape
from siloseal.models.gan.discriminators import ConvDiscriminator, MlpDiscriminator
from siloseal.models.gan.generators import ConvGenerator, Generator, MlpGenerator
from siloseal.models.gan.learner import GanLearner, Shared
from siloseal.models.initial_weights import seeded

CONV_FROM_SIDE = 16  # below this a convolution has little to slide over, and an MLP is far faster


def build_gan(
    config: GanConfig,
    shape: ImageShape,
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
        build_generator(config, shape, classes, seed=seed),
        build_discriminator(config, shape, classes, seed=seed),
        labels=labels,
        expected_batch=expected_batch,
        randomness=randomness,
        shared=shared,
    )


def build_generator(config: GanConfig, shape: ImageShape, classes: int, *, seed: int) -> Generator:
    """The generator alone, as whoever only evaluates it needs it."""
    if _is_conv(config.generator, shape):
        return seeded(seed, lambda: ConvGenerator(shape=shape, classes=classes, latent=config.latent))
    return seeded(seed, lambda: MlpGenerator(shape=shape, classes=classes, latent=config.latent))


def build_discriminator(config: GanConfig, shape: ImageShape, classes: int, *, seed: int) -> nn.Module:
    """The discriminator alone."""
    if _is_conv(config.discriminator, shape):
        return seeded(seed, lambda: ConvDiscriminator(shape, classes))
    return seeded(seed, lambda: MlpDiscriminator(shape, classes))


def _is_conv(architecture: Architecture, shape: ImageShape) -> bool:
    if architecture == "auto":
        return min(shape[1:]) >= CONV_FROM_SIDE
    return architecture == "conv"
