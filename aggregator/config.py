"""The aggregator's own file, aggregator.yaml."""

from pathlib import Path
from typing import Any

from pydantic import Field, model_validator

from siloseal.federation.config.fields import Host, Port
from siloseal.federation.config.section import Section
from siloseal.federation.transport.config import Metrics, Tls


class Deadlines(Section):
    """Minutes after which a silent silo counts as gone, if the job can do without it; else the aggregator waits on."""

    training_minutes: float = Field(
        default=24 * 60,
        gt=0,
        le=60 * 24 * 365,
        description="minutes for local training, the slowest thing that a silo is asked for",
    )
    message_minutes: float = Field(default=30, gt=0, le=60 * 24 * 365, description="minutes for everything else")


class AggregatorConfig(Section):
    """One run of one job, served to the silos that dial in."""

    host: Host = Field(default="0.0.0.0", description="the address to listen at")  # noqa: S104 (silos are elsewhere)
    port: Port = Field(description="the port that silos dial")
    job: Path = Field(description="the job's YAML file")
    roster: Path = Field(default=Path("roster.yaml"), description="everyone's public identity keys, and who made them")
    tls: Tls = Field(description="certificate, key, authority")
    revoked: Path = Field(description="the authority's list of revoked certificates, PEM; read again when it changes")
    state: Path = Field(description="the folder of journal, audit log and models; the same one continues the run")
    code: Path | None = Field(
        default=None,
        description="the folder of code and weights of your own that the job names, if it names any: the aggregator "
        "builds the first model; installed packages are found without it",
    )
    deadlines: Deadlines = Field(default=Deadlines(), description="when a silent silo counts as gone")
    metrics: Metrics | None = Field(default=None, description="a page for Prometheus; off if not given")

    @model_validator(mode="before")
    @classmethod
    def _refuse_limits(cls, values: Any) -> Any:
        """Kits of earlier versions set a limit here, and their files are their owners' and stay as they are."""
        if isinstance(values, dict) and "limits" in values:
            raise ValueError(
                "limits is not set here any more: a reply is bounded by what its request can need; remove these lines"
            )
        return values
