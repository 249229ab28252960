"""A job: one file that says who learns what, from which data, at what privacy, by which sums."""

import hashlib
import json
import math
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from federation.config.data import DataSource, IdxFiles, Iid, PartitionSpec, Sizes
from federation.config.gan import GanConfig
from federation.config.optimizers import OptimizerConfig
from federation.config.section import Section
from federation.config.sums import SecureSumConfig
from federation.errors import DomainError
from federation.plain.plain_sum import PlainSumConfig
from federation.session import RealDomain

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$")]
Steps = Annotated[int, Field(ge=1, le=10_000_000)]
Batch = Annotated[int, Field(ge=1, le=10_000_000)]


class Silos(Section):
    """Who takes part, and what a simulation deals to each."""

    names: tuple[Name, ...] = Field(min_length=1, description="one name a silo: letters, digits, _ and -")
    partition: PartitionSpec = Field(default=Iid(), description="how a simulation deals the data to the silos")
    fewest: int | None = Field(
        default=None,
        ge=1,
        description="a sum goes on without silos that stay silent past their deadline while so many, and "
        "as many as the sum needs, are left; all if not given",
    )

    @model_validator(mode="after")
    def _unique(self) -> Self:
        if len({name.lower() for name in self.names}) != len(self.names):
            raise ValueError("two silos have the same name (upper and lower case count as equal); rename one")
        return self

    def quorum(self, asked: int) -> int:
        """The fewest that a sum of this many may end up with."""
        return asked if self.fewest is None else min(self.fewest, asked)


class ExampleLevel(Section):
    """Differential privacy for every example, over all phases together."""

    kind: Literal["example_level"] = Field(description="each example is protected by noise that its silo adds")
    epsilon: float = Field(gt=0, le=1000, description="the most that all phases together may cost a silo's examples")
    delta: float = Field(gt=0, lt=0.1, description="the probability that epsilon does not hold; below 1 / examples")
    clip_norm: float = Field(
        default=1.0, ge=1e-6, le=1e6, description="each example's gradient is clipped to this L2 norm"
    )
    reserve_steps: int = Field(
        default=0,
        ge=0,
        le=10_000_000,
        description="steps that crashes may throw away, at most 50 each, without the job ending early; paid with noise",
    )


class NoPrivacy(Section):
    """No noise and no guarantee: for measuring what privacy costs, on data that needs none."""

    kind: Literal["none"] = Field(description="privacy is off")


class ColdStart(Section):
    """A common random start. Generators that grow from it average badly."""

    kind: Literal["none"] = Field(description="no warm start: random weights from the job's seed")


class _Fit(Section):
    """How the aggregator fits a generator to a sum of random features."""

    frequencies: int = Field(
        default=2000, ge=2, le=100_000, description="random Fourier frequencies; more is finer and slower"
    )
    length_scale: float = Field(
        default=3.5,
        ge=1e-3,
        le=1e6,
        description="of the kernel, a third of two images' usual distance; 3.5 for MNIST, 1 for 8x8",
    )
    fit_steps: Steps = Field(default=3000, description="steps that the aggregator fits the generator for")
    fit_batch: int = Field(default=200, ge=20, le=100_000, description="generated images a fitting step")
    learning_rate: float = Field(default=1e-2, gt=0, le=1, description="of the fit, at its start")


class PublicStart(_Fit):
    """A generator fitted to public data, without noise."""

    kind: Literal["public"] = Field(description="fit the first generator to a public data set")
    data: DataSource = Field(description="the public data set; same image shape and number of classes as the silos'")


class LeaderStart(Section):
    """One silo's own private generator, which it pays for from its budget."""

    kind: Literal["leader"] = Field(description="one silo trains first, and all start from its generator")
    silo: Name = Field(description="the leader's name")
    steps: Steps = Field(default=1000, description="discriminator steps that the leader takes and pays for")


class KernelMeanStart(_Fit):
    """The noised sum of random features of labelled data: exactly additive, so summing it costs no accuracy."""

    kind: Literal["kernel_mean"] = Field(description="fit the first generator to a noised sum of random features")
    epsilon: float = Field(
        gt=0, le=1000, description="what this one release may cost; part of the job's epsilon, not on top"
    )


WarmStart = Annotated[ColdStart | PublicStart | LeaderStart | KernelMeanStart, Field(discriminator="kind")]


class TwoPhase(Section):
    """Train locally and aggregate once; then tune in cheap rounds."""

    kind: Literal["two_phase"] = Field(description="the two phases of SiloSeal")
    batch: Batch = Field(description="expected examples of a Poisson batch, in both phases")
    local_steps: Steps = Field(description="discriminator steps of each silo before the one aggregation")
    tuning_rounds: int = Field(default=10, ge=0, le=10_000, description="rounds of phase 2; they drift after about 20")
    tuning_steps: Steps = Field(default=10, description="discriminator steps a silo takes in one tuning round")
    tuning_rate: float = Field(
        default=1.0, gt=0, le=1, description="how far a round moves the global model towards the new average"
    )
    tuning_sum: SecureSumConfig = Field(
        default=PlainSumConfig(kind="plain"),
        description="the sum of the tuning rounds, whose updates are private already",
    )

    def crowd(self, silos: int) -> int:
        """How many of them a round asks: all."""
        return silos


