"""Where the silos of a job start from."""

from typing import Annotated, Literal

from pydantic import Field

from siloseal.federation.config.fields import Name, Steps
from siloseal.federation.config.section import Section
from siloseal.federation.job.sections.data import DataSource


class ColdStart(Section):
    """A common random start. Generators that grow from it average badly."""

    kind: Literal["none"] = Field(description="no warm start: random weights from the job's seed")


class _Fit(Section):
    """How the aggregator fits a generator to a sum of random features."""

    frequencies: int = Field(
        default=2000, ge=2, le=100_000, description="random Fourier frequencies; more is finer and slower"
    )
    length_scale: float = Field(
        default=3.5,
        ge=1e-3,
        le=1e6,
        description="the kernel's length scale, a third of two images' usual distance; 3.5 for MNIST, 1 for 8x8",
    )
    fit_steps: Steps = Field(default=3000, description="steps that the aggregator fits the generator for")
    fit_batch: int = Field(default=200, ge=20, le=100_000, description="generated images in a fitting step")
    learning_rate: float = Field(default=1e-2, gt=0, le=1, description="the step size at the start of the fit")


class PublicStart(_Fit):
    """A generator fitted to public data, without noise."""

    kind: Literal["public"] = Field(description="fit the first generator to a public data set")
    data: DataSource = Field(description="the public data set; same image shape and number of classes as the silos'")


class LeaderStart(Section):
    """One silo's own private model, which it pays for from its budget."""

    kind: Literal["leader"] = Field(description="one silo trains first, and all start from its model")
    silo: Name = Field(description="the leader's name")
    steps: Steps = Field(default=1000, description="training steps that the leader takes and pays for")


class KernelMeanStart(_Fit):
    """The noised sum of random features of labelled data: exactly additive, so summing it costs no accuracy."""

    kind: Literal["kernel_mean"] = Field(description="fit the first generator to a noised sum of random features")
    epsilon: float = Field(
        gt=0, le=1000, description="what this one release may cost; part of the job's epsilon, not on top"
    )


WarmStart = Annotated[ColdStart | PublicStart | LeaderStart | KernelMeanStart, Field(discriminator="kind")]
