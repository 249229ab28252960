"""The configs of SecAgg and SecAgg+."""

from typing import Literal

from pydantic import Field

from siloseal.federation.config.section import Section
from siloseal.federation.sums.config_fields import PrecisionBits, Threshold
from siloseal.federation.sums.fixed_point import FixedPointSum
from siloseal.federation.sums.secagg.secagg_sum import RandomRing, SecAggSum
from siloseal.federation.sums.secure_sum import SecureSum


class SecAggConfig(Section):
    """Masks between all silos."""

    kind: Literal["secagg"] = Field(description="masks between all silos, which cancel in the sum")
    precision_bits: PrecisionBits = 28
    threshold: Threshold = None

    def build(self) -> SecureSum:
        """Build the scheme."""
        return FixedPointSum(SecAggSum(self.threshold), self.precision_bits)


class SecAggPlusConfig(Section):
    """Masks between neighbours on a random ring."""

    kind: Literal["secagg_plus"] = Field(
        description="masks between neighbours on a random ring, for a hundred silos or more; between all below that"
    )
    precision_bits: PrecisionBits = 28
    security_bits: int = Field(
        default=40, ge=40, le=128, description="sigma: the ring fails to hide with probability 2^-sigma"
    )
    correctness_bits: int = Field(
        default=30, ge=10, le=128, description="eta: the sum fails to open with probability 2^-eta"
    )
    corrupt: float = Field(default=0.05, ge=0, lt=1 / 3, description="gamma: the share of silos that may collude")
    dropout: float = Field(default=0.05, ge=0, lt=1 / 2, description="delta: the share of silos that may drop out")

    def build(self) -> SecureSum:
        """Build the scheme."""
        ring = RandomRing(self.security_bits, self.correctness_bits, self.corrupt, self.dropout)
        return FixedPointSum(SecAggSum(ring=ring), self.precision_bits)
