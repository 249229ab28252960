"""Requests of silos that make their own keys: those that are here, and those that the authority waits for."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from siloseal.federation.errors import ConfigError
from siloseal.federation.transport.pki.authority import Authority
from siloseal.provisioning.consortium import Consortium, Member
from siloseal.provisioning.credentials import standing
from siloseal.provisioning.request import IDENTITY_KEY, REQUEST, TLS_KEY, Request, read_request

Requests = Mapping[str, Request]


def read_requests(consortium: Consortium) -> dict[str, Request]:
    """The requests that are here, by silo, each with its signatures checked; or `ConfigError`."""
    return {
        member.name: read_request(member.request, member.name)
        for member in consortium.silos
        if member.request is not None and member.request.exists()
    }


def awaited(consortium: Consortium, requests: Requests) -> list[Member]:
    """The silos that make their own keys and whose requests are not here yet."""
    return [member for member in consortium.silos if member.request is not None and member.name not in requests]


def require_new(members: Sequence[Member], authority: Authority, out: Path) -> None:
    """`ConfigError` where an awaited silo has had a kit already: earlier versions made keys without being asked to."""
    for member in members:
        here = [key for key in (TLS_KEY, IDENTITY_KEY) if (out / member.name / key).exists()]
        if here or standing(authority, member.name):
            raise ConfigError(
                f"{member.name} has {'keys that the authority made' if here else 'a certificate'} in {out}, but no "
                f"request of it is at {member.request}. If {member.name} made its keys itself, put its request there. "
                "If the authority made them, write `keys: made_by_authority` into the consortium's file to go on with "
                f"them; or have {member.name} send a request, and remove {TLS_KEY} and {IDENTITY_KEY} from "
                f"{out / member.name}"
            )


def what_to_do(members: Sequence[Member], config: Path, out: Path) -> list[str]:
    """The lines that tell a person which silos are waited for."""
    if not members:
        return []
    names = ", ".join(member.name for member in members)
    return [
        f"waiting for the requests of {names}: every silo makes its own keys, and until all requests are here no silo "
        "gets a kit",
        *(
            f"  {member.name} runs `siloseal provision request --name {member.name} --out {member.name}` and sends "
            f"{member.name}/{REQUEST}; put it at {member.request}"
            for member in members
        ),
        f"then run `siloseal provision {config} --out {out}` again",
        f"only where one person is everyone, write `keys: made_by_authority` into {config} instead: whoever holds the "
        "authority can then pose as every silo",
    ]
