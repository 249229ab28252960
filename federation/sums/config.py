"""The secure sums that a job may choose from: one name a scheme."""

from collections.abc import Callable
from typing import Annotated, Literal, get_args

from pydantic import Field

from siloseal.federation.config.section import Section
from siloseal.federation.sums.additive.config import AdditiveSumConfig
from siloseal.federation.sums.ckks.config import CkksSumConfig
from siloseal.federation.sums.exposure import Exposure
from siloseal.federation.sums.joint_key.config import JointKeyConfig
from siloseal.federation.sums.one_key.config import PaillierSumConfig, StockCkksConfig
from siloseal.federation.sums.plain.config import PlainSumConfig
from siloseal.federation.sums.ring.config import RingSumConfig
from siloseal.federation.sums.secagg.config import SecAggConfig, SecAggPlusConfig
from siloseal.federation.sums.secure_sum import SecureSum

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


def schemes() -> dict[str, SecureSum]:
    """Every scheme by its name, with the settings that it has if a job names none."""
    kinds: tuple[str, ...] = get_args(SumKind)
    return {kind: NamedSum.model_validate({"secure_sum": {"kind": kind}}).secure_sum.build() for kind in kinds}


def exposures() -> dict[str, Exposure]:
    """The exposure of each sum, with the settings that it has if a job names none."""
    return {kind: scheme.exposure for kind, scheme in schemes().items()}


def kinds_where(fits: Callable[[SecureSum], bool]) -> str:
    """The names of the schemes that fit, baselines aside, as an error message lists them: "ckks, secagg or ring"."""
    *others, last = [kind for kind, scheme in schemes().items() if fits(scheme) and not scheme.exposure.baseline]
    return f"{', '.join(others)} or {last}" if others else last
