"""Server optimizers: how the aggregator moves the global model by a round's average. None of them sees more than it."""

from typing import Annotated, Literal

from pydantic import Field

from siloseal.federation.config.section import Section
from siloseal.federation.job.sections.optimizers import Decay


class ServerAverage(Section):
    """The silos' average itself, or a part of the way to it: plain federated averaging."""

    kind: Literal["average"] = Field(default="average", description="the silos' average, or a part of the way to it")
    rate: float = Field(
        default=1.0, gt=0, le=1, description="how far a round moves the global model towards the silos' average"
    )


class ServerMomentum(Section):
    """Momentum over rounds: FedAvgM (Hsu, Qi and Brown 2019)."""

    kind: Literal["momentum"] = Field(default="momentum", description="momentum over the rounds' updates")
    rate: float = Field(default=1.0, gt=0, le=10, description="the step size on the velocity of the global model")
    momentum: Decay = Field(default=0.9, description="the part of the last round's velocity that carries over")


class _Adaptive(Section):
    rate: float = Field(
        default=0.01,
        gt=0,
        le=1,
        description="the step size: about how far a round moves a weight whose updates keep going one way",
    )
    first_decay: Decay = Field(default=0.9, description="beta 1, the memory of the mean update")
    second_decay: Decay = Field(default=0.99, description="beta 2, the memory of the mean squared update")
    stabiliser: float = Field(
        default=1e-3,
        ge=1e-9,
        le=1,
        description="tau: updates of weights far below it move them in proportion, those far above it by their sign",
    )


class ServerAdam(_Adaptive):
    """Adam over rounds: FedAdam (Reddi et al. 2021)."""

    kind: Literal["adam"] = Field(default="adam", description="Adam over the rounds' updates")


class ServerYogi(_Adaptive):
    """Yogi over rounds: FedYogi (Reddi et al. 2021), whose second moment changes slowly where updates become sparse."""

    kind: Literal["yogi"] = Field(default="yogi", description="Yogi over the rounds' updates")


ServerOptimizerConfig = Annotated[ServerAverage | ServerMomentum | ServerAdam | ServerYogi, Field(discriminator="kind")]
