"""From a job to its models, and from model files back to networks."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import safetensors.torch
import torch
from numpy.typing import NDArray
from pydantic import ValidationError
from safetensors import SafetensorError, safe_open

from federation.config.gan import GanConfig
from federation.config.job import Job
from federation.config.schedule import FedAvg
from federation.config.warm_start import KernelMeanStart, PublicStart
from federation.errors import ConfigError, RunError
from federation.planning import Lengths
from federation.randomness import Randomness, SeededRandomness
from models.gan.building import Shape, build_gan, build_generator
from models.gan.generators import Generator
from models.gan.learner import GanLearner, Shared
from models.kernel_mean import FeatureMap
from models.vectors import flatten, load_flat

Model = NDArray[np.float32]

_FORMAT = "siloseal generator 2"


def build_learner(
    job: Job, image_shape: Shape, classes: int, *, labels: Sequence[int], expected_batch: float, randomness: Randomness
) -> GanLearner:
    """The job's learner at its initial weights."""
    return build_gan(
        job.learner,
        image_shape,
        classes,
        labels=labels,
        expected_batch=expected_batch,
        seed=job.seed,
        randomness=randomness,
        shared=_shared(job),
    )


def initial_model(job: Job, image_shape: Shape, classes: int) -> Model:
    """The shared vector that everyone starts from: a function of the job's seed."""
    # Nothing is generated here, so the learner's streams of fakes may come from anywhere.
    learner = build_learner(
        job, image_shape, classes, labels=range(classes), expected_batch=1, randomness=SeededRandomness(0)
    )
    return learner.vector().numpy()


def vector_lengths(job: Job, image_shape: Shape, classes: int) -> Lengths:
    """How long the vectors are that the silos sum."""
    start = job.warm_start
    sketch = feature_map(job, start, image_shape, classes).length if isinstance(start, KernelMeanStart) else 0
    return Lengths(sketch, initial_model(job, image_shape, classes).size)


def load_generator(job: Job, image_shape: Shape, classes: int, model: Model) -> Generator:
    """The generator within a shared vector."""
    generator = build_generator(job.learner, image_shape, classes, seed=job.seed)
    load_flat([generator], torch.from_numpy(model[: flatten([generator]).numel()].copy()))
    return generator


def with_generator(model: Model, generator: Generator) -> Model:
    """The shared vector with another generator in it."""
    part = flatten([generator]).numpy()
    return np.concatenate([part, model[part.size :]])


def feature_map(job: Job, start: KernelMeanStart | PublicStart, image_shape: Shape, classes: int) -> FeatureMap:
    """The public random features of the kernel mean, the same at every party."""
    return FeatureMap(image_shape, classes, start.frequencies, start.length_scale, job.seed)


def generator_file(config: GanConfig, generator: Generator) -> bytes:
    """The generator as a safetensors file that says what network it holds. Equal generators give equal bytes."""
    words = {"learner": config.model_dump(), "image_shape": generator.image_shape, "classes": generator.classes}
    return bytes(safetensors.torch.save(generator.state_dict(), {_FORMAT: json.dumps(words)}))


def read_generator(path: Path) -> Generator:
    """The network that `generator_file` wrote."""
    if not path.is_file():
        raise ConfigError(f"{path} is not there, or no file; give the path of a global.safetensors in a run folder")
    try:
        with safe_open(path, framework="pt") as file:
            words = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no mapping)
        if _FORMAT not in words:
            raise RunError(f"{path} holds no SiloSeal generator; give a run's global.safetensors")
        described = json.loads(words[_FORMAT])
        channels, height, width = described["image_shape"]
        config = GanConfig.model_validate(described["learner"])
        generator = build_generator(config, (channels, height, width), int(described["classes"]), seed=0)
        generator.load_state_dict(tensors)
    except (SafetensorError, ValidationError, ValueError, KeyError, TypeError, RuntimeError) as error:
        raise RunError(f"{path} is damaged or of another version; restore it, or run the job again") from error
    if not all(tensor.isfinite().all() for tensor in tensors.values()):
        raise RunError(f"{path} holds weights that are not finite numbers; restore it, or run the job again")
    return generator


def _shared(job: Job) -> Shared:
    return "both" if isinstance(job.schedule, FedAvg) else "generator"
