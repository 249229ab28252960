"""The config of CKKS under an additively shared key."""

from typing import Literal

from pydantic import Field

from siloseal.federation.config.section import Section
from siloseal.federation.sums.ckks.ckks_sum import CkksSum
from siloseal.federation.sums.config_fields import PrecisionBits, Threshold
from siloseal.federation.sums.secure_sum import SecureSum


class CkksSumConfig(Section):
    """CKKS under a key that exists only as shares, one a silo, until the key of the sum opens the sum."""

    kind: Literal["ckks"] = Field(
        description="each silo encrypts under its own key share; only the key of the sum is ever put together"
    )
    precision_bits: PrecisionBits = 28
    threshold: Threshold = None

    def build(self) -> SecureSum:
        """Build the scheme."""
        return CkksSum(self.precision_bits, self.threshold)
