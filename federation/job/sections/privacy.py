"""The guarantees that a job may give."""

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from siloseal.federation.config.fields import Delta
from siloseal.federation.config.section import Section

LARGEST_EPSILON = 1000.0


class UnitLevel(Section):
    """Noise in every training step, added by the silo, for each of the units that a step draws from."""

    unit: ClassVar[str]
    """The unit in words: what may be there or not without anyone being able to tell."""

    epsilon: float = Field(
        gt=0,
        le=1e12,
        description="the most that all phases together may cost a silo's units; above 1,000 only beside "
        "noise_multiplier",
    )
    delta: Delta = Field(description="the probability that epsilon does not hold; below 1 / units")
    clip_norm: float = Field(
        default=1.0, ge=1e-6, le=1e6, description="each unit's gradient is clipped to this L2 norm"
    )
    noise_multiplier: float | None = Field(
        default=None,
        ge=1e-3,
        le=1e5,
        description="sigma of every training step, to compare with papers that fix it; by default the least with which "
        "all phases stay within epsilon",
    )
    reserve_steps: int = Field(
        default=0,
        ge=0,
        le=10_000_000,
        description="steps that crashes may throw away, at most 50 each, without the job ending early; paid with noise",
    )

    @model_validator(mode="after")
    def _a_huge_epsilon_is_meant(self) -> Self:
        if self.epsilon > LARGEST_EPSILON and self.noise_multiplier is None:
            raise ValueError(
                f"epsilon is {self.epsilon:g}, which promises nothing, expected at most {LARGEST_EPSILON:g}; more is "
                "for comparisons that fix the noise (noise_multiplier)"
            )
        return self


class ExampleLevel(UnitLevel):
    """Differential privacy for every example, over all phases together."""

    unit = "one example"
    kind: Literal["example_level"] = Field(description="each example is protected by noise that its silo adds")


class TaskLevel(UnitLevel):
    """Differential privacy for every training task of a few-shot learner, over all phases together.

    The data set is a set of tasks, formed once: neighbouring ones differ by one task, which is there or is nothing. An
    image is in one task only, and no other image decides in which one (`silo/data/tasks.py`). What one image costs
    follows: without it, its task is exchanged for another, or for none. That moves a step's sum by up to twice the clip
    norm, so it costs what an exchanged task costs: two to two and a half times epsilon at usual deltas, more at large
    ones; `siloseal plan` prints it. Another image in its place exchanges two tasks at most. A silo's policy counts
    images, and so it counts exchanged tasks.
    """

    unit = "one training task with every image in it"
    kind: Literal["task_level"] = Field(description="each training task is protected by noise that its silo adds")


class SiloLevel(Section):
    """Differential privacy for a silo as a whole: nobody can tell its contribution from zeros.

    That it took part is known. Training adds no noise. What leaves is the update, clipped, through a sum that
    `mechanism` noises.
    """

    kind: Literal["silo_level"] = Field(description="each silo's whole contribution is protected by noise on the sums")
    epsilon: float = Field(gt=0, le=1000, description="the most that all sums together may cost a silo")
    delta: Delta = Field(description="the probability that epsilon does not hold; below 1 / silos")
    clip_norm: float = Field(
        default=1.0, ge=1e-6, le=1e6, description="a silo's update is clipped to this L2 norm, at first"
    )


class NoPrivacy(Section):
    """No noise and no guarantee: for measuring what privacy costs, on data that needs none."""

    kind: Literal["none"] = Field(description="privacy is off")


PrivacyConfig = Annotated[ExampleLevel | TaskLevel | SiloLevel | NoPrivacy, Field(discriminator="kind")]
