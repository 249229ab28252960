"""The config of the secure-sum game."""

from typing import Literal

from pydantic import Field

from siloseal.federation.config.section import Section
from siloseal.federation.sums.config_fields import PrecisionBits
from siloseal.federation.sums.fixed_point import FixedPointSum
from siloseal.federation.sums.ring.ring_sum import RingSum
from siloseal.federation.sums.secure_sum import SecureSum


class RingSumConfig(Section):
    """A total that goes round."""

    kind: Literal["ring"] = Field(description="a masked total goes from silo to silo; for teaching")
    precision_bits: PrecisionBits = 28

    def build(self) -> SecureSum:
        """Build the scheme."""
        return FixedPointSum(RingSum(), self.precision_bits)
