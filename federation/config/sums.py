"""The secure sums that a job may choose from: one name a scheme."""

from federation.plain.plain_sum import PlainSumConfig

SecureSumConfig = PlainSumConfig
