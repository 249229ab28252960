"""The config of the plain sum."""

from typing import Literal

from pydantic import Field

from siloseal.federation.config.section import Section
from siloseal.federation.sums.plain.plain_sum import PlainSum
from siloseal.federation.sums.secure_sum import SecureSum


class PlainSumConfig(Section):
    """The plain sum: vectors travel in clear."""

    kind: Literal["plain"] = Field(description="every silo sends its vector in clear")

    def build(self) -> SecureSum:
        """Build the scheme."""
        return PlainSum()
