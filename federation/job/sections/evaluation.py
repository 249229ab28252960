"""The experimenter's measurements on held-out data. They are outside the guarantee, and nothing flows back."""

from typing import Annotated, Literal

from pydantic import Field, field_validator

from siloseal.federation.config.section import Section


class _Evaluation(Section):
    silo_alone: bool = Field(
        default=False,
        description="also run the job for each silo alone, a comparison that spends the same epsilon again",
    )
    most_silos: int = Field(
        default=20, ge=1, le=100_000, description="the most silos whose own models are measured, the first of the list"
    )
    pooled: bool = Field(
        default=False,
        description="also train on all silos' records together without privacy: what privacy and federating cost",
    )


class GeneratedImages(_Evaluation):
    """How much generated images teach a classifier about real ones."""

    kind: Literal["generated"] = Field(default="generated", description="classifiers that see generated images only")
    classifiers: tuple[Literal["logistic", "mlp", "cnn"], ...] = Field(
        default=("cnn",),
        min_length=1,
        description="classifiers to train on generated images; the first one gives the headline",
    )
    samples: int = Field(default=4000, ge=100, le=1_000_000, description="generated images in a measurement")


class FewShotTasks(_Evaluation):
    """How well new tasks are learnt, of classes that nobody trained on."""

    kind: Literal["few_shot"] = Field(default="few_shot", description="tasks of held-out classes")
    ways: int = Field(default=5, ge=2, le=1000, description="classes of a task")
    shots: tuple[Annotated[int, Field(ge=1, le=1000)], ...] = Field(
        default=(1, 5), min_length=1, description="labelled images in a class; the first number gives the headline"
    )
    queries: int = Field(default=15, ge=1, le=1000, description="images in a class that are to be named")
    episodes: int = Field(
        default=600, ge=10, le=1_000_000, description="tasks in a measurement, the same for every model"
    )

    @field_validator("shots")
    @classmethod
    def _differ(cls, shots: tuple[int, ...]) -> tuple[int, ...]:
        if len(set(shots)) != len(shots):
            raise ValueError("shots lists a number twice; remove the copy")
        return shots


class Classification(_Evaluation):
    """How well the network names held-out records: over all, for each class, and for each silo's mix of classes."""

    kind: Literal["classification"] = Field(default="classification", description="held-out records, by class and silo")
    bins: int = Field(default=10, ge=2, le=100, description="groups of confidence that calibration is measured in")


class OwnMeasures(_Evaluation):
    """What a learner of the user's own measures by itself."""

    kind: Literal["own"] = Field(default="own", description="the learner's own measures of held-out records")


EvaluationConfig = Annotated[GeneratedImages | FewShotTasks | Classification | OwnMeasures, Field(discriminator="kind")]
