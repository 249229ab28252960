"""All parties of a SecAgg sum, or of the encrypted sum over it, at one table, with every message in the test's hand."""

from collections.abc import Callable, Mapping

import numpy as np
import pytest

from siloseal.federation.randomness import SecureRandomness
from siloseal.federation.records.identity import Identity
from siloseal.federation.sums.ckks.ckks_sum import CkksSum
from siloseal.federation.sums.secagg.plan import Plan, Round
from siloseal.federation.sums.secagg.secagg_sum import RandomRing, SecAggSum
from siloseal.federation.sums.secagg.silo_side import SecAggSilo
from siloseal.federation.sums.secure_sum import AggregatorSide, Sum
from siloseal.federation.sums.session import IntegerDomain, Session

Carry = Callable[[Round, str, bytes], bytes]
"""What carries a message to or from a silo in a round, and may alter it."""


def as_it_is(number: Round, silo: str, message: bytes) -> bytes:
    return message


class Table:
    """Silos and an aggregator in one session over 200 integers modulo 2^20."""

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
    ) -> None:
        self.scheme = CkksSum(threshold=threshold) if encrypted else SecAggSum(threshold, ring)
        self.roster = tuple(f"silo{number:03d}" for number in range(count))
        self.identities = {name: Identity.create(name) for name in self.roster}
        self.domain = domain
        self.quorum = quorum or self.scheme.fewest(count)
        draw = np.random.default_rng(7)
        self.vectors = {name: draw.integers(0, domain.modulus, domain.length) for name in self.roster}
        self.session = self.session_of(id)
        self.plan = _plan(self.scheme, self.session)
        self.silos = {name: self.silo(name) for name in self.roster}
        self.side: AggregatorSide = self.scheme.aggregator(self.session)
        self.said: dict[Round, dict[str, bytes]] = {}
        """What the silos answered, by round."""

    def session_of(self, id: int) -> Session:
        keys = tuple(self.identities[name].public for name in self.roster)
        return Session(bytes([id]) * 32, self.roster, self.domain, self.scheme.name, self.quorum, keys)

    def silo(self, name: str) -> SecAggSilo:
        side = self.scheme.silo(self.session, self.identities[name], self.vectors[name], SecureRandomness())
        assert isinstance(side, SecAggSilo)
        return side

    def run(
        self,
        *,
        silent: Mapping[str, Round] | None = None,
        to_silo: Carry = as_it_is,
        from_silo: Carry = as_it_is,
        until: Round | None = None,
    ) -> Sum | Mapping[str, bytes]:
        """The whole session, or the requests of round `until`. A silo in `silent` says nothing from that round on."""
        gone = silent or {}
        step: Mapping[str, bytes] | Sum = self.side.open()
        for number in Round:
            if number == until or isinstance(step, Sum):
                break
            carried = {
                name: to_silo(number, name, message)
                for name, message in step.items()
                if name not in gone or number < gone[name]
            }
            replies = {
                name: from_silo(number, name, self.silos[name].answer(message)) for name, message in carried.items()
            }
            self.said[number] = replies
            for silo, reply in replies.items():
                self.side.check(silo, reply)
            step = self.side.advance(replies)
        return step

    def total(self, *without: str) -> np.ndarray:
        there = [vector for name, vector in self.vectors.items() if name not in without]
        return np.sum(there, axis=0) % self.domain.modulus


def _plan(scheme: SecAggSum | CkksSum, session: Session) -> Plan:
    return scheme.setting(session).plan if isinstance(scheme, CkksSum) else scheme.plan(session)


@pytest.fixture
def table_of() -> Callable[..., Table]:
    return Table
