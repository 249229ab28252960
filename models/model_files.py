"""Networks as files that say what they hold."""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import assert_never

import safetensors.torch
from pydantic import TypeAdapter, ValidationError
from safetensors import SafetensorError, safe_open
from torch import nn

from siloseal.federation.analytics.any_job import load_any_job
from siloseal.federation.errors import CodeMismatch, ConfigError, RunError
from siloseal.federation.job.job import Job
from siloseal.federation.job.sections.columns import Columns
from siloseal.federation.job.sections.few_shot import FewShot
from siloseal.federation.job.sections.gan import GanConfig
from siloseal.federation.job.sections.learner_kind import UserCode
from siloseal.federation.job.sections.learners import AnyLearner, LearnerConfig
from siloseal.federation.job.sections.supervised import ClassifierConfig, PythonConfig
from siloseal.federation.shapes import Shape, image_shape
from siloseal.models.classifier.building import build_network
from siloseal.models.gan.building import build_generator
from siloseal.models.gan.generators import Generator
from siloseal.models.meta.building import build_few_shot_model
from siloseal.models.meta.model import FewShotModel
from siloseal.models.own_learner import build_own_learner
from siloseal.models.user_code.importing import imported_digest
from siloseal.models.user_code.source import source_of

GLOBAL_MODEL = "global.safetensors"
"""Name of the global model's file: in a run folder, and in the state folders of the aggregator and of each silo."""

JOBS_BESIDE = ("config.yaml", "job.yaml")
"""Names of the file, in the folder of a run, with its job: in a simulation, and at a deployed silo."""

_FORMAT = "siloseal model 4"
_LEARNER: TypeAdapter[AnyLearner] = TypeAdapter(LearnerConfig)


@dataclass(frozen=True)
class StoredModel:
    """A network, and what it takes to build one like it."""

    learner: AnyLearner
    shape: Shape
    """Shape of one example that the network is for."""
    classes: int
    """Number of classes that the network is for."""
    network: nn.Module
    whole: bool
    """Whether all of it is trained; not where silos keep a part to themselves and this is what they share."""
    columns: Columns | None
    """How a record of a table becomes an example, as the job declared it; None for a network of other data."""


def model_file(
    learner: AnyLearner,
    shape: Shape,
    classes: int,
    network: nn.Module,
    *,
    columns: Columns | None = None,
    whole: bool = True,
) -> bytes:
    """The network as a safetensors file that says what it holds. Equal networks give equal bytes.

    A table's columns are in the file, so that it can be used without its job. They are as public as the job is: none of
    them follows from data. Code of a user's own is there by the digest of what ran, whether the job names one or not.
    """
    words = {"learner": _as_run(learner).model_dump(mode="json"), "shape": shape, "classes": classes}
    if columns is not None:  # field by field: a job's own section has paths as well
        words["columns"] = columns.model_dump(mode="json", include={"columns", "target"})
    words |= {} if whole else {"whole": False}
    tensors = {name: tensor.detach().clone() for name, tensor in network.state_dict().items()}  # some share memory
    return bytes(safetensors.torch.save(tensors, {_FORMAT: json.dumps(words)}))


def shared_model_file(
    learner: AnyLearner, shape: Shape, classes: int, network: nn.Module, *, columns: Columns | None = None
) -> bytes:
    """The file of what all silos share, which says so where each of them keeps a part of the network to itself."""
    return model_file(learner, shape, classes, network, columns=columns, whole=not learner.personal)


def _as_run(learner: AnyLearner) -> AnyLearner:
    """The learner with the digest of its code, which a simulation's job may leave out."""
    if learner.code is None or learner.code.source is not None:
        return learner
    return learner.model_copy(update={"source": imported_digest(learner.code.target)})


def read_model(path: Path, *, code: str | None = None) -> StoredModel:
    """The network that `model_file` wrote.

    A file may name code of a user's own, and could name any code on this machine. It is run only if the caller names
    the same target as `code`, or if the job that lies beside the file does; and only if its digest is the file's. Code
    that came in the file's own folder is run only if the caller names it: whoever made the folder wrote the job, too.
    """
    if not path.is_file():
        raise ConfigError(f"{path} is not there, or no file; give the path of a {GLOBAL_MODEL} in a run folder")
    try:
        with safe_open(path, framework="pt") as file:
            words = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no mapping)
        if _FORMAT not in words:
            raise RunError(f"{path} holds no SiloSeal model; give a run's {GLOBAL_MODEL}")
        described = json.loads(words[_FORMAT])
        shape, classes = tuple(int(size) for size in described["shape"]), int(described["classes"])
        learner = _LEARNER.validate_python(described["learner"])
        columns = _columns(described.get("columns"), shape, classes)
        _require_known_code(learner, path, code)
        _require_same_code(learner, path)
        network = _build(learner, shape, classes)
        network.load_state_dict(tensors)
    except (SafetensorError, ValidationError, ValueError, KeyError, TypeError, RuntimeError) as error:
        raise RunError(f"{path} is damaged or of another version; restore it, or run the job again") from error
    if not all(tensor.isfinite().all() for tensor in tensors.values()):
        raise RunError(f"{path} holds weights that are not finite numbers; restore it, or run the job again")
    return StoredModel(learner, shape, classes, network, described.get("whole", True) is True, columns)


