"""All parties of an encrypted sum at one table, with every message in the test's hand."""

from collections.abc import Callable, Mapping

import numpy as np
import pytest

from siloseal.federation.randomness import SeededRandomness
from siloseal.federation.records.identity import Identity
from siloseal.federation.sums import sealing
from siloseal.federation.sums.ckks.ckks_sum import CkksSum
from siloseal.federation.sums.secagg.plan import Round
from siloseal.federation.sums.secure_sum import AggregatorSide, SiloSide, Sum
from siloseal.federation.sums.session import RealDomain, Session
from siloseal.federation.transport.wire import ckks_pb2 as pb
from siloseal.federation.transport.wire.codec import decode, unwrap, wrap

NAMES = ("east", "north", "south", "west")

Carry = Callable[[Round, dict[str, bytes]], dict[str, bytes]]
"""What carries all replies of a round to the aggregator, and may alter them."""


def as_they_are(number: Round, replies: dict[str, bytes]) -> dict[str, bytes]:
    return replies


class Table:
    """Four silos, of which three are enough, and an aggregator in one session over 500 entries up to 4."""

    def __init__(self, *, id: int = 0, seed: int = 0) -> None:
        self.scheme, self.domain = CkksSum(precision_bits=20), RealDomain(500, 4.0)
        keys = IDENTITIES
        self.session = Session(
            bytes([id]) * 32, NAMES, self.domain, self.scheme.name, 3, tuple(keys[name].public for name in NAMES)
        )
        self.parameters = self.scheme.parameters(self.domain, len(NAMES))
        draw = np.random.default_rng(7)
        self.vectors = {name: draw.uniform(-4, 4, self.domain.length) for name in NAMES}
        self.silos: dict[str, SiloSide] = {name: self.silo(name, seed) for name in NAMES}
        self.side: AggregatorSide = self.scheme.aggregator(self.session)
        self.said: dict[Round, dict[str, bytes]] = {}
        """What the silos answered, by round."""
        self.asked: dict[Round, Mapping[str, bytes]] = {}

    def silo(self, name: str, seed: int = 0) -> SiloSide:
        randomness = SeededRandomness(100 * seed + NAMES.index(name))
        return self.scheme.silo(self.session, IDENTITIES[name], self.vectors[name], randomness)

    def run(
        self, *, silent: Mapping[str, Round] | None = None, carry: Carry = as_they_are, checked: bool = True
    ) -> Sum:
        """The whole session. A silo in `silent` says nothing from that round on; `checked=False` adds what comes."""
        gone = silent or {}
        step: Mapping[str, bytes] | Sum = self.side.open()
        for number in Round:
            assert not isinstance(step, Sum)
            self.asked[number] = step
            there = [name for name in step if name not in gone or number < gone[name]]
            self.said[number] = {name: self.silos[name].answer(step[name]) for name in there}
            replies = carry(number, dict(self.said[number]))
            for silo, reply in replies.items():
                if checked:
                    self.side.check(silo, reply)
            step = self.side.advance(replies)
        assert isinstance(step, Sum)
        return step

    def upload(self, reply: bytes) -> pb.CkksUpload:
        return decode(pb.CkksUpload, unwrap(self.session, round=2 * Round.UPLOAD + 1, data=reply))

    def wrapped(self, upload: pb.CkksUpload) -> bytes:
        return wrap(self.session, round=2 * Round.UPLOAD + 1, body=upload.SerializeToString())

    def total(self, *contributors: str) -> np.ndarray:
        return np.sum([self.vectors[name] for name in contributors], axis=0)


IDENTITIES = {name: Identity.create(name) for name in NAMES}


@pytest.fixture
def table_of() -> Callable[..., Table]:
    return Table


@pytest.fixture
def table() -> Table:
    return Table()


@pytest.fixture
def repeatable_seals(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Nonces of sealed shares come from a counter that the returned function sets back: sessions can be compared."""
    drawn = [0]

    def urandom(count: int) -> bytes:
        drawn[0] += 1
        return drawn[0].to_bytes(count, "little")

    def rewind() -> None:
        drawn[0] = 0

    monkeypatch.setattr(sealing.os, "urandom", urandom)
    return rewind
