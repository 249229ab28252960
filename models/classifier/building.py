"""The network that a classifier's config names: built in, or the user's own."""

from typing import cast

import torch
from torch import Tensor, nn

from siloseal.federation.errors import ConfigError
from siloseal.federation.job.sections.supervised import BuiltInNetwork, ClassifierConfig
from siloseal.federation.shapes import Shape
from siloseal.models.classifier.learner import ClassifierLearner
from siloseal.models.classifier.networks import built_in
from siloseal.models.classifier.weights import load_weights
from siloseal.models.group_norm import with_group_norm
from siloseal.models.initial_weights import require_same_start, seeded
from siloseal.models.mixing import refuse_mixing
from siloseal.models.modes import evaluating
from siloseal.models.parts import require_float32
from siloseal.models.user_code.calling import at, call_own
from siloseal.models.user_code.loading import load_code


def build_classifier(config: ClassifierConfig, shape: Shape, classes: int, *, seed: int) -> ClassifierLearner:
    """A learner at its initial weights."""
    network = build_network(config, shape, classes, seed=seed)
    return ClassifierLearner(network, average_decay=config.average_decay, frozen=config.frozen, local=config.local)


def build_network(config: ClassifierConfig, shape: Shape, classes: int, *, seed: int) -> nn.Module:
    """The network at its initial weights: those of the job's file, else a function of the job's public seed."""
    network = _built(config, shape, classes, seed=seed)
    load_weights(network, config)
    if config.batch_norm == "group_norm":
        network = with_group_norm(network)
    refuse_mixing(network)
    return network


def _built(config: ClassifierConfig, shape: Shape, classes: int, *, seed: int) -> nn.Module:
    if (code := config.code) is None:
        return seeded(seed, lambda: built_in(cast(BuiltInNetwork, config.model), shape, classes))
    build = load_code(code)
    arguments = {"shape": shape, "classes": classes}
    name = f"{config.model}{at(build)}"
    network, again = (_module(seeded(seed, lambda: call_own(code, build, arguments)), name) for _ in range(2))
    require_same_start(network.state_dict(), again.state_dict(), name=name)
    return _checked(network, shape, classes, name)


def _module(found: object, name: str) -> nn.Module:
    if not isinstance(found, nn.Module):
        raise ConfigError(f"{name} returned a {type(found).__name__}, expected a torch.nn.Module; return the network")
    return found


def _checked(network: nn.Module, shape: Shape, classes: int, name: str) -> nn.Module:
    """The network; `ConfigError` unless it is one of float32 that gives each example one number a class."""
    require_float32(network, name)
    rows = torch.zeros(2, *shape)
    try:
        with evaluating(network):
            outputs = network(rows)
    except Exception as error:  # whatever a user's forward pass raises
        raise ConfigError(
            f"the network of {name} cannot take a batch of shape {tuple(rows.shape)} ({type(error).__name__}: "
            f"{error}); build it for the shape that the function is given"
        ) from error
    if not isinstance(outputs, Tensor) or outputs.shape != (2, classes):
        found = tuple(outputs.shape) if isinstance(outputs, Tensor) else type(outputs).__name__
        raise ConfigError(
            f"the network of {name} makes {found} of two examples, expected (2, {classes}): one number a class"
        )
    return network
