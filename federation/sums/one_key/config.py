"""The configs of the sums under one key that all silos hold."""

from typing import Literal

from pydantic import Field

from siloseal.federation.config.section import Section
from siloseal.federation.sums.config_fields import PrecisionBits
from siloseal.federation.sums.one_key.one_key_sum import FixedPointPaillier, PaillierSum, StockCkksSum
from siloseal.federation.sums.secure_sum import SecureSum


class PaillierSumConfig(Section):
    """Batched Paillier, as BatchCrypt (Zhang et al. 2020) has it.

    BatchCrypt rounds to 16 bits. A model travels here scaled by its silo's share of largest_silo, which costs a silo of
    500 examples eight bits by default: the shipped job on digits refuses 16. With 24 its weights are off by 4e-4.
    """

    kind: Literal["paillier"] = Field(description="for comparison: batched Paillier, under one key that all silos hold")
    precision_bits: PrecisionBits = 24
    key_bits: Literal[2048, 3072] = Field(
        default=2048, description="bits of the modulus: 2048 for 112 bits of security, 3072 for 128"
    )

    def build(self) -> SecureSum:
        """Build the scheme."""
        return FixedPointPaillier(PaillierSum(self.key_bits), self.precision_bits)


class StockCkksConfig(Section):
    """CKKS as TenSEAL's examples use it."""

    kind: Literal["ckks_one_key"] = Field(
        description="for comparison: CKKS as TenSEAL's examples use it, under one key that all silos hold"
    )

    def build(self) -> SecureSum:
        """Build the scheme."""
        return StockCkksSum()
