"""A job: one file that says who learns what, from which data, at what privacy, by which sums."""

from typing import Any, Self

from pydantic import Field, model_validator

from siloseal.federation.config.fields import Name
from siloseal.federation.config.section import Section
from siloseal.federation.errors import DomainError
from siloseal.federation.job.phase_sums import phase_sums
from siloseal.federation.job.sections.data import DataSource, IdxFiles
from siloseal.federation.job.sections.evaluation import EvaluationConfig, GeneratedImages
from siloseal.federation.job.sections.fitting_noise import require_fitting_noise
from siloseal.federation.job.sections.fitting_partition import require_fitting_training_partition
from siloseal.federation.job.sections.gan import GanConfig
from siloseal.federation.job.sections.learner_kind import LearnerKind
from siloseal.federation.job.sections.learners import MEASURED_AS, LearnerConfig, require_fitting_learner
from siloseal.federation.job.sections.mechanisms import (
    Binomial,
    Ddg,
    GaussianCentral,
    GaussianLocal,
    MechanismConfig,
    NoNoise,
    Pbm,
    PbmKashin,
    Skellam,
)
from siloseal.federation.job.sections.optimizers import OptimizerConfig
from siloseal.federation.job.sections.privacy import ExampleLevel, NoPrivacy, PrivacyConfig
from siloseal.federation.job.sections.schedule import ScheduleConfig, TwoPhase
from siloseal.federation.job.sections.silos import Silos
from siloseal.federation.job.sections.warm_start import KernelMeanStart, LeaderStart, PublicStart, WarmStart
from siloseal.federation.sums.config import SecureSumConfig
from siloseal.federation.sums.session import RealDomain


class Job(Section):
    """Everything that the parties of one job agree on. Its digest is part of every request.

    >>> job = siloseal.load_job("job.yaml")
    >>> job.privacy.kind, job.privacy.epsilon, job.secure_sum.kind
    ('example_level', 10.0, 'plain')
    """

    name: Name = Field(description="names the run folder and the report")
    seed: int = Field(default=0, ge=0, lt=2**31, description="initial weights and data order; never noise")
    data: DataSource = Field(description="where the examples come from")
    silos: Silos = Field(description="who takes part")
    learner: LearnerConfig = Field(description="what is learnt")
    optimizer: OptimizerConfig = Field(description="how the private network is trained")
    privacy: PrivacyConfig = Field(description="the guarantee")
    mechanism: MechanismConfig | None = Field(
        default=None,
        description="the noise on sums that need one: the kernel mean, and updates under silo_level; if not given, "
        "each silo noises its kernel mean alone",
    )
    warm_start: WarmStart = Field(description="where the silos start from")
    schedule: ScheduleConfig = Field(description="the course of the job")
    secure_sum: SecureSumConfig = Field(description="the sum of the warm start and of phase 1")
    largest_silo: int = Field(
        default=100_000, ge=1, le=10**12, description="no silo holds more examples; sizes stay below it"
    )
    largest_weight: float = Field(default=64.0, ge=1, le=1e6, description="no weight of a model is larger in magnitude")
    evaluation: EvaluationConfig = Field(
        default=GeneratedImages(), description="what is measured on held-out data; if not given, what fits the learner"
    )

    @property
    def noise(self) -> Ddg | Skellam | Binomial | Pbm | PbmKashin | GaussianLocal | GaussianCentral | NoNoise:
        """The mechanism, whether the file names it or not."""
        if self.mechanism is not None:
            return self.mechanism
        return NoNoise() if isinstance(self.privacy, NoPrivacy) else GaussianLocal()

    @property
    def units(self) -> str:
        """What privacy and sizes are counted in, as a word."""
        return self.learner.units

    @property
    def examples_a_unit(self) -> int:
        """Number of examples of one unit of privacy."""
        return self.learner.examples_a_unit

    @model_validator(mode="before")
    @classmethod
    def _measured_as_fits_the_learner(cls, values: Any) -> Any:
        """A file need not say how its model is measured: the kind of its learner does."""
        match values:
            case {"learner": {"kind": str(kind)} | LearnerKind(kind=kind), **others} if kind in MEASURED_AS:
                found = others.get("evaluation", {})
                if isinstance(found, dict):
                    return {**values, "evaluation": {"kind": MEASURED_AS[kind], **found}}
        return values

    @model_validator(mode="before")
    @classmethod
    def _tables_of_a_folder_are_not_dealt(cls, values: Any) -> Any:
        """A file need not say that each silo has the table with its name: `data.folder` of tables does."""
        match values:
            case {"data": {"kind": "csv", "folder": _} as data, "silos": {**silos}} if "partition" not in silos:
                if data["folder"] is not None:
                    return {**values, "silos": {**silos, "partition": {"kind": "files"}}}
        return values

    @model_validator(mode="after")
    def _sums_admit_their_silos(self) -> Self:
        """The first check of the job as a whole: later ones ask the sums how many silos must stay, and may collude."""
        silos, participants = len(self.silos.names), self.schedule.participant_count(len(self.silos.names))
        if self.silos.fewest is not None and self.silos.fewest > participants:
            raise ValueError(f"silos.fewest is {self.silos.fewest}, but a sum asks {participants} silos; lower it")
        for found in phase_sums(self):
            try:
                found.config.build().admit(RealDomain(1, 1.0), found.asked)
            except DomainError as error:
                key = "kind" if getattr(found.config, "threshold", None) is None else "threshold"
                part = f" (a round asks {found.asked} of {silos}: see schedule.fraction)" * (found.asked != silos)
                raise ValueError(
                    f"{found.section}.{key} is {getattr(found.config, key)!r}, but {error}{part}"
                ) from error
        return self

    @model_validator(mode="after")
    def _learner_fits(self) -> Self:
        require_fitting_learner(self)
        return self

    @model_validator(mode="after")
    def _noise_fits_the_guarantee(self) -> Self:
        require_fitting_noise(self)
        return self

    @model_validator(mode="after")
    def _agrees_with_itself(self) -> Self:
        require_fitting_training_partition(self.silos, self.data)
        if self.optimizer.proximal and isinstance(self.learner, GanConfig) and isinstance(self.schedule, TwoPhase):
            raise ValueError(
                f"optimizer.proximal is {self.optimizer.proximal:g}, but what a gan trains on data, its discriminator, "
                "stays with each silo under schedule.kind two_phase, so that there is no common one to stay near; set "
                "it to 0, or choose schedule.kind fedavg, which shares both networks"
            )
        match self.warm_start:
            case PublicStart(data=data) if data.origin == self.data.origin or _both_mnist(data, self.data):
                raise ValueError(
                    "warm_start.data is the silos' own data, which is not public: it would be used without noise and "
                    "without a charge; name another data set"
                )
            case LeaderStart(silo=leader) if leader not in self.silos.names:
                raise ValueError(f"warm_start.silo is {leader!r}, but silos.names are {', '.join(self.silos.names)}")
            case KernelMeanStart(epsilon=epsilon) if isinstance(self.privacy, ExampleLevel):
                if epsilon >= self.privacy.epsilon:
                    raise ValueError(
                        f"warm_start.epsilon is {epsilon:g}, but it is a part of privacy.epsilon, which is "
                        f"{self.privacy.epsilon:g}; leave some for the training"
                    )
        return self


def _both_mnist(one: DataSource, other: DataSource) -> bool:
    """Whether both are MNIST: the embedded images are a part of MNIST's."""
    sources = {one.kind: one, other.kind: other}
    idx = sources.get("idx")
    return "embedded_mnist" in sources and isinstance(idx, IdxFiles) and idx.name == "mnist"
