"""The config of additive sharing."""

from typing import Literal

from pydantic import Field

from siloseal.federation.config.section import Section
from siloseal.federation.sums.additive.additive_sum import AdditiveSum
from siloseal.federation.sums.config_fields import PrecisionBits
from siloseal.federation.sums.fixed_point import FixedPointSum
from siloseal.federation.sums.secure_sum import SecureSum


class AdditiveSumConfig(Section):
    """A share of every vector at every silo."""

    kind: Literal["additive"] = Field(description="each silo holds a share of each vector")
    precision_bits: PrecisionBits = 28

    def build(self) -> SecureSum:
        """Build the scheme."""
        return FixedPointSum(AdditiveSum(), self.precision_bits)
