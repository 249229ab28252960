"""A learner of the user's own, made as its job says."""

from functools import partial
from typing import Protocol, runtime_checkable

from torch import Tensor, nn

from siloseal.federation.errors import ConfigError
from siloseal.federation.job.job import Job
from siloseal.federation.job.sections.supervised import PythonConfig
from siloseal.federation.shapes import Shape
from siloseal.models.initial_weights import require_same_start, seeded
from siloseal.models.learner import ExampleLearner, LabelledRows, TaskLearner
from siloseal.models.modes import evaluating
from siloseal.models.parts import require_float32
from siloseal.models.user_code.calling import at, call_own
from siloseal.models.user_code.loading import load_code, run_own

OWN_MEASURE = "own measure"
"""Headline of a learner that measures itself by one number from 0 to 1, larger being better."""


@runtime_checkable
class SelfMeasuring(Protocol):
    """A learner that can tell how good its shared model is."""

    @property
    def shared_model(self) -> nn.Module:
        """The network that leaves the silo."""

    def measure(self, rows: LabelledRows) -> float:
        """How good the shared model is on held-out rows, from 0 to 1, larger being better."""


def build_own_learner(config: PythonConfig, shape: Shape, classes: int, *, seed: int) -> ExampleLearner:
    """The learner at its initial weights. What it draws while it is made follows from the job's public seed."""
    make = load_code(config.code)
    name = f"{config.target}{at(make)}"

    def build() -> ExampleLearner:
        arguments = {"shape": shape, "classes": classes, "options": dict(config.options)}
        return checked_learner(seeded(seed, lambda: call_own(config.code, make, arguments)), name)

    learner, again = build(), build()
    one, other = (run_own(config.code, partial(_shared_part, each)) for each in (learner, again))
    require_same_start(one, other, name=name)
    return learner


def checked_learner(learner: object, name: str) -> ExampleLearner:
    """The learner; `ConfigError` with what it lacks, if it is none."""
    if isinstance(learner, TaskLearner):
        raise ConfigError(
            f"{name} makes a {type(learner).__name__} with task_gradients, but a learner of your own learns from "
            "examples, one loss a row; remove that method"
        )
    if isinstance(learner, ExampleLearner):
        require_float32(learner.private_module, name)
        return learner
    missing = [member for member in sorted(_members()) if not hasattr(learner, member)]
    raise ConfigError(
        f"{name} makes a {type(learner).__name__}, which is no learner: it lacks {', '.join(missing)}; "
        "docs/own-learner.md has a template"
    )


def own_measure(job: Job, network: nn.Module, rows: LabelledRows, *, shape: Shape, classes: int) -> float | None:
    """What the job's learner says of a shared network; None where it has no measure."""
    config = job.learner
    if not isinstance(config, PythonConfig):
        raise TypeError(f"{config.kind} is no learner of the user's own")
    learner = build_own_learner(config, shape, classes, seed=job.seed)
    if not isinstance(learner, SelfMeasuring):
        return None
    learner.shared_model.load_state_dict(network.state_dict())
    found = run_own(config.code, lambda: measured(learner, rows))
    if not 0 <= found <= 1:  # NaN is neither
        raise ConfigError(
            f"{config.target}: measure() is {found:g}, expected a number from 0 to 1, larger being better; "
            "`siloseal check-learner` tries it"
        )
    return found


def measured(learner: SelfMeasuring, rows: LabelledRows) -> float:
    """What the learner says of itself: nothing is trained by it, so without gradients and without dropout."""
    with evaluating(learner.shared_model):
        return float(learner.measure(rows))


def _shared_part(learner: ExampleLearner) -> dict[str, Tensor]:
    return {"vector()": learner.vector(), **learner.shared_model.state_dict()}


def _members() -> set[str]:
    return {name for kind in ExampleLearner.__mro__ for name in vars(kind) if not name.startswith("_")}
