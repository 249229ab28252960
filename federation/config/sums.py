"""The secure sums that a job may choose from: one name a scheme."""

from typing import Annotated

from pydantic import Field

from federation.ckks.ckks_sum import CkksSumConfig
from federation.plain.plain_sum import PlainSumConfig

SecureSumConfig = Annotated[PlainSumConfig | CkksSumConfig, Field(discriminator="kind")]
