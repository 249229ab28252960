"""All parties of a SecAgg sum, or of the encrypted sum over it."""

from collections.abc import Callable, Mapping

import pytest

from siloseal.federation.sums.ckks.ckks_sum import CkksSum
from siloseal.federation.sums.secagg.secagg_sum import RandomRing, SecAggSum
from siloseal.federation.sums.session import IntegerDomain, Vector
from tests.federation.sums.recorded import Recorded, drawn_vectors


class Parties(Recorded):
    """Silos and an aggregator in one session over 200 integers modulo 2^20."""

    scheme: SecAggSum | CkksSum

    def __init__(
        self,
        count: int = 7,
        *,
        encrypted: bool = False,
        threshold: int | None = None,
        quorum: int | None = None,
        id: int = 0,
        ring: RandomRing | None = None,
        domain: IntegerDomain = IntegerDomain(200, 2**20),  # noqa: B008 (frozen)
        vectors: Mapping[str, Vector] | None = None,
    ) -> None:
        scheme = CkksSum(threshold=threshold) if encrypted else SecAggSum(threshold, ring)
        names = tuple(f"silo{number:03d}" for number in range(count))
        given = vectors or drawn_vectors(names, domain)
        super().__init__(scheme, given, domain, quorum=quorum or scheme.fewest(count), id=id)
        self.plan = scheme.setting(self.session).plan if isinstance(scheme, CkksSum) else scheme.plan(self.session)

    def total_without(self, *silent: str) -> Vector:
        """The right sum of all other silos."""
        return self.total(*(name for name in self.roster if name not in silent))


@pytest.fixture
def parties_of() -> Callable[..., Parties]:
    return Parties
