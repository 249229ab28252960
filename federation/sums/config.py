"""The secure sums that a job may choose from: one name a scheme."""

import math
from typing import Annotated, Literal

from pydantic import Field

from siloseal.federation.sums.additive.config import AdditiveSumConfig
from siloseal.federation.sums.ckks.config import CkksSumConfig
from siloseal.federation.sums.joint_key.config import JointKeyConfig
from siloseal.federation.sums.one_key.config import PaillierSumConfig, StockCkksConfig
from siloseal.federation.sums.plain.config import PlainSumConfig
from siloseal.federation.sums.ring.config import RingSumConfig
from siloseal.federation.sums.secagg.config import SecAggConfig, SecAggPlusConfig
from siloseal.federation.sums.secagg.secagg_sum import FEWEST_FOR_A_RING
from siloseal.federation.sums.threshold import may_pool

SecureSumConfig = Annotated[
    PlainSumConfig
    | CkksSumConfig
    | JointKeyConfig
    | StockCkksConfig
    | PaillierSumConfig
    | SecAggConfig
    | SecAggPlusConfig
    | AdditiveSumConfig
    | RingSumConfig,
    Field(discriminator="kind"),
]


def may_collude(config: SecureSumConfig, silos: int) -> int:
    """So many of the silos may tell the aggregator all they know, and it still sees no silo's contribution alone.

    If the sum hides it from the aggregator at all. Beyond that, noise that is split over the silos protects nobody:
    each one's part is too little on its own.
    """
    match config:
        case PlainSumConfig() | StockCkksConfig():
            return 0  # the aggregator needs nobody: it reads uploads, or computes the key to them
        case PaillierSumConfig():
            return 0  # every silo holds the key
        case RingSumConfig():
            return 1  # the two silos around a third see its vector
        case AdditiveSumConfig():
            return silos - 2
        case SecAggPlusConfig(corrupt=corrupt) if silos >= FEWEST_FOR_A_RING:
            return math.floor(corrupt * silos)
        case SecAggPlusConfig() | SecAggConfig() | CkksSumConfig() | JointKeyConfig():
            return may_pool(silos, config.build().fewest(silos))


def opens_what_it_is_given(config: SecureSumConfig) -> bool:
    """Whether a lying aggregator may have any silo's contribution opened as if it were the sum.

    Noise that is split over the silos does not protect from it, even where no silo helps.
    """
    return isinstance(config, PaillierSumConfig | StockCkksConfig)


def shows_silos_the_exact_sum(config: SecureSumConfig) -> bool:
    """Whether a silo sees the sum before the aggregator, which may be the one to noise it."""
    return isinstance(config, RingSumConfig | PaillierSumConfig | StockCkksConfig)


SumKind = Literal[
    "ckks", "secagg", "secagg_plus", "additive", "ring", "ckks_joint_key", "paillier", "ckks_one_key", "plain"
]
"""By which a silo's policy names them."""
