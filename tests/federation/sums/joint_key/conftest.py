"""All parties of a CKKS sum at one table, with every message in the test's hand."""

from collections.abc import Callable, Mapping

import numpy as np
import pytest

from siloseal.federation.randomness import SeededRandomness
from siloseal.federation.records.identity import Identity
from siloseal.federation.sums.joint_key.joint_key_sum import JointKeySum
from siloseal.federation.sums.joint_key.silo_side import JointKeySilo
from siloseal.federation.sums.secure_sum import AggregatorSide, Sum
from siloseal.federation.sums.session import RealDomain, Session

NAMES = ("east", "north", "south", "west", "coast", "hill")

Carry = Callable[[int, str, bytes], bytes]
"""What carries a message to or from a silo in a round, and may alter it."""


def as_it_is(number: int, silo: str, message: bytes) -> bytes:
    return message


class Table:
    """Silos and an aggregator in one session over vectors of 500 entries up to 4."""

    def __init__(self, count: int = 4, *, threshold: int | None = None, quorum: int | None = None, id: int = 0) -> None:
        self.scheme = JointKeySum(precision_bits=20, threshold=threshold)
        self.roster = NAMES[:count]
        self.identities = {name: Identity.create(name) for name in self.roster}
        self.domain = RealDomain(500, 4.0)
        self.quorum = quorum or count
        draw = np.random.default_rng(7)
        self.vectors = {name: draw.uniform(-4, 4, self.domain.length) for name in self.roster}
        self.session = self.session_of(id)
        self.silos = {name: self.silo(name) for name in self.roster}
        self.side: AggregatorSide = self.scheme.aggregator(self.session)

    def session_of(self, id: int) -> Session:
        keys = tuple(self.identities[name].public for name in self.roster)
        return Session(bytes([id]) * 32, self.roster, self.domain, self.scheme.name, self.quorum, keys)

    def silo(self, name: str, seed: int = 0) -> JointKeySilo:
        randomness = SeededRandomness(100 * seed + self.roster.index(name))
        side = self.scheme.silo(self.session, self.identities[name], self.vectors[name], randomness)
        assert isinstance(side, JointKeySilo)
        return side

    def run(
        self,
        *,
        silent: Mapping[str, int] | None = None,
        to_silo: Carry = as_it_is,
        from_silo: Carry = as_it_is,
        rounds: int = 99,
        checked: bool = True,
    ) -> Sum | Mapping[str, bytes]:
        """The whole session, or its first rounds. A silo named in `silent` answers nothing from that round on.

        `checked=False` is an aggregator that adds whatever comes.
        """
        gone = silent or {}
        step: Mapping[str, bytes] | Sum = self.side.open()
        for number in range(rounds):
            if isinstance(step, Sum):
                return step
            replies = dict[str, bytes]()
            for name, message in step.items():
                if number < gone.get(name, 99):
                    carried = to_silo(number, name, message)
                    replies[name] = from_silo(number, name, self.silos[name].answer(carried))
            for silo, reply in replies.items():
                if checked:
                    self.side.check(silo, reply)
            step = self.side.advance(replies)
        return step

    def total(self, *contributors: str) -> np.ndarray:
        return np.sum([self.vectors[name] for name in contributors], axis=0)


@pytest.fixture
def table_of() -> Callable[..., Table]:
    return Table


@pytest.fixture
def table() -> Table:
    """Four silos; three are enough, and three recover one."""
    return Table(4, quorum=3)
