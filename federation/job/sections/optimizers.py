"""Optimizers that turn noisy gradients into steps. None of them changes what a step costs in privacy."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from siloseal.federation.config.section import Section

Decay = Annotated[float, Field(ge=0, lt=1)]


class _Optimizer(Section):
    learning_rate: float = Field(default=1e-3, gt=0, le=10, description="the step size")
    proximal: float = Field(
        default=0.0,
        ge=0,
        le=1000,
        description="mu of FedProx: pulls the trained network, after the noise, to where the round's training began; "
        "0 is off",
    )


class _Moments(_Optimizer):
    first_decay: Decay = Field(default=0.5, description="beta 1, the memory of the mean gradient; 0.5 suits a GAN")
    second_decay: Decay = Field(default=0.999, description="beta 2, the memory of the mean squared gradient")


class DpAdamConfig(_Moments):
    """Adam on noisy gradients."""

    kind: Literal["dp_adam"] = Field(default="dp_adam", description="Adam on noisy gradients")
    bias_correction: Literal["standard", "constant"] = Field(
        default="standard",
        description="standard divides the moments by 1 - beta^t, constant by 1 - beta: larger steps for the first "
        "hundred or so, then smaller ones",
    )
    stabiliser: float = Field(default=1e-8, gt=0, le=1, description="Adam's epsilon: keeps the division finite")


class DpSgdConfig(_Optimizer):
    """Stochastic gradient descent on noisy gradients."""

    kind: Literal["dp_sgd"] = Field(default="dp_sgd", description="gradient descent on noisy gradients")
    momentum: Decay = Field(default=0.0, description="the part of the last step that carries over")

    @model_validator(mode="after")
    def _pulls_back(self) -> Self:
        """The proximal term alone multiplies the distance by 1 - lr mu a step, which grows beyond these bounds."""
        if self.learning_rate * self.proximal >= 2 * (1 + self.momentum):
            raise ValueError(
                f"learning_rate times proximal is {self.learning_rate * self.proximal:g}, expected less than "
                f"{2 * (1 + self.momentum):g}: each step would jump beyond where it is pulled to; lower one of the two"
            )
        return self


class DpAdamBcConfig(_Moments):
    """Adam that subtracts the noise's known share from its second moment."""

    kind: Literal["dp_adam_bc"] = Field(default="dp_adam_bc", description="Adam with the noise's variance subtracted")
    variance_floor: float | None = Field(
        default=None,
        gt=0,
        le=1e6,
        description="the least second moment after the subtraction (gamma'); too small a floor makes steps explode; "
        "by default the noise's own variance",
    )


OptimizerConfig = Annotated[DpAdamConfig | DpSgdConfig | DpAdamBcConfig, Field(discriminator="kind")]
