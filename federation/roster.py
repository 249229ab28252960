"""Everyone's public identity keys, as one file that every member of a consortium has."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, model_validator

from federation.config.fields import Name
from federation.config.loading import load_config
from federation.config.section import Section
from federation.identity import KEY_BYTES


class Roster(Section):
    """roster.yaml."""

    consortium: Name = Field(description="the consortium's name")
    identities: dict[Name, Annotated[str, Field(pattern=rf"^[0-9a-f]{{{2 * KEY_BYTES}}}$")]] = Field(
        min_length=1, description="each silo's Ed25519 public key, as hexadecimal digits"
    )

    @model_validator(mode="after")
    def _one_key_each(self) -> Self:
        if len(set(self.identities.values())) != len(self.identities):
            raise ValueError("two silos have the same identity key, and would be one; provision each with its own")
        return self

    @property
    def keys(self) -> Mapping[str, bytes]:
        """As bytes."""
        return {name: bytes.fromhex(key) for name, key in self.identities.items()}


def read_roster(path: Path) -> Roster:
    """The roster in this file, or `ConfigError`."""
    return load_config(Roster, path)
