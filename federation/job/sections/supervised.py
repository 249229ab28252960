"""What a job says about a network that is trained on labelled records, and about a learner of the user's own."""

from pathlib import Path
from typing import Annotated, Literal, Self, get_args

from pydantic import Field, JsonValue, model_validator

from siloseal.federation.config.fields import spelled
from siloseal.federation.job.sections.learner_kind import LearnerKind, UserCode

BuiltInNetwork = Literal["logistic", "mlp", "cnn", "resnet", "scattering"]
BUILT_IN_NETWORKS: tuple[str, ...] = get_args(BuiltInNetwork)

_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
TARGET = rf"{_NAME}(\.{_NAME})*:{_NAME}"

DIGEST = r"sha256:[0-9a-f]{64}"

Target = Annotated[
    str,
    Field(max_length=200),
    spelled(
        TARGET,
        "MODULE:NAME, the module as Python imports it and a class in it, such as mylearner:Regression for the class "
        "Regression in mylearner.py",
    ),
]
"""A class of the user's own, as MODULE:NAME."""

Network = Annotated[
    str,
    spelled(
        rf"{'|'.join(BUILT_IN_NETWORKS)}|{TARGET}",
        f"one of {', '.join(BUILT_IN_NETWORKS)}; or a function of your own as MODULE:NAME, such as xray:build for the "
        "function build in xray.py",
    ),
]
"""A network that is built in, by its name; or a function of the user's own, as MODULE:NAME."""

SourceDigest = Annotated[
    str, spelled(DIGEST, "sha256: and 64 hexadecimal digits, 0-9 and a-f, as `siloseal digest` prints them")
]

_SOURCE = (
    "the digest of the code that {} names, as `siloseal digest` prints it; a deployment needs it, so that every silo "
    "runs the code that it agreed to; in a simulation it may be left out"
)
_PATTERNS = "names of parameters, * standing for any part of a name, such as body.*"
Patterns = tuple[Annotated[str, Field(min_length=1, max_length=200)], ...]


class OfLabelledRows(LearnerKind):
    """A learner of labelled examples of any shape."""

    of_images = False
    one_output_a_class = True
    coarsest = 2.0**-10
    warm_starts = ("none", "leader")


class ClassifierConfig(OfLabelledRows):
    """A network with one output a class, trained on the silos' own labelled records."""

    measured_as = "classification"

    kind: Literal["classifier"] = Field(description="a classifier of the silos' records")
    model: Network = Field(
        description=f"the network: {', '.join(BUILT_IN_NETWORKS)}, the last being a linear layer on fixed wavelet "
        "features, which learns images best under noise; or a function of your own, MODULE:NAME, which takes "
        "the shape of one example and the number of classes and returns a torch module",
    )
    source: SourceDigest | None = Field(default=None, description=_SOURCE.format("model"))
    frozen: Patterns = Field(
        default=(), description=f"parameters that keep their first weights and are never sent: {_PATTERNS}"
    )
    local: Patterns = Field(
        default=(), description=f"parameters that every silo trains for itself and never sends: {_PATTERNS}"
    )
    average_decay: float = Field(
        default=0.0,
        ge=0,
        lt=1,
        description="how slowly the averaged network, the one that is shared, follows the trained one; 0 shares the "
        "trained one; 0.9 or so takes out much of the noise of private steps",
    )
    batch_norm: Literal["refuse", "group_norm"] = Field(
        default="refuse",
        description="what to do with batch norm, which mixes the examples of a batch: refuse the network, or replace "
        "each by a group norm",
    )
    weights: Path | None = Field(
        default=None,
        description="a safetensors file with the network's first weights, of public origin; every party has its own "
        "copy; in a deployment a path inside each party's folder `code`; in a simulation it may hold environment "
        "variables, ${NAME}",
    )
    weights_source: SourceDigest | None = Field(
        default=None,
        description="the digest of the file of weights, as `siloseal digest` prints it; a deployment needs it",
    )

    @model_validator(mode="after")
    def _digests_are_of_something(self) -> Self:
        if self.source is not None and self.code is None:
            raise ValueError(
                f"source is the digest of code of your own, but model is {self.model}, which is built in; remove "
                "source, or name your own function as model, MODULE:NAME"
            )
        if self.weights_source is not None and self.weights is None:
            raise ValueError(
                "weights_source is the digest of a file of weights, but weights names none; name the file as weights, "
                "or remove weights_source"
            )
        return self

    @property
    def personal(self) -> bool:
        return bool(self.local)

    @property
    def code(self) -> UserCode | None:
        return None if self.model in BUILT_IN_NETWORKS else UserCode(self.kind, self.model, self.source)


class PythonConfig(OfLabelledRows):
    """A learner of the user's own: a class with the `Learner` protocol."""

    measured_as = "own"

    kind: Literal["python"] = Field(description="a learner of your own")
    target: Target = Field(description="the learner's class, MODULE:NAME; docs/own-learner.md has a template")
    source: SourceDigest | None = Field(default=None, description=_SOURCE.format("target"))
    options: dict[str, JsonValue] = Field(default={}, description="settings that the class is made with, by name")

    @property
    def code(self) -> UserCode:
        return UserCode(self.kind, self.target, self.source)
