"""The config of CKKS under an additively shared key."""

from typing import Literal

from pydantic import Field

from siloseal.federation.config.section import Section
from siloseal.federation.sums.ckks.ckks_sum import CkksSum
from siloseal.federation.sums.precision import PrecisionBits
from siloseal.federation.sums.secure_sum import SecureSum


class CkksSumConfig(Section):
    """CKKS under a key that exists only as shares, one a silo, until the key of the sum opens the sum."""

    kind: Literal["ckks"] = Field(
        description="each silo encrypts under its own key share; only the key of the sum is ever put together"
    )
    precision_bits: PrecisionBits = 28
    threshold: int | None = Field(
        default=None,
        ge=2,
        description="silos that stand in for one that dropped out; more than half, two thirds and one if not given",
    )

    def build(self) -> SecureSum:
        """Build the scheme."""
        return CkksSum(self.precision_bits, self.threshold)
