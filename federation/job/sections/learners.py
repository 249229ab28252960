"""What a job may learn, and which guarantee each learner can be given."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, get_args

from pydantic import Field

from siloseal.federation.config.fields import spelled
from siloseal.federation.job.sections.columns import Columns
from siloseal.federation.job.sections.data import AtSilos, DataSource, Omniglot
from siloseal.federation.job.sections.few_shot import (
    EmbeddingConfig,
    Episodic,
    FewShot,
    MetaLstmConfig,
    ProtonetConfig,
    ReptileConfig,
)
from siloseal.federation.job.sections.gan import GanConfig
from siloseal.federation.job.sections.learner_kind import LearnerKind, MeasuredAs
from siloseal.federation.job.sections.privacy import UnitLevel
from siloseal.federation.job.sections.supervised import DIGEST, TARGET, ClassifierConfig, PythonConfig

if TYPE_CHECKING:
    from siloseal.federation.job.job import Job

AnyLearner = (
    GanConfig | MetaLstmConfig | ReptileConfig | ProtonetConfig | EmbeddingConfig | ClassifierConfig | PythonConfig
)
LearnerConfig = Annotated[AnyLearner, Field(discriminator="kind")]

LEARNERS: Mapping[str, type[LearnerKind]] = {
    kind: learner for learner in get_args(AnyLearner) for kind in get_args(learner.model_fields["kind"].annotation)
}
"""Every kind of learner by its name."""

BUILT_IN_LEARNERS = tuple(kind for kind in LEARNERS if kind != "python")
"""Kinds of learners that run no code of the user's own, or need not."""

AllowedLearner = Annotated[
    str,
    spelled(
        rf"{'|'.join(BUILT_IN_LEARNERS)}|(classifier|python):{TARGET}@{DIGEST}",
        f"one of {', '.join(BUILT_IN_LEARNERS)}; or code of your own with its digest, as `siloseal digest MODULE:NAME` "
        'prints the whole line: "classifier:xray:build@sha256:..." or "python:mylearner:Regression@sha256:...", with '
        "all 64 digits",
    ),
]
"""An entry of a silo's policy: a built-in kind, or the user's own code with its digest."""

MEASURED_AS: Mapping[str, MeasuredAs] = {kind: learner.measured_as for kind, learner in LEARNERS.items()}
"""The `evaluation.kind` that goes with each `learner.kind`."""


def require_fitting_learner(job: "Job") -> None:
    """`ValueError` where learner, privacy, data and warm start do not go together."""
    learner = job.learner
    require_single_copies(job.data, private=isinstance(job.privacy, UnitLevel))
    _require_fitting_columns(learner, job.data.declared)
    if isinstance(learner, Episodic):
        _require_countable_tasks(learner, job)
    elif job.privacy.kind == "task_level":
        raise ValueError(
            f"privacy.kind is task_level, but learner.kind {learner.kind} is trained on examples, not on tasks; choose "
            "example_level"
        )
    if job.evaluation.kind != learner.measured_as:
        raise ValueError(
            f"evaluation.kind is {job.evaluation.kind}, which measures something else than learner.kind "
            f"{learner.kind} makes; leave evaluation.kind out"
        )
    if job.warm_start.kind not in learner.warm_starts:
        raise ValueError(
            f"warm_start.kind is {job.warm_start.kind}, which fits a generator, but learner.kind is {learner.kind}; "
            f"choose {' or '.join(learner.warm_starts)}"
        )
    if job.data.holds_out_classes and not isinstance(learner, FewShot) and not isinstance(job.data, AtSilos):
        raise ValueError(
            f"data holds out whole classes, but learner.kind {learner.kind} is tried on the classes that it was trained"
            " on; hold out examples instead"
        )
    if isinstance(learner, FewShot) and not job.data.holds_out_classes:
        raise ValueError(
            "a few-shot learner is tried on classes that nobody trained on, but data holds out examples of the same "
            "classes; set data.hold_out to classes"
        )


def _require_fitting_columns(learner: AnyLearner, declared: Columns | None) -> None:
    if declared is None:
        return
    if learner.of_images:
        raise ValueError(
            f"data.columns declare a table, but learner.kind {learner.kind} learns from images only; choose classifier "
            "or python"
        )
    if isinstance(learner, ClassifierConfig) and not declared.target.classes:
        raise ValueError(
            "data.target is a number, but learner.kind classifier learns classes; declare a category, or choose python"
        )


def require_single_copies(data: DataSource, *, private: bool) -> None:
    """`ValueError` where one image would be several units, of which a guarantee covers one."""
    if isinstance(data, Omniglot) and data.rotations and private:
        raise ValueError(
            "data.rotations makes four examples of each image, but the guarantee covers one example; set it to false, "
            "or switch privacy off by name (privacy: {kind: none})"
        )


def _require_countable_tasks(learner: Episodic, job: "Job") -> None:
    if job.privacy.kind == "example_level":
        raise ValueError(
            f"privacy.kind is example_level, but a step of learner.kind {learner.kind} learns from whole tasks, whose "
            "images no clipping tells apart; choose task_level, which covers an image with its task, or learner.kind "
            "embedding"
        )
    if learner.episodes == "fresh" and job.privacy.kind != "none":
        raise ValueError(
            "learner.episodes is fresh, but one image is in many freshly drawn episodes, which no accounting of this "
            "job covers; set it to fixed, or switch privacy off by name (privacy: {kind: none})"
        )
