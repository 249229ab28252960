"""First weights of a classifier, from a file that every party has its own copy of."""

import hashlib
from collections.abc import Iterable, Mapping

import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor, nn

from siloseal.federation.errors import CodeMismatch, ConfigError
from siloseal.federation.job.sections.supervised import ClassifierConfig
from siloseal.models.user_code.places import own_file

MOST_NAMES = 10
"""Number of names that an error lists; of more it gives the number."""


def load_weights(network: nn.Module, config: ClassifierConfig) -> None:
    """Give the network the weights of the job's file, all of them. What does not fit is refused before it changes."""
    if config.weights is None:
        return
    path = own_file(config.weights, field="weights")
    content = path.read_bytes()
    found = f"sha256:{hashlib.sha256(content).hexdigest()}"
    if config.weights_source not in (None, found):
        raise CodeMismatch(
            f"{path} has the digest {found}, but learner.weights_source is {config.weights_source}; copy the file that "
            "the job was written for, or, if this one is right, change the job"
        )
    try:
        tensors: dict[str, Tensor] = safetensors.torch.load(content)
    except SafetensorError as error:
        raise ConfigError(
            f"{path} is no safetensors file ({error}); write one with safetensors.torch.save_file(model.state_dict(), "
            "...)"
        ) from error
    _require_fitting(tensors, network.state_dict(), str(path))
    network.load_state_dict(tensors)


def _require_fitting(tensors: Mapping[str, Tensor], expected: Mapping[str, Tensor], path: str) -> None:
    found = list[str]()
    if missing := expected.keys() - tensors.keys():
        found.append(f"it lacks {_some(missing)}")
    if unknown := tensors.keys() - expected.keys():
        found.append(f"the network has no {_some(unknown)}")
    both = [name for name in expected if name in tensors]
    if odd := [name for name in both if tensors[name].shape != expected[name].shape]:
        shapes = (f"{name} of shape {tuple(tensors[name].shape)}, not {tuple(expected[name].shape)}" for name in odd)
        found.append(f"it has {_some(shapes)}")
    if odd := [name for name in both if tensors[name].dtype != expected[name].dtype]:
        found.append(f"it has {_some(f'{name} in {tensors[name].dtype}' for name in odd)}")
    if not found and (odd := [name for name in both if not torch.isfinite(tensors[name]).all()]):
        found.append(f"{_some(odd)} hold NaN or infinity")
    if found:
        raise ConfigError(
            f"learner.weights, {path}, does not fit the network: {'; '.join(found)}; save the weights of just this "
            "network under its own names"
        )


def _some(names: Iterable[str]) -> str:
    listed = sorted(names)
    return ", ".join(listed[:MOST_NAMES]) + (f" and {len(listed) - MOST_NAMES} more" * (len(listed) > MOST_NAMES))
