"""The secure sums that a job may choose from: one name a scheme."""

from typing import Annotated, Literal

from pydantic import Field

from federation.additive.additive_sum import AdditiveSumConfig
from federation.ckks.ckks_sum import CkksSumConfig
from federation.plain.plain_sum import PlainSumConfig
from federation.ring.ring_sum import RingSumConfig
from federation.secagg.secagg_sum import SecAggConfig, SecAggPlusConfig

SecureSumConfig = Annotated[
    PlainSumConfig | CkksSumConfig | SecAggConfig | SecAggPlusConfig | AdditiveSumConfig | RingSumConfig,
    Field(discriminator="kind"),
]

SumKind = Literal["ckks", "secagg", "secagg_plus", "additive", "ring", "plain"]
"""By which a silo's policy names them."""
