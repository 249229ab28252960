"""What each secure sum tells whom: fixed by the scheme, not measured. The README's table of sums has the reasons."""

from typing import NamedTuple


class Knows(NamedTuple):
    """Of one scheme: what the aggregator learns by itself, and who may pool what they see without learning more."""

    aggregator: str
    pooled: str


ONE_KEY = Knows(
    "the sum, if the silos open what it sends them; it may have one upload opened as if that were the sum",
    "nobody: every silo holds the whole key, so one silo and the aggregator read every upload",
)
SHARED = "the aggregator, lying or not, and 2t - n - 1 of the n silos"

KNOWS = {
    "plain": Knows("every vector", "nobody: the aggregator alone reads all"),
    "additive": Knows("the sum", "the aggregator, lying or not, and n - 2 silos"),
    "ring": Knows("the sum", "nobody: the two neighbours of a silo see its vector"),
    "SecAgg": Knows("the sum", SHARED),
    "SecAgg+": Knows("the sum", "the aggregator, lying or not, and the agreed share of corrupt silos, but with 2^-40"),
    "CKKS shared key": Knows(
        "the sum", f"{SHARED}, as long as these follow the protocol; one that breaks it can open uploads"
    ),
    "CKKS one key": ONE_KEY,
    "Paillier": ONE_KEY,
}
NOT_KNOWN = Knows("not described here", "not described here")
