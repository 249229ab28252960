"""`siloseal provision`: the kits of a consortium, requests, renewals and revocations."""

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

DEFAULT = "kits"


class KitsByDefault(TyperGroup):
    """A group of commands. What follows `provision` is the consortium's file, unless it is the name of a command."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in (*self.commands, "--help"):
            args = [DEFAULT, *args]
        return super().parse_args(ctx, args)


provision_app = typer.Typer(
    cls=KitsByDefault,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    subcommand_metavar="CONFIG [--out DIR] | COMMAND [ARGS]...",
    help="""Make a folder for each party of a consortium: certificates, keys, configs and what to do first.

**Start here:** copy `configs/consortium.yaml`, then `siloseal provision CONFIG`: it says which silos' requests it waits
for. Each silo makes its own keys with `siloseal provision request`. Again, it adds what is new and keeps every key.""",
)

Kits = Annotated[Path, typer.Option(help="The folder that `siloseal provision CONFIG --out` wrote.")]
Bearer = Annotated[str, typer.Argument(help="A silo's name, or aggregator, or operator.", metavar="NAME")]


@provision_app.command(DEFAULT)
def kits_(
    config: Annotated[Path, typer.Argument(help="The consortium's YAML file; see configs/.", metavar="CONFIG")],
    out: Annotated[Path, typer.Option(help="The folder of the kits.")] = Path("kits"),
) -> None:
    """Make all kits, or bring them up to date, or say which requests are missing. The word `kits` may be left out."""
    from siloseal.provisioning.kits import provision

    print("\n".join(provision(config, out)))


@provision_app.command()
def request(
    name: Annotated[str, typer.Option(help="The silo's name, as in the consortium's file.")],
    out: Annotated[Path, typer.Option(help="The folder for the new keys and request.yaml.")],
) -> None:
    """Make a silo's keys, which never leave it, and the request that the authority makes its kit for."""
    from siloseal.provisioning.request import REQUEST, make_request

    fingerprint = make_request(name, out).fingerprint
    print(f"{out}/: made silo.key and identity.key, which nobody else needs to see, and {REQUEST}")
    print(f"send {out / REQUEST} to the authority; when it makes the kit it should read to you: {fingerprint}")


@provision_app.command()
def renew(
    name: Bearer,
    kits: Kits = Path("kits"),
    valid_days: Annotated[
        int | None,
        typer.Option(
            min=1, max=3650, help="Days that the new certificate is valid. By default as many as the last one."
        ),
    ] = None,
) -> None:
    """Issue a new certificate for the same key."""
    from siloseal.provisioning import renewal

    print("\n".join(renewal.renew(name, kits, valid_days)))


@provision_app.command()
def revoke(
    name: Bearer,
    kits: Kits = Path("kits"),
    serial: Annotated[
        str | None, typer.Option(help="Only the certificate with this serial number.", metavar="HEX")
    ] = None,
) -> None:
    """Take back every certificate of a party, or one of them, for good."""
    from siloseal.provisioning import renewal

    print("\n".join(renewal.revoke(name, kits, serial)))
