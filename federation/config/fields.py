"""Kinds of fields that several sections have."""

from typing import Annotated

from pydantic import AfterValidator, Field


def _require_printable(text: str) -> str:
    if not text.isprintable():
        raise ValueError(f"found {text!r}, expected printable characters only: reports and terminals show this text")
    return text


Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$")]
Printable = Annotated[str, AfterValidator(_require_printable)]
"""Text without line breaks and other characters that a terminal or a page would obey."""
Host = Annotated[str, Field(pattern=r"^[A-Za-z0-9]([A-Za-z0-9.:-]{0,252}[A-Za-z0-9])?$|^::1?$")]
Port = Annotated[int, Field(ge=1, le=65535)]
Steps = Annotated[int, Field(ge=1, le=10_000_000)]
Batch = Annotated[int, Field(ge=1, le=10_000_000)]
