"""Initial weights that every party can repeat, because they follow from the job's public seed."""

import threading
from collections.abc import Callable
from typing import TypeVar

import torch

from siloseal.models.process_randomness import kept_randomness

Built = TypeVar("Built")

_process_generator = threading.Lock()  # a simulation may build its silos in threads


def seeded(seed: int, build: Callable[[], Built]) -> Built:
    """Build something with layers that draw their weights from the process's generator, which is seeded meanwhile."""
    with _process_generator, kept_randomness():
        torch.default_generator.manual_seed(seed)  # `torch.manual_seed` keeps a stack trace for GPUs that may come
        return build()