def _columns(described: object, shape: Shape, classes: int) -> Columns | None:
    """The columns of a table, which must become examples that the network takes."""
    if described is None:
        return None
    columns = Columns.model_validate(described)
    if shape != (columns.inputs,) or classes != columns.target.classes:
        raise ValueError(f"the columns become {columns.inputs} inputs and {columns.target.classes} classes")
    return columns


def _require_known_code(learner: AnyLearner, path: Path, named: str | None) -> None:
    """`ConfigError` for a file whose code neither the caller nor the run of the file's folder names."""
    if learner.code is None or learner.code.target == named:
        return
    if named is not None:
        raise ConfigError(f"{path} names {learner.code.target}, and not {named}; name that, if you trust it")
    if (job := job_of(path)) is None or not _names(job.learner.code, learner.code):
        raise ConfigError(
            f"{path} names code of a user's own, {learner.code.target}, which a file alone may not run; if you trust "
            f"it, give code={learner.code.target!r}, or --code {learner.code.target} at the command line, or put the "
            "file into the folder of its run"
        )
    if (found := source_of(learner.code.target)).folder.is_relative_to(run_folder_of(path).resolve()):
        raise ConfigError(
            f"{path} names code of a user's own, {learner.code.target}, which lies in the model's own folder "
            f"({found.folder}), so that whoever made the folder could run anything here; if you trust it, give "
            f"code={learner.code.target!r} (--code {learner.code.target})"
        )


def _names(named: UserCode | None, code: UserCode) -> bool:
    """Whether a job names just this code; one without a digest names it whatever its digest is."""
    return named is not None and code == (named if named.source else replace(named, source=code.source))


def _require_same_code(learner: AnyLearner, path: Path) -> None:
    """`CodeMismatch` where the code has changed since it trained the model: another network may take its weights."""
    if (code := learner.code) is None or code.source is None:
        return
    if (found := source_of(code.target)).digest != code.source:
        raise CodeMismatch(
            f"{path} was trained with {code.target} of the digest {code.source}, but "
            f"{found.path_of(code.target.partition(':')[0])} has {found.digest}: the code has changed since; put the "
            "version there that it was trained with, or train the model again"
        )


def job_of(path: Path) -> Job | None:
    """The job of the run in whose folder a model's file is; None for a file that is elsewhere."""
    folder = run_folder_of(path)
    for file in (folder / name for name in JOBS_BESIDE):
        if file.is_file() and isinstance(job := load_any_job(file), Job):
            return job
    return None


def run_folder_of(path: Path) -> Path:
    """The folder of a model's file; for a silo's own in silos/NAME of a simulation, that of the simulation."""
    return path.parent.parent.parent if path.parent.parent.name == "silos" else path.parent


def read_generator(path: Path) -> Generator:
    """The generator that `model_file` wrote."""
    stored = read_model(path)
    if not isinstance(stored.network, Generator):
        raise ConfigError(f"{path} holds a {stored.learner.kind}, which draws nothing; {_use(stored.learner)}")
    return stored.network


def read_few_shot_model(path: Path) -> FewShotModel:
    """The few-shot model that `model_file` wrote."""
    stored = read_model(path)
    if not isinstance(stored.network, FewShotModel):
        raise ConfigError(f"{path} holds a {stored.learner.kind}, which learns no tasks; {_use(stored.learner)}")
    return stored.network


def read_classifier(path: Path, *, code: str | None = None) -> StoredModel:
    """The classifier that `model_file` wrote, whole: with a silo's own part where it has one."""
    stored = read_model(path, code=code)
    if not isinstance(stored.learner, ClassifierConfig):
        raise ConfigError(f"{path} holds a {stored.learner.kind}, which names no classes; {_use(stored.learner)}")
    require_whole(stored, path)
    return stored


def require_whole(stored: StoredModel, path: Path) -> None:
    """`ConfigError` for what silos share of a model that each of them completes for itself."""
    if not stored.whole:
        raise ConfigError(
            f"{path} holds what all silos share and no whole model: learner.local leaves the rest to each silo; use a "
            f"silo's own {GLOBAL_MODEL}, in silos/NAME of a simulation or in a silo's state folder"
        )


def _use(learner: AnyLearner) -> str:
    match learner:
        case GanConfig():
            return "use it with `siloseal sample`"
        case FewShot():
            return "use it with `siloseal adapt`"
        case ClassifierConfig():
            return "use it with `siloseal predict`"
        case PythonConfig():
            return "load it with siloseal.load_model, since only its own code knows what its outputs mean"
        case _:
            assert_never(learner)


def _build(learner: AnyLearner, shape: Shape, classes: int) -> nn.Module:
    """A network of this kind, whose weights are about to be replaced."""
    match learner:
        case GanConfig():
            return build_generator(learner, image_shape(shape), classes, seed=0)
        case FewShot():
            return build_few_shot_model(learner, image_shape(shape), seed=0)
        case ClassifierConfig():
            return build_network(learner.model_copy(update={"weights": None}), shape, classes, seed=0)
        case PythonConfig():
            return build_own_learner(learner, shape, classes, seed=0).shared_model
        case _:
            assert_never(learner)
