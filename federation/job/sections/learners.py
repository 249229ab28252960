"""What a job may learn, and which guarantee each learner can be given."""

from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from siloseal.federation.job.sections.data import DataSource, Omniglot
from siloseal.federation.job.sections.evaluation import FewShotTasks, GeneratedImages
from siloseal.federation.job.sections.few_shot import (
    EmbeddingConfig,
    Episodic,
    FewShot,
    MetaLstmConfig,
    ProtonetConfig,
    ReptileConfig,
)
from siloseal.federation.job.sections.gan import GanConfig
from siloseal.federation.job.sections.privacy import UnitLevel

if TYPE_CHECKING:
    from siloseal.federation.job.job import Job

LearnerConfig = Annotated[
    GanConfig | MetaLstmConfig | ReptileConfig | ProtonetConfig | EmbeddingConfig, Field(discriminator="kind")
]


def require_fitting_learner(job: "Job") -> None:
    """`ValueError` where learner, privacy, data and warm start do not go together."""
    learner = job.learner
    require_single_copies(job.data, private=isinstance(job.privacy, UnitLevel))
    if isinstance(learner, Episodic):
        _require_countable_tasks(learner, job)
    elif job.privacy.kind == "task_level":
        raise ValueError(
            f"privacy.kind is task_level, but learner.kind {learner.kind} is trained on examples, not on tasks; choose "
            "example_level"
        )
    match learner, job.evaluation:
        case GanConfig(), GeneratedImages():
            return
        case FewShot(), FewShotTasks():
            pass
        case _:
            raise ValueError(
                f"evaluation.kind is {job.evaluation.kind}, which measures something else than learner.kind "
                f"{learner.kind} makes; leave evaluation.kind out"
            )
    if job.warm_start.kind not in ("none", "leader"):
        raise ValueError(
            f"warm_start.kind is {job.warm_start.kind}, which fits a generator, but learner.kind is {learner.kind}; "
            "choose none or leader"
        )
    if not job.data.holds_out_classes:
        raise ValueError(
            "a few-shot learner is tried on classes that nobody trained on, but data holds out images of the same "
            "classes; set data.hold_out to classes"
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
