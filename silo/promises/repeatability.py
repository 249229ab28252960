"""Promises that let parties build the same learner, and let a run go on after a crash."""

import math
from numbers import Real

import safetensors.torch
from torch import Tensor

from siloseal.models.learner import ExampleLearner
from siloseal.silo.promises.trial import Trial, differing, everything_of, same_draws


def one_seed_builds_one_learner(trial: Trial) -> str:
    """Every party builds the learner for itself, and seeds torch's generator alone, so that two are the same."""
    built = list[dict[str, Tensor]]()
    for seed in (0, 1):
        with same_draws(numpy_seed=seed, python_seed=seed):
            built.append(everything_of(trial.make()))
    changed = differing(*built)
    return f"two learners of one seed differ in {changed}; draw first weights from torch alone" if changed else ""


def one_state_trains_to_one_result(trial: Trial) -> str:
    """Two that are the same stay the same when they are trained the same way."""
    one, other = trial.learner(), trial.learner()
    for learner in (one, other):
        trial.train(learner, 3)
    changed = differing(everything_of(one), everything_of(other))
    return f"trained twice from the same state, {changed} differ; draw from torch alone" if changed else ""


def state_is_brought_back(trial: Trial) -> str:
    """A silo that was restarted between training and the sum contributes what it trained."""
    learner, restored = _trained_and_restored(trial)
    changed = differing(everything_of(learner), everything_of(restored))
    return f"after load_state(state()), {changed} differ; put them into state(), and load them" if changed else ""


def state_holds_everything(trial: Trial) -> str:
    """A learner that goes on from a checkpoint goes on as the one that wrote it."""
    learner, restored = _trained_and_restored(trial)
    for each in (learner, restored):
        trial.train(each, 3, private=False)
    changed = differing(everything_of(learner), everything_of(restored))
    return f"three steps after load_state(state()), {changed} differ; state() forgets something" if changed else ""


def _trained_and_restored(trial: Trial) -> tuple[ExampleLearner, ExampleLearner]:
    """A learner after some steps, and another one with its state."""
    learner, restored = trial.learner(), trial.learner()
    trial.train(learner, 3, private=False)
    restored.load_state(_through_a_file(learner))
    return learner, restored


def state_of_another_job_is_refused(trial: Trial) -> str:
    """A state with another name in it, or without one, is some other learner's."""
    for change in ("another name in it", "a name less"):
        learner, state = trial.learner(), dict(trial.learner().state())
        if change == "a name less":
            state.popitem()
        else:
            state["a stranger"] = next(iter(state.values())).clone()
        try:
            learner.load_state(state)
        except Exception:  # noqa: BLE001, S112 (whatever a user's class raises is a refusal)
            continue
        return f"load_state() takes a state with {change}; compare the names first"
    return ""


def metrics_are_numbers(trial: Trial) -> str:
    """What is shown in a terminal and in logs is finite numbers under names."""
    learner = trial.learner()
    trial.train(learner)
    for name, value in dict(learner.public_metrics()).items():
        if not isinstance(name, str) or not isinstance(value, Real) or not math.isfinite(value):
            return f"public_metrics() has {name!r}: {value!r}, expected names with finite numbers"
    return ""


def _through_a_file(learner: ExampleLearner) -> dict[str, Tensor]:
    return dict(safetensors.torch.load(safetensors.torch.save(dict(learner.state()))))
