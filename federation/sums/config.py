"""The secure sums that a job may choose from: one name a scheme."""

from typing import Annotated, Literal, get_args

from pydantic import Field, TypeAdapter

from siloseal.federation.config.section import Section
from siloseal.federation.sums.additive.config import AdditiveSumConfig
from siloseal.federation.sums.ckks.config import CkksSumConfig
from siloseal.federation.sums.exposure import Exposure
from siloseal.federation.sums.joint_key.config import JointKeyConfig
from siloseal.federation.sums.one_key.config import PaillierSumConfig, StockCkksConfig
from siloseal.federation.sums.plain.config import PlainSumConfig
from siloseal.federation.sums.ring.config import RingSumConfig
from siloseal.federation.sums.secagg.config import SecAggConfig, SecAggPlusConfig

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


class NamedSum(Section):
    """A sum by itself, as a job names it."""

    secure_sum: SecureSumConfig = Field(description="one of the sums, with its options")


SumKind = Literal[
    "ckks", "secagg", "secagg_plus", "additive", "ring", "ckks_joint_key", "paillier", "ckks_one_key", "plain"
]
"""Names of the sums, in a job and in a silo's policy."""


def exposures() -> dict[str, Exposure]:
    """The exposure of each sum, with the settings that a job has if it names none."""
    config = TypeAdapter[SecureSumConfig](SecureSumConfig)
    return {kind: config.validate_python({"kind": kind}).build().exposure for kind in get_args(SumKind)}
