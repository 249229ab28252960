"""The config of CKKS under a joint public key."""

from typing import Literal

from pydantic import Field

from siloseal.federation.config.section import Section
from siloseal.federation.sums.config_fields import PrecisionBits, Threshold
from siloseal.federation.sums.joint_key.joint_key_sum import JointKeySum
from siloseal.federation.sums.secure_sum import SecureSum


class JointKeyConfig(Section):
    """CKKS under a public key that all silos join, opened by partial decryptions; for comparison."""

    kind: Literal["ckks_joint_key"] = Field(
        description="for comparison: encrypted under a public key that all silos join; the silos open the sum"
    )
    precision_bits: PrecisionBits = 28
    statistical_distance_bits: int = Field(
        default=40, ge=40, le=60, description="an opening tells more than the sum with probability 2^-bits at most"
    )
    threshold: Threshold = None

    def build(self) -> SecureSum:
        """Build the scheme."""
        return JointKeySum(self.precision_bits, self.statistical_distance_bits, self.threshold)
