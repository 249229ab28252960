"""What each secure sum tells whom: fixed by the scheme, not measured. The README's table of sums has the reasons."""

from typing import NamedTuple


class Knows(NamedTuple):
    """Of one scheme: what the aggregator learns by itself, and who may pool what they see without learning more."""

    aggregator: str
    pooled: str


HELD_BY_ALL = "nobody: every silo holds the whole key, so one silo and the aggregator read every upload"
SHARED = "the aggregator and 2t - n - 1 of the n silos, lying or not"

KNOWS = {
    "plain": Knows("every vector", "nobody: the aggregator alone reads all"),
    "additive": Knows("the sum", "the aggregator, lying or not, and n - 2 silos"),
    "ring": Knows("the sum", "nobody: the two neighbours of a silo see its vector"),
    "secagg": Knows("the sum", SHARED),
    "secagg_plus": Knows(
        "the sum", "the aggregator, lying or not, and the agreed share of corrupt silos, but with 2^-40"
    ),
    "ckks": Knows("the sum", SHARED),
    "ckks_joint_key": Knows(
        "the sum", "the same silos as long as they follow the protocol; one that breaks it and the aggregator read all"
    ),
    "ckks_one_key": Knows(
        "every vector, without a lie: the sum that it is told carries the noise, which gives the key away", HELD_BY_ALL
    ),
    "paillier": Knows(
        "the sum; but if it lies, every vector: each upload is opened by another silo as if it were the sum",
        HELD_BY_ALL,
    ),
}
NOT_KNOWN = Knows("not described here", "not described here")
