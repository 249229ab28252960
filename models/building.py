"""From a job to its models, and from model files back to networks."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import safetensors.torch
import torch
from numpy.typing import NDArray
from pydantic import TypeAdapter, ValidationError
from safetensors import SafetensorError, safe_open

from siloseal.federation.errors import ConfigError, RunError
from siloseal.federation.job.job import Job
from siloseal.federation.job.releases import Lengths
from siloseal.federation.job.sections.gan import GanConfig
from siloseal.federation.job.sections.learners import LearnerConfig
from siloseal.federation.job.sections.schedule import FedAvg
from siloseal.federation.job.sections.warm_start import KernelMeanStart, PublicStart
from siloseal.federation.randomness import Randomness, SeededRandomness
from siloseal.federation.shapes import Shape, image_shape
from siloseal.models.gan.building import build_gan, build_generator
from siloseal.models.gan.generators import Generator
from siloseal.models.gan.learner import GanLearner, Shared
from siloseal.models.kernel_mean import FeatureMap
from siloseal.models.meta.building import FewShotConfig, FewShotLearner, build_few_shot_learner, build_few_shot_model
from siloseal.models.meta.model import FewShotModel
from siloseal.models.vectors import flatten, load_flat

Model = NDArray[np.float32]

SharedModel = Generator | FewShotModel

GLOBAL_MODEL = "global.safetensors"
"""Name of the global model's file: in a run folder, and in the state folders of the aggregator and of each silo."""

_FORMAT = "siloseal model 4"
_LEARNER: TypeAdapter[GanConfig | FewShotConfig] = TypeAdapter(LearnerConfig)


def build_learner(
    job: Job, shape: Shape, classes: int, *, labels: Sequence[int], expected_batch: float, randomness: Randomness
) -> GanLearner | FewShotLearner:
    """The job's learner at its initial weights."""
    if not isinstance(job.learner, GanConfig):
        return build_few_shot_learner(job.learner, image_shape(shape), labels=labels, seed=job.seed)
    return build_gan(
        job.learner,
        image_shape(shape),
        classes,
        labels=labels,
        expected_batch=expected_batch,
        seed=job.seed,
        randomness=randomness,
        shared=_shared(job),
    )


def shared_classes(job: Job, classes: int) -> int:
    """The classes that the shared model knows, of this many in the data: a generator all, a few-shot model none.

    Counted as one then, so that silos agree whatever classes each of them holds.
    """
    return classes if isinstance(job.learner, GanConfig) else 1


def initial_model(job: Job, shape: Shape, classes: int) -> Model:
    """The shared vector that everyone starts from: a function of the job's seed."""
    # Nothing is generated here, so the learner's streams of fakes may come from anywhere.
    learner = build_learner(
        job, shape, classes, labels=range(classes), expected_batch=1, randomness=SeededRandomness(0)
    )
    return learner.vector().numpy()


def vector_lengths(job: Job, shape: Shape, classes: int) -> Lengths:
    """The lengths of the vectors that the silos sum."""
    start = job.warm_start
    features = feature_map(job, start, shape, classes).length if isinstance(start, KernelMeanStart) else 0
    return Lengths(features, initial_model(job, shape, classes).size)


def load_model(job: Job, shape: Shape, classes: int, model: Model) -> SharedModel:
    """The network within a shared vector, as whoever uses it needs it."""
    network = _build(job.learner, shape, classes, seed=job.seed)
    load_flat([network], torch.from_numpy(model[: flatten([network]).numel()].copy()))
    return network


def load_generator(job: Job, shape: Shape, classes: int, model: Model) -> Generator:
    """The generator within a shared vector."""
    network = load_model(job, shape, classes, model)
    if not isinstance(network, Generator):
        raise RunError(f"the job learns a {job.learner.kind}, which generates nothing")
    return network


def with_generator(model: Model, generator: Generator) -> Model:
    """The shared vector with another generator in it."""
    part = flatten([generator]).numpy()
    return np.concatenate([part, model[part.size :]])


def feature_map(job: Job, start: KernelMeanStart | PublicStart, shape: Shape, classes: int) -> FeatureMap:
    """The public random features of the kernel mean, the same at every party."""
    return FeatureMap(image_shape(shape), classes, start.frequencies, start.length_scale, job.seed)


def model_file(config: GanConfig | FewShotConfig, network: SharedModel) -> bytes:
    """The network as a safetensors file that says what it holds. Equal networks give equal bytes."""
    classes = network.classes if isinstance(network, Generator) else 1
    words = {"learner": config.model_dump(), "shape": network.shape, "classes": classes}
    return bytes(safetensors.torch.save(network.state_dict(), {_FORMAT: json.dumps(words)}))


def read_model(path: Path) -> SharedModel:
    """The network that `model_file` wrote."""
    if not path.is_file():
        raise ConfigError(f"{path} is not there, or no file; give the path of a {GLOBAL_MODEL} in a run folder")
    try:
        with safe_open(path, framework="pt") as file:
            words = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no mapping)
        if _FORMAT not in words:
            raise RunError(f"{path} holds no SiloSeal model; give a run's {GLOBAL_MODEL}")
        described = json.loads(words[_FORMAT])
        shape = tuple(int(size) for size in described["shape"])
        config = _LEARNER.validate_python(described["learner"])
        network = _build(config, shape, int(described["classes"]), seed=0)
        network.load_state_dict(tensors)
    except (SafetensorError, ValidationError, ValueError, KeyError, TypeError, RuntimeError) as error:
        raise RunError(f"{path} is damaged or of another version; restore it, or run the job again") from error
    if not all(tensor.isfinite().all() for tensor in tensors.values()):
        raise RunError(f"{path} holds weights that are not finite numbers; restore it, or run the job again")
    return network


def read_generator(path: Path) -> Generator:
    """The generator that `model_file` wrote."""
    network = read_model(path)
    if not isinstance(network, Generator):
        raise ConfigError(f"{path} holds a few-shot model, which draws nothing; use it with `siloseal adapt`")
    return network


def read_few_shot_model(path: Path) -> FewShotModel:
    """The few-shot model that `model_file` wrote."""
    network = read_model(path)
    if not isinstance(network, FewShotModel):
        raise ConfigError(f"{path} holds a generator, which learns no tasks; use it with `siloseal sample`")
    return network


def _build(config: GanConfig | FewShotConfig, shape: Shape, classes: int, *, seed: int) -> SharedModel:
    if isinstance(config, GanConfig):
        return build_generator(config, image_shape(shape), classes, seed=seed)
    return build_few_shot_model(config, image_shape(shape), seed=seed)


def _shared(job: Job) -> Shared:
    return "both" if isinstance(job.schedule, FedAvg) else "generator"
