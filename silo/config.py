"""A silo's own file, silo.yaml: who it is, where its data lies, and what it lets others ask of it."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from siloseal.federation.analytics.config import QueryKind
from siloseal.federation.config.fields import Delta, Host, Name, Port
from siloseal.federation.config.section import Section
from siloseal.federation.job.sections.data import MOST_CLASSES, ArraySource
from siloseal.federation.job.sections.learners import AllowedLearner
from siloseal.federation.job.sections.mechanisms import MechanismKind
from siloseal.federation.job.sections.tables import CsvTables
from siloseal.federation.sums.config import SumKind
from siloseal.federation.sums.plain.plain_sum import PlainSum
from siloseal.federation.transport.config import Metrics, Tls
from siloseal.silo.device_name import DeviceName


class OwnScript(Section):
    """Data that only a script of the silo's own reads, which trains as it likes and averages what it has."""

    kind: Literal["script"] = Field(description="what the silo's own script loads: for jobs of averages alone")


OwnData = Annotated[ArraySource | CsvTables | OwnScript, Field(discriminator="kind")]
"""A silo's own data: images or arrays; a table, whose columns a job names or declares; or what a script loads."""

LARGEST_MESSAGE_MIB = 2047
"""Largest message in MiB: Protobuf reads none of 2 GiB."""


class Policy(Section):
    """The silo's last word. A job that asks for more is refused before it trains, mostly before data are looked at."""

    largest_epsilon: float = Field(
        gt=0,
        le=1000,
        description="the most that all jobs together, past ones included, may cost one example; their releases are "
        "composed, so ten jobs of epsilon 1 cost about 3.5; one that protects tasks, the silo as a whole, or persons "
        "of whom one record counts, counts with what it costs an example: two to two and a half times its epsilon "
        "at usual deltas, more at large ones; siloseal plan prints it",
    )
    largest_delta: Delta = Field(
        description="the delta at which all jobs are counted together; none may have a larger one itself"
    )
    fewest_silos: int = Field(ge=1, description="the fewest silos that a sum may be over")
    secure_sums: tuple[SumKind, ...] = Field(
        min_length=1,
        description="sums for the warm start, phase 1 and queries; under plain the aggregator learns "
        f"{PlainSum.exposure.aggregator_learns}",
    )
    tuning_sums: tuple[SumKind, ...] = Field(
        default=(), description="sums that may carry the tuning rounds; none if not given"
    )
    privacy: tuple[Literal["example_level", "task_level", "silo_level", "none"], ...] = Field(
        min_length=1, description="kinds of privacy; none means no noise and no guarantee"
    )
    mechanisms: tuple[MechanismKind, ...] = Field(
        default=("gaussian_local", "ddg", "skellam", "binomial", "pbm", "pbm_kashin"),
        min_length=1,
        description="noise on sums; gaussian_central trusts the aggregator, which is why it must be named",
    )
    learners: tuple[AllowedLearner, ...] = Field(
        default=(),
        description="what may be learnt from the data, and by whose code: a built-in kind, such as classifier, or code "
        "of your own with its digest, such as classifier:xray:build@sha256:... or "
        "python:mylab.learner:MyLearner@sha256:...; nothing if not given",
    )
    largest_model: int = Field(
        default=0, ge=0, description="the most parameters that the shared model may have; no model if not given"
    )
    queries: tuple[QueryKind, ...] = Field(
        default=(), description="kinds of queries that may be asked of the data; none if not given"
    )
    averages: bool = Field(
        default=False,
        description="whether the silo's own scripts may average what they train; an average opens without noise, so no "
        "largest_epsilon covers it, and jobs with a budget are refused after one",
    )


class Address(Section):
    """Where the aggregator listens."""

    host: Host = Field(description="the aggregator's name, as in its certificate, or its IP address")
    port: Port = Field(description="the aggregator's port")

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Limits(Section):
    """What a silo reads from the aggregator, which is one fixed limit.

    The aggregator knows what it asked for, and bounds a reply by that. A silo does not know what comes next, and a
    request may carry what all other silos said.
    """

    message_mib: int = Field(
        default=1024,
        ge=1,
        le=LARGEST_MESSAGE_MIB,
        description="MiB of the largest request; a larger one is refused before it is read",
    )

    @property
    def message_bytes(self) -> int:
        """The same limit in bytes."""
        return self.message_mib * 2**20


class SiloConfig(Section):
    """One silo. Paths are taken from where the file lies."""

    name: Name = Field(description="the silo's name, as in its certificate and on the roster")
    aggregator: Address = Field(description="whom to dial; nothing dials in")
    tls: Tls = Field(description="certificate, key, authority")
    identity: Path = Field(description="the Ed25519 key that the silo signs with, readable by its owner only")
    roster: Path = Field(description="everyone's public identity keys")
    state: Path = Field(description="the folder of ledgers, checkpoints, replies and audit log; the silo's own")
    data: OwnData = Field(description="the silo's private examples")
    classes: tuple[Annotated[int, Field(ge=0, lt=MOST_CLASSES)], ...] | None = Field(
        default=None, min_length=1, description="the classes that the silo declares, which is public; all if not given"
    )
    device: DeviceName = Field(
        default="auto",
        description="where the silo trains: auto takes a graphics processor where there is one; noise and sampling are "
        "the same on all of them",
    )
    code: Path | None = Field(
        default=None,
        description="the folder of code and weights of your own that jobs name; jobs never carry any; installed "
        "packages are found without it",
    )
    policy: Policy = Field(description="what the silo lets others ask of it")
    limits: Limits = Field(default=Limits(), description="what the silo reads from the aggregator")
    metrics: Metrics | None = Field(default=None, description="a page for Prometheus; off if not given")
