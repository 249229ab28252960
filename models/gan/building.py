"""The networks that a config names, with initial weights that every party can repeat."""

from collections.abc import Sequence

from torch import nn

from siloseal.federation.job.sections.gan import Architecture, GanConfig
from siloseal.federation.randomness import Randomness
from siloseal.models.gan.discriminators import ConvDiscriminator, MlpDiscriminator
from siloseal.models.gan.generators import ConvGenerator, Generator, MlpGenerator
from siloseal.models.gan.learner import GanLearner, Shared
from siloseal.models.initial_weights import seeded

Shape = tuple[int, int, int]

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
        return seeded(seed, lambda: ConvGenerator(image_shape=image_shape, classes=classes, latent=config.latent))
    return seeded(seed, lambda: MlpGenerator(image_shape=image_shape, classes=classes, latent=config.latent))


def build_discriminator(config: GanConfig, image_shape: Shape, classes: int, *, seed: int) -> nn.Module:
    """The discriminator alone."""
    if _is_conv(config.discriminator, image_shape):
        return seeded(seed, lambda: ConvDiscriminator(image_shape, classes))
    return seeded(seed, lambda: MlpDiscriminator(image_shape, classes))


def _is_conv(architecture: Architecture, image_shape: Shape) -> bool:
    if architecture == "auto":
        return min(image_shape[1:]) >= CONV_FROM_SIDE
    return architecture == "conv"