class FedAvg(Section):
    """Federated averaging of both networks from the first step, as a baseline (McMahan et al. 2017)."""

    kind: Literal["fedavg"] = Field(description="plain federated averaging")
    rounds: int = Field(ge=1, le=100_000, description="rounds of averaging")
    fraction: float = Field(default=1.0, gt=0, le=1, description="C: the part of the silos that a round asks")
    local_epochs: float = Field(default=1.0, gt=0, le=10_000, description="E: passes over a silo's data in one round")
    batch: Batch = Field(description="B: expected examples of a Poisson batch")

    def crowd(self, silos: int) -> int:
        """How many of them a round asks."""
        return max(1, math.ceil(self.fraction * silos))


class Evaluation(Section):
    """The experimenter's measurements on held-out data. They are outside the guarantee, and nothing flows back."""

    classifiers: tuple[Literal["logistic", "mlp", "cnn"], ...] = Field(
        default=("cnn",), min_length=1, description="trained on generated images only; the first one gives the headline"
    )
    samples: int = Field(default=4000, ge=100, le=1_000_000, description="generated images a measurement")
    silo_alone: bool = Field(
        default=False,
        description="also run the job for each silo alone, a comparison that spends the same epsilon again",
    )


class Job(Section):
    """Everything that the parties of one job agree on. Its digest is part of every request."""

    name: Name = Field(description="names the run folder and the report")
    seed: int = Field(default=0, ge=0, lt=2**31, description="initial weights and data order; never noise")
    data: DataSource = Field(description="where the examples come from")
    silos: Silos = Field(description="who takes part")
    learner: GanConfig = Field(description="what is learnt")
    optimizer: OptimizerConfig = Field(description="how the private network is trained")
    privacy: Annotated[ExampleLevel | NoPrivacy, Field(discriminator="kind")] = Field(description="the guarantee")
    warm_start: WarmStart = Field(description="where the silos start from")
    schedule: Annotated[TwoPhase | FedAvg, Field(discriminator="kind")] = Field(description="the course of the job")
    secure_sum: SecureSumConfig = Field(description="the sum of the warm start and of phase 1")
    largest_silo: int = Field(
        default=100_000, ge=1, le=10**12, description="no silo holds more examples; sizes stay below it"
    )
    largest_weight: float = Field(default=64.0, ge=1, le=1e6, description="no weight of a model is larger in magnitude")
    evaluation: Evaluation = Field(default=Evaluation(), description="what is measured on held-out data")

    @model_validator(mode="after")
    def _agrees_with_itself(self) -> Self:
        partition, names = self.silos.partition, self.silos.names
        if isinstance(partition, Sizes) and len(partition.fractions) != len(names):
            raise ValueError(
                f"silos.partition.fractions are {len(partition.fractions)} for {len(names)} silos; give one each"
            )
        crowd = self.schedule.crowd(len(names))
        sums = [("secure_sum", self.secure_sum, crowd)]
        if isinstance(self.schedule, TwoPhase):
            sums.append(("schedule.tuning_sum", self.schedule.tuning_sum, crowd))
        if isinstance(self.warm_start, KernelMeanStart):  # which asks everyone, whatever a round asks
            sums.append(("secure_sum", self.secure_sum, len(names)))
        if self.silos.fewest is not None and self.silos.fewest > crowd:
            raise ValueError(f"silos.fewest is {self.silos.fewest}, but a sum asks {crowd} silos; lower it")
        for where, config, asks in sums:
            try:
                config.build().admit(RealDomain(1, 1.0), asks)
            except DomainError as error:
                key = "kind" if getattr(config, "threshold", None) is None else "threshold"
                asked = "" if asks == len(names) else f" (a round asks {asks} of {len(names)}: see schedule.fraction)"
                raise ValueError(f"{where}.{key} is {getattr(config, key)!r}, but {error}{asked}") from error
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

    @property
    def digest(self) -> bytes:
        """SHA-256 of the resolved job: two jobs are the same when this is."""
        return hashlib.sha256(json.dumps(self.model_dump(mode="json"), sort_keys=True).encode()).digest()


def _both_mnist(one: DataSource, other: DataSource) -> bool:
    """The embedded images are a part of MNIST's."""
    sources = {one.kind: one, other.kind: other}
    idx = sources.get("idx")
    return "embedded_mnist" in sources and isinstance(idx, IdxFiles) and idx.name == "mnist"
