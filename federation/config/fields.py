"""Kinds of fields that several sections have."""

from typing import Annotated

from pydantic import Field

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$")]
Host = Annotated[str, Field(pattern=r"^[A-Za-z0-9]([A-Za-z0-9.:-]{0,252}[A-Za-z0-9])?$|^::1?$")]
Port = Annotated[int, Field(ge=1, le=65535)]
Steps = Annotated[int, Field(ge=1, le=10_000_000)]
Batch = Annotated[int, Field(ge=1, le=10_000_000)]
