"""What a job says about its few-shot learner: the network, the training tasks, and how a task is learnt."""

from typing import Literal

from pydantic import Field

from siloseal.federation.job.sections.learner_kind import LearnerKind


class FewShot(LearnerKind):
    """What all few-shot learners have."""

    of_images = True
    measured_as = "few_shot"
    one_output_a_class = False
    coarsest = 2.0**-10  # the smallest weights, those of gates, begin at a hundredth
    warm_starts = ("none", "leader")

    kind: str
    filters: int = Field(default=32, ge=4, le=512, multiple_of=4, description="channels of each convolutional block")
    average_decay: float = Field(
        default=0.0,
        ge=0,
        lt=1,
        description="how slowly the averaged model, the one that is shared, follows the trained one; 0 shares the "
        "trained one; 0.98 or so takes out much of the noise of private steps",
    )


class Episodic(FewShot):
    """A learner that is trained on tasks: the unit of its privacy is one of them."""

    units = "tasks"

    ways: int = Field(default=5, ge=2, le=1000, description="classes of a training task")
    shots: int = Field(default=1, ge=1, le=1000, description="labelled images in a class that a task is learnt from")
    queries: int = Field(
        default=5,
        ge=1,
        le=1000,
        description="images in a class that a learnt task is tried on; fixed tasks have that many on average",
    )
    episodes: Literal["fixed", "fresh"] = Field(
        default="fixed",
        description="fixed: each image is in one training task for good, which is what task-level privacy counts; "
        "fresh: tasks are drawn anew from all images, which no accounting covers, so privacy.kind must be none",
    )
    mirror: bool = Field(
        default=False, description="turn each image of a task left to right at random, where a class stays what it is"
    )

    @property
    def task_images(self) -> int:
        """Number of images of one class in one task."""
        return self.shots + self.queries

    @property
    def examples_a_unit(self) -> int:
        return self.ways * self.task_images


Network = Literal["conv4", "wavelets", "wavelets_conv"]
_NETWORK = (
    "conv4: four convolutional blocks; wavelets: fixed wavelet features with a small learnt mixture, for images too "
    "few to learn features from with noise; wavelets_conv: two convolutional blocks on wavelet maps, for few images "
    "without noise"
)


class ProtonetConfig(Episodic):
    """Prototypical networks (Snell, Swersky and Zemel 2017): a class is the mean of its embedded images."""

    kind: Literal["protonet"] = Field(description="prototypical networks")
    network: Network = Field(default="conv4", description=_NETWORK)


class InnerLoop(Episodic):
    """A learner whose model takes steps of gradient descent on a task."""

    inner_steps: int = Field(default=5, ge=1, le=1000, description="steps on a task's labelled images")
    inner_rate: float = Field(default=0.01, gt=0, lt=1, description="the step size in a task; meta_lstm's first one")


class ReptileConfig(InnerLoop):
    """Reptile (Nichol, Achiam and Schulman 2018): move the initialisation to where tasks end up."""

    kind: Literal["reptile"] = Field(description="reptile")
    inner_steps: int = Field(
        default=5, ge=2, le=1000, description="steps on a task's images; the first moves the layer for its classes only"
    )


class MetaLstmConfig(InnerLoop):
    """The LSTM meta-learner (Ravi and Larochelle 2017): it learns the initialisation and the update rule."""

    kind: Literal["meta_lstm"] = Field(description="the LSTM meta-learner")
    hidden: int = Field(default=20, ge=1, le=1000, description="units of the LSTM that reads a coordinate's gradients")


class EmbeddingConfig(FewShot):
    """A classifier whose features are kept, compared by nearest centroid: each example is protected on its own."""

    kind: Literal["embedding"] = Field(description="a supervised embedding; a silo's own classes stay with it")
    network: Network = Field(default="conv4", description=_NETWORK)
