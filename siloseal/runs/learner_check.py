"""A learner of the user's own on trial: from a class or a target to what was found of each promise."""

import math
from collections.abc import Callable

from pydantic import ValidationError

from siloseal.federation.errors import ConfigError
from siloseal.federation.job.sections.supervised import PythonConfig
from siloseal.federation.shapes import LARGEST_EXAMPLE, MOST_DIMENSIONS, Shape
from siloseal.models.initial_weights import seeded
from siloseal.models.learner import ExampleLearner
from siloseal.models.own_learner import build_own_learner, checked_learner
from siloseal.models.user_code.calling import require_parameters
from siloseal.silo.promises.checking import LearnerFinding, check_promises
from siloseal.silo.promises.trial import SEED, Trial


def check(
    learner: str | Callable[..., object], shape: Shape, classes: int, label_shape: Shape, options: dict[str, object]
) -> list[LearnerFinding]:
    """Try every promise on data of these shapes. A learner that cannot be built at all is a `ConfigError`."""
    _require_shapes(shape, classes, label_shape)
    make = _builder(learner, shape, classes, options)
    make()  # what is wrong so early is an error, and no broken promise
    return list(check_promises(Trial.on(make, shape, classes, label_shape)))


def _builder(
    learner: str | Callable[..., object], shape: Shape, classes: int, options: dict[str, object]
) -> Callable[[], ExampleLearner]:
    if isinstance(learner, str):
        try:
            config = PythonConfig.model_validate({"kind": "python", "target": learner, "options": options})
        except ValidationError as error:
            problem = error.errors(include_url=False)[0]
            words = problem["msg"].removeprefix("Value error, ")
            raise ConfigError(f"{problem['loc'][0]}: {words}; give options as a job could") from error
        return lambda: build_own_learner(config, shape, classes, seed=SEED)
    if not callable(learner):
        raise ConfigError(f"found a {type(learner).__name__}, expected a class or a target, MODULE:NAME")
    name = getattr(learner, "__name__", type(learner).__name__)
    require_parameters(learner, ("shape", "classes", "options"), name=name)
    return lambda: checked_learner(seeded(SEED, lambda: learner(shape, classes, dict(options))), name)


def _require_shapes(shape: Shape, classes: int, label_shape: Shape) -> None:
    sizes = (*shape, *label_shape)
    whole = all(isinstance(size, int) and size >= 1 for size in sizes) and isinstance(classes, int) and classes >= 0
    if not whole or not 1 <= len(shape) <= MOST_DIMENSIONS or math.prod(sizes) > LARGEST_EXAMPLE:
        raise ConfigError(
            f"shape is {shape}, label_shape {label_shape} and classes {classes}, expected whole numbers: 1 to "
            f"{MOST_DIMENSIONS} sizes of at least 1, and classes of at least 0"
        )
