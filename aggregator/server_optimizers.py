"""How a round's average moves the global model: average, momentum, Adam, Yogi.

The update of a round, average - model, stands for a gradient (Reddi et al. 2021, "Adaptive Federated Optimization").
What an optimizer computes and remembers follows from released averages alone. So it is post-processing. It costs
nothing under any guarantee, silo-level privacy with distributed noise included; neither plan nor ledger knows of it.
And a replayed journal gives the same models again, on another machine too: all arithmetic here goes entry by entry, by
operations that IEEE 754 rounds in one way only.
"""

from abc import ABC, abstractmethod
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from siloseal.federation.errors import RunError
from siloseal.federation.job.sections.server_optimizers import (
    ServerAdam,
    ServerAverage,
    ServerMomentum,
    ServerOptimizerConfig,
    ServerYogi,
)
from siloseal.federation.run_events.coordination import Model

Moment = NDArray[np.float64]


class ServerOptimizer(ABC):
    """An optimizer of the global model, for the rounds of one phase."""

    def __init__(self, kind: str, largest_weight: float) -> None:
        self._kind, self._largest_weight = kind, largest_weight

    def step(self, model: Model, average: Model) -> Model:
        """The next global model; `RunError` for one that no silo would load.

        Weights are not clamped: the moments would go on pushing them, and the run would pay for rounds that are lost.
        """
        with np.errstate(over="ignore", invalid="ignore"):  # what overflows is refused below
            moved = self._moved(model, average).astype("<f4", copy=False)
        reach = float(np.abs(moved).max(initial=0.0))
        if not reach <= self._largest_weight:  # NaN neither
            raise RunError(
                f"the step of schedule.server.kind {self._kind} led to weights of {reach:g}, but silos refuse a model "
                f"above largest_weight, {self._largest_weight:g}; lower schedule.server.rate or the silos' learning "
                "rates, or raise largest_weight, and begin another run"
            )
        return moved

    @abstractmethod
    def _moved(self, model: Model, average: Model) -> Model | NDArray[np.float64]:
        """The model after this round, and the moments with it."""


class Average(ServerOptimizer):
    """The average itself, or a part of the way to it. It remembers nothing."""

    def __init__(self, config: ServerAverage, largest_weight: float) -> None:
        super().__init__(config.kind, largest_weight)
        self._rate = config.rate

    def _moved(self, model: Model, average: Model) -> Model:
        if self._rate == 1.0:
            return average  # to the bit, which model + (average - model) need not be
        return model + np.float32(self._rate) * (average - model)


class Momentum(ServerOptimizer):
    """A velocity over rounds: v = beta v + update, model += rate v."""

    def __init__(self, config: ServerMomentum, largest_weight: float) -> None:
        super().__init__(config.kind, largest_weight)
        self._config = config
        self._velocity: Moment = np.zeros(1)  # of any length

    def _moved(self, model: Model, average: Model) -> Moment:
        self._velocity = self._config.momentum * self._velocity + _update(model, average)
        return model + self._config.rate * self._velocity


class _Adaptive(ServerOptimizer):
    """Two moments of the updates: model += rate m / (sqrt(v) + tau), with m = beta1 m + (1 - beta1) update.

    As in the paper, v begins at tau^2, and no bias is corrected.
    """

    def __init__(self, config: ServerAdam | ServerYogi, largest_weight: float) -> None:
        super().__init__(config.kind, largest_weight)
        self._config = config
        self._first: Moment = np.zeros(1)  # of any length
        self._second: Moment = np.full(1, config.stabiliser * config.stabiliser)

    def _moved(self, model: Model, average: Model) -> Moment:
        config, update = self._config, _update(model, average)
        self._first = config.first_decay * self._first + (1.0 - config.first_decay) * update
        self._second = self._following(self._second, update * update)
        return model + config.rate * self._first / (np.sqrt(self._second) + config.stabiliser)

    @abstractmethod
    def _following(self, second: Moment, square: Moment) -> Moment:
        """The second moment after an update with these squares."""


class Adam(_Adaptive):
    """Adam: v = beta2 v + (1 - beta2) update^2."""

    def _following(self, second: Moment, square: Moment) -> Moment:
        return self._config.second_decay * second + (1.0 - self._config.second_decay) * square


class Yogi(_Adaptive):
    """Yogi: v = v - (1 - beta2) update^2 sign(v - update^2). It stays above 0: where it falls, update^2 is below v."""

    def _following(self, second: Moment, square: Moment) -> Moment:
        return second - (1.0 - self._config.second_decay) * square * np.sign(second - square)


def build_server_optimizer(config: ServerOptimizerConfig, *, largest_weight: float) -> ServerOptimizer:
    """The optimizer that the config names, before its first round."""
    match config:
        case ServerAverage():
            return Average(config, largest_weight)
        case ServerMomentum():
            return Momentum(config, largest_weight)
        case ServerAdam():
            return Adam(config, largest_weight)
        case ServerYogi():
            return Yogi(config, largest_weight)
        case _:
            assert_never(config)


def _update(model: Model, average: Model) -> Moment:
    """What the round changes, in double precision: moments add up many small updates."""
    return average.astype(np.float64) - model
