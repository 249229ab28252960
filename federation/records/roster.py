"""Everyone's public identity keys, as one file that every member of a consortium has."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, model_validator

from siloseal.federation.config.fields import Name
from siloseal.federation.config.loading import load_config
from siloseal.federation.config.section import Section
from siloseal.federation.errors import ConfigError
from siloseal.federation.records.identity import KEY_BYTES


class Roster(Section):
    """The content of roster.yaml."""

    consortium: Name = Field(description="the consortium's name")
    identities: dict[Name, Annotated[str, Field(pattern=rf"^[0-9a-f]{{{2 * KEY_BYTES}}}$")]] = Field(
        min_length=1, description="each silo's Ed25519 public key, as hexadecimal digits"
    )
    keys_made_by_authority: tuple[Name, ...] | None = Field(
        default=None,
        description="silos whose private keys the authority made; the others made their own; not known if not given",
    )

    @model_validator(mode="after")
    def _one_key_each(self) -> Self:
        if len(set(self.identities.values())) != len(self.identities):
            raise ValueError("two silos have the same identity key, and would be one; provision each with its own")
        if strangers := set(self.keys_made_by_authority or ()) - set(self.identities):
            raise ValueError(
                f"keys_made_by_authority has {', '.join(sorted(strangers))}, who have no key in identities; provision "
                "again"
            )
        return self

    @property
    def keys(self) -> Mapping[str, bytes]:
        """The public identity keys as bytes, by silo."""
        return {name: bytes.fromhex(key) for name, key in self.identities.items()}

    @property
    def warning(self) -> str:
        """A warning of who could sign in a silo's name, for kits and reports; empty where every silo made its keys."""
        made = self.keys_made_by_authority
        if made is None:
            return (
                "The roster does not say who made the silos' identity keys. If the authority made them, whoever holds "
                "the authority can pose as every silo."
            )
        if set(made) == set(self.identities):
            return (
                "The authority made the identity keys of all silos: whoever holds the authority can pose as every silo."
            )
        if made:
            return (
                f"The authority made the identity keys of {', '.join(made)}: whoever holds the authority can pose as "
                "each of them."
            )
        return ""


def read_roster(path: Path) -> Roster:
    """The roster in this file, or `ConfigError`."""
    if not path.exists():
        raise ConfigError(
            f"{path} is not there. `siloseal provision` makes it once every silo's request has come, with the kits "
            "that it belongs to: provision again if some were missing, and put the whole kit here"
        )
    return load_config(Roster, path)
