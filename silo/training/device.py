"""Where a silo computes: its own choice, which no job knows of."""

from typing import get_args

import torch

from siloseal.federation.config.quoting import quoted
from siloseal.federation.errors import ConfigError
from siloseal.silo.device_name import DeviceName

CPU = torch.device("cpu")


def training_device(name: DeviceName) -> torch.device:
    """The device of this name; auto is a graphics processor where there is one, and the processor elsewhere."""
    available = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if name not in get_args(DeviceName):
        raise ConfigError(f"device is {quoted(name)}, expected one of {', '.join(get_args(DeviceName))}")
    if name == "auto":
        return torch.device(next(kind for kind, there in available.items() if there))
    if not available[name]:
        raise ConfigError(
            f"device is {name}, but this machine, or this build of torch, has none; choose auto, which takes what is "
            "there, or cpu"
        )
    return torch.device(name)
