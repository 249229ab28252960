"""What a job says about its GAN: the networks, and how the generator follows the discriminator."""

from typing import Literal

from pydantic import Field

from siloseal.federation.job.sections.learner_kind import LearnerKind

Architecture = Literal["auto", "mlp", "conv"]


class GanConfig(LearnerKind):
    """A conditional GAN. Only its discriminator sees data; the generator's part is post-processing and costs none."""

    of_images = True
    measured_as = "generated"
    one_output_a_class = True
    coarsest = 2.0**-5  # at 0.1 a generator of digits loses accuracy, at 0.4 all of it
    warm_starts = ("none", "public", "leader", "kernel_mean")

    kind: Literal["gan"] = Field(default="gan", description="a conditional GAN")
    generator: Architecture = Field(
        default="auto", description="the generator's layers; auto is mlp below 16x16 pixels and conv from there"
    )
    discriminator: Architecture = Field(
        default="auto", description="the discriminator's layers; auto is mlp below 16x16 pixels and conv from there"
    )
    latent: int = Field(default=16, ge=1, le=1024, description="how many random inputs the generator takes")
    instance_noise: float = Field(
        default=0.2,
        ge=0,
        le=1,
        description="standard deviation of the noise on everything the discriminator sees; without it the generator "
        "peaks early and then degrades; 0.1 suits 8x8 pixels, 0.2 to 0.3 suits 28x28",
    )
    discriminator_warmup: int = Field(
        default=0,
        ge=0,
        le=10_000_000,
        description="discriminator steps before the first generator step; a cold discriminator ruins a good generator",
    )
    accuracy_threshold: float = Field(
        default=0.6,
        ge=0.5,
        lt=1,
        description="the generator steps only while the discriminator recognises more than this part of its fakes",
    )
    most_discriminator_steps: int = Field(
        default=20,
        ge=1,
        le=10_000_000,
        description="the generator steps after this many discriminator steps whatever the accuracy",
    )
    generator_learning_rate: float = Field(default=1e-3, gt=0, le=1, description="Adam's step size for the generator")
    generator_half_life_steps: int | None = Field(
        default=None,
        ge=1,
        le=10_000_000,
        description="generator steps after which its step size is halved, again and again; by default never",
    )
    average_decay: float = Field(
        default=0.998, ge=0, lt=1, description="how slowly the averaged generator, the one that is shared, follows"
    )
