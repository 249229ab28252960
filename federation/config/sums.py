"""The secure sums that a job may choose from: one name a scheme."""

import math
from typing import Annotated, Literal

from pydantic import Field

from federation.additive.additive_sum import AdditiveSumConfig
from federation.ckks.ckks_sum import CkksSumConfig
from federation.plain.plain_sum import PlainSumConfig
from federation.ring.ring_sum import RingSumConfig
from federation.secagg.secagg_sum import FEWEST_FOR_A_RING, SecAggConfig, SecAggPlusConfig
from federation.threshold import may_pool

SecureSumConfig = Annotated[
    PlainSumConfig | CkksSumConfig | SecAggConfig | SecAggPlusConfig | AdditiveSumConfig | RingSumConfig,
    Field(discriminator="kind"),
]


def may_collude(config: SecureSumConfig, silos: int) -> int:
    """So many of the silos may tell the aggregator all they know, and it still sees no silo's contribution alone.

    Beyond that, noise that is split over the silos protects nobody: each one's part is too little on its own.
    """
    match config:
        case PlainSumConfig():
            return 0
        case RingSumConfig():
            return 1  # the two silos around a third see its vector
        case AdditiveSumConfig():
            return silos - 2
        case SecAggPlusConfig(corrupt=corrupt) if silos >= FEWEST_FOR_A_RING:
            return math.floor(corrupt * silos)
        case SecAggPlusConfig() | SecAggConfig() | CkksSumConfig():
            return may_pool(silos, config.build().fewest(silos))


SumKind = Literal["ckks", "secagg", "secagg_plus", "additive", "ring", "plain"]
"""By which a silo's policy names them."""
