"""The consortium's file, consortium.yaml: who takes part, where the aggregator listens, what kits begin with."""

from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from siloseal.federation.analytics.any_job import load_any_job
from siloseal.federation.config.fields import Host, Name, Port
from siloseal.federation.config.loading import load_config
from siloseal.federation.config.section import Section
from siloseal.federation.errors import ConfigError
from siloseal.federation.job.sections.data import MOST_CLASSES
from siloseal.federation.transport.config import Tls
from siloseal.silo.config import Address, OwnData, Policy
from siloseal.silo.data.paths import expand

RESERVED = ("authority", "aggregator", "operator")
"""Folders of the kits that are no silo's."""
REQUESTS = "requests"
"""Folder beside the consortium's file, where requests are expected."""
MOST_DAYS = 3650


class Listener(Section):
    """The aggregator, as silos dial it and as it listens."""

    host: Host = Field(description="the name or IP address that silos dial; it stands in the aggregator's certificate")
    port: Port = Field(description="the port that silos dial")
    listen: Host = Field(default="0.0.0.0", description="the address to listen at")  # noqa: S104 (silos are elsewhere)

    @model_validator(mode="after")
    def _host_has_no_port(self) -> Self:
        try:
            ip_address(self.host)
        except ValueError:
            if ":" in self.host:
                raise ValueError(
                    f"host is {self.host}, expected a name or an address; the port has its own line"
                ) from None
        return self


class Member(Section):
    """One silo."""

    name: Name = Field(description="the silo's name, as in the job")
    data: OwnData = Field(description="what its silo.yaml begins with; paths are those of the silo's machine")
    classes: tuple[Annotated[int, Field(ge=0, lt=MOST_CLASSES)], ...] | None = Field(
        default=None, min_length=1, description="the classes that the silo declares, which is public; all if not given"
    )
    request: Path | None = Field(
        default=None,
        description="where the authority puts what the silo made with `siloseal provision request`; requests/NAME.yaml "
        "if not given",
    )


class Consortium(Section):
    """Who learns together. Paths are taken from where the file lies."""

    name: Name = Field(description="the consortium's name, which stands in every certificate")
    aggregator: Listener = Field(description="where silos find the aggregator")
    job: Path = Field(description="the job's YAML file")
    valid_days: int = Field(default=365, ge=1, le=MOST_DAYS, description="how long certificates are valid")
    keys: Literal["made_at_silos", "made_by_authority"] = Field(
        default="made_at_silos",
        description="who makes the keys of silos whose requests are not there; an authority that does can pose as "
        "every such silo",
    )
    policy: Policy = Field(description="what the silos' policies begin with; each silo may narrow its own")
    silos: tuple[Member, ...] = Field(min_length=1, description="who takes part")

    @model_validator(mode="after")
    def _one_folder_each(self) -> Self:
        names = [member.name.lower() for member in self.silos]
        if doubles := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"silos has {', '.join(doubles)} twice (upper and lower case count as equal); rename one")
        if taken := sorted(set(names) & set(RESERVED)):
            raise ValueError(
                f"silos has {', '.join(taken)}, which is the name of another folder of the kits; rename it"
            )
        return self


class OperatorConfig(Section):
    """The operator's file, operator.yaml. An operator's certificate may ask for the status, and nothing else."""

    aggregator: Address = Field(description="whom to ask")
    tls: Tls = Field(description="certificate, key, authority")


def read_consortium(path: Path) -> Consortium:
    """The consortium in this file, with its paths placed and its silos those of its job; or `ConfigError`.

    A silo that makes its own keys then has a `request`, whether the file names its place or not; the others have none.
    """
    consortium = load_config(Consortium, path)
    silos = tuple(_with_its_request(member, consortium, path.parent) for member in consortium.silos)
    consortium = consortium.model_copy(update={"job": path.parent / expand(consortium.job), "silos": silos})
    jobs, ours = set(load_any_job(consortium.job).silos.names), {member.name for member in silos}
    if jobs != ours:
        raise ConfigError(
            f"{path}: its silos are not those of {consortium.job}: only the job has {_listed(jobs - ours)}, only the "
            f"consortium has {_listed(ours - jobs)}; name the same in both"
        )
    return consortium


def _with_its_request(member: Member, consortium: Consortium, folder: Path) -> Member:
    """The member with the path of its request. A request that is there counts, whoever makes the others' keys."""
    place = folder / expand(member.request or Path(REQUESTS) / f"{member.name}.yaml")
    if member.request is None and consortium.keys == "made_by_authority" and not place.exists():
        return member
    return member.model_copy(update={"request": place})


def _listed(names: set[str]) -> str:
    return ", ".join(sorted(names)) or "none"
