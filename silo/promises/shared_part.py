"""Promises about the part of a learner that leaves the silo."""

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from siloseal.models.learner import ExampleLearner
from siloseal.models.own_learner import SelfMeasuring, measured
from siloseal.silo.promises.trial import Trial, differing, everything_of


def vector_is_flat(trial: Trial) -> str:
    """One flat, finite float32 vector, which is a copy."""
    learner = trial.learner()
    vector = learner.vector()
    if not isinstance(vector, Tensor) or vector.ndim != 1 or vector.dtype != torch.float32:
        shape = (
            f"{vector.dtype} of shape {tuple(vector.shape)}" if isinstance(vector, Tensor) else type(vector).__name__
        )
        return f"vector() is {shape}; give a flat torch.float32 vector"
    if vector.requires_grad or not torch.isfinite(vector).all() or not len(vector):
        return "vector() is empty, not finite, or part of a graph of gradients; detach and check it"
    before = vector.clone()
    vector += 1
    return "" if torch.equal(learner.vector(), before) else "a change of vector() changes the learner; give a copy"


def vector_is_taken_over(trial: Trial) -> str:
    """`load` takes over any vector of the right length, and `vector` gives it back."""
    learner = trial.learner()
    trial.train(learner, private=False)
    given = learner.vector() + torch.linspace(-0.5, 0.5, len(learner.vector()))
    learner.load(given.clone())
    found = learner.vector()
    if len(found) != len(given):
        return f"vector() had {len(given)} numbers before load() and {len(found)} after it"
    return "" if torch.equal(found, given) else f"vector() differs from what load() got, by {_gap(found, given):.3g}"


def buffers_stay(trial: Trial) -> str:
    """The buffers of the shared network stay as they are: a sum carries its vector alone, and leaves them behind."""
    learner = trial.learner()
    before = _buffers(learner)
    trial.train(learner, 3, private=False)
    if not (changed := differing(before, _buffers(learner))):
        return ""
    return (
        f"training changes the buffers {changed} of shared_model, which no sum carries: whoever gets the vector has "
        "their first values; use GroupNorm in place of batch norm, and keep what else changes outside of shared_model"
    )


def _buffers(learner: ExampleLearner) -> dict[str, Tensor]:
    return {name: buffer.clone() for name, buffer in learner.shared_model.named_buffers()}


def wrong_vectors_are_refused(trial: Trial) -> str:
    """`load` refuses another length and what is no number, and changes nothing then."""
    for what, vector in _wrong_vectors(trial.learner()):
        learner = trial.learner()
        before = everything_of(learner)
        try:
            learner.load(vector)
        except Exception:  # noqa: BLE001 (whatever a user's class raises is a refusal)
            if changed := differing(before, everything_of(learner)):
                return f"load() refuses {what}, but has changed {changed} by then; check before you copy"
        else:
            return f"load() takes {what}; raise an error, before anything changes"
    return ""


def _wrong_vectors(learner: ExampleLearner) -> Iterator[tuple[str, Tensor]]:
    vector = learner.vector() + 1
    yield "a vector that is too short", vector[:-1]
    yield "a vector that is too long", torch.cat([vector, vector[:1]])
    for what, value in {"NaN": math.nan, "infinity": math.inf}.items():
        spoilt = vector.clone()
        spoilt[-1] = value
        yield f"a vector with {what} at its end", spoilt


def shared_part_follows(trial: Trial) -> str:
    """Training changes what is shared, and what is shared becomes a model."""
    learner = trial.learner()
    before = learner.vector()
    trial.train(learner, 3)
    if torch.equal(learner.vector(), before):
        return "three steps of training leave vector() as it was; let public_step() carry them over"
    network = {name: tensor.clone() for name, tensor in learner.shared_model.state_dict().items()}
    learner.load(before)
    if not differing(network, learner.shared_model.state_dict()):
        return "shared_model stays as it was when load() brings another vector; make them one"
    return ""


def measure_is_a_share(trial: Trial) -> str:
    """`measure`, where there is one, is from 0 to 1, the same twice, and changes nothing."""
    learner = trial.learner()
    if not isinstance(learner, SelfMeasuring):
        return ""
    before = everything_of(learner)
    found = [measured(learner, trial.data) for _ in range(2)]
    if not all(0 <= value <= 1 for value in found):
        return f"measure() is {found[0]:g}, expected a number from 0 to 1, larger being better"
    changed = differing(before, everything_of(learner))
    return f"measure() changes {changed}" if changed else "" if found[0] == found[1] else "measure() differs twice"


def _gap(one: Tensor, other: Tensor) -> float:
    return float((one - other).abs().max())
