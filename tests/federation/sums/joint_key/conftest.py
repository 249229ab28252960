"""All parties of a joint-key sum."""

from collections.abc import Callable

import pytest

from siloseal.federation.sums.joint_key.joint_key_sum import JointKeySum
from siloseal.federation.sums.session import RealDomain
from tests.federation.sums.recorded import Recorded, drawn_vectors

NAMES = ("east", "north", "south", "west", "coast", "hill")
DOMAIN = RealDomain(500, 4.0)


class Parties(Recorded):
    """Silos and an aggregator in one session over vectors of 500 entries up to 4."""

    def __init__(
        self, count: int = 4, *, threshold: int | None = None, quorum: int | None = None, id: int = 0, seed: int = 0
    ) -> None:
        scheme = JointKeySum(precision_bits=20, threshold=threshold)
        super().__init__(scheme, drawn_vectors(NAMES[:count], DOMAIN), DOMAIN, quorum=quorum, id=id, seed=seed)


@pytest.fixture
def parties_of() -> Callable[..., Parties]:
    return Parties


@pytest.fixture
def parties() -> Parties:
    """Four silos; three are enough, and three recover one."""
    return Parties(4, quorum=3)
