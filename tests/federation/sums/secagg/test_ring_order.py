"""The order of the SecAgg+ ring hangs on a nonce of every silo, and on nothing that the aggregator says later."""

import hashlib
from dataclasses import replace
from typing import Any

import pytest

from siloseal.federation.job.agreement import Agreement
from siloseal.federation.job.beacon import commit, join_nonces
from siloseal.federation.job.releases import sum_id
from siloseal.federation.sums.secagg.secagg_sum import RandomRing, SecAggSum
from siloseal.federation.sums.session import IntegerDomain, Session
from siloseal.federation.transport.wire import sums_pb2 as pb

NAMES = tuple(f"hospital {number}" for number in range(100))
KEYS = {name: hashlib.sha256(name.encode()).digest() for name in NAMES}
NONCES = {name: hashlib.sha256(b"nonce" + name.encode()).digest() for name in NAMES}
AGREED = Agreement(b"r" * 32, b"j" * 32, KEYS)
SCHEME = SecAggSum(ring=RandomRing())
Neighbours = dict[str, tuple[str, ...]]


def session_of(phase: str = "phase_1", round: int = 0, **replaced: bytes) -> Session:
    """A session of a run whose silos have drawn these nonces."""
    nonces = NONCES | replaced
    committed = {name: commit(AGREED, name, nonce) for name, nonce in nonces.items()}
    beacon = join_nonces(AGREED, committed, [pb.Piece(silo=name, data=nonce) for name, nonce in nonces.items()])
    domain, keys = IntegerDomain(3, 2**20), tuple(KEYS.values())
    return Session(sum_id(beacon, phase, round), NAMES, domain, SCHEME.name, len(NAMES), keys, b"s" * 32)


def ring(session: Session) -> Neighbours:
    return dict(SCHEME.plan(session).neighbours)


@pytest.fixture(scope="module")
def usual() -> Neighbours:
    return ring(session_of())


def test_every_silo_alone_changes_the_ring(usual: Neighbours) -> None:
    rings = [ring(session_of(**{name: bytes(32)})) for name in NAMES]
    assert all(one != usual for one in rings)
    assert len({tuple(sorted(one.items())) for one in rings}) == len(NAMES)


@pytest.mark.parametrize(
    "said",
    [
        {"start": b"t" * 32},
        {"start": b""},
        {"quorum": 96},
        {"domain": IntegerDomain(4, 2**20)},
        {"identities": tuple(KEYS.values())[::-1]},
    ],
    ids=["another start", "no start", "a smaller quorum", "another domain", "other keys"],
)
def test_nothing_else_that_a_session_holds_changes_the_ring(usual: Neighbours, said: dict[str, Any]) -> None:
    """The model to start from is the aggregator's: it could try as many as it likes."""
    other = replace(session_of(), **said)
    assert other.digest != session_of().digest
    assert ring(other) == usual


def test_every_sum_of_a_run_has_a_ring_of_its_own(usual: Neighbours) -> None:
    rings = [usual, *(ring(session_of("phase_2", number)) for number in range(1, 6))]
    assert len({tuple(sorted(one.items())) for one in rings}) == len(rings)
