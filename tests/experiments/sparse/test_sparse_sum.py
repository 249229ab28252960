"""Sparse sums over every sum of integers: what comes out, when an attempt is repeated, and what that tells."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from itertools import count

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from numpy.typing import NDArray

from siloseal.experiments.sparse.errors import TableForged, TableStuck, TooManyMessages
from siloseal.experiments.sparse.lookup_table import Message, TableShape
from siloseal.experiments.sparse.sparse_sum import (
    SparseSum,
    attempt_session,
    run_sparse_sum,
    run_sum,
    sparse_contribution,
    sparse_sum_in_process,
)
from siloseal.federation.errors import DomainError, ProtocolError, QuorumLost
from siloseal.federation.randomness import SeededRandomness
from siloseal.federation.records.identity import Identity
from siloseal.federation.sums.additive.additive_sum import AdditiveSum
from siloseal.federation.sums.ckks.ckks_sum import CkksSum
from siloseal.federation.sums.driving import Ask
from siloseal.federation.sums.in_process import InProcess
from siloseal.federation.sums.new_session import new_session
from siloseal.federation.sums.plain.plain_sum import PlainSum
from siloseal.federation.sums.ring.ring_sum import RingSum
from siloseal.federation.sums.secagg.secagg_sum import SecAggSum
from siloseal.federation.sums.secure_sum import SecureSum
from siloseal.federation.sums.session import IntegerDomain, Session, Vector

SCHEMES: list[SecureSum] = [PlainSum(), CkksSum(), SecAggSum(), AdditiveSum(), RingSum()]
"""A new sum of integers adds one entry."""

ROSTER = ("east", "north", "south", "west")
IDENTITIES = {silo: Identity(silo, Ed25519PrivateKey.from_private_bytes(silo.encode().ljust(32))) for silo in ROSTER}
"""The same every time, and so are the seeds of the tables."""

SHAPE = TableShape(capacity=20, key_bits=40, value_bits=16)
PAIR = TableShape(capacity=2, key_bits=40, value_bits=16)
MESSAGES: Mapping[str, list[Message]] = {
    "east": [(7, 1), (7, 1), (7, 1)],
    "north": [(7, 2), (2**40 - 1, 2**16 - 1)],
    "south": [],
    "west": [(7, 1), (0, 0)],
}
MULTISET = Counter({(7, 1): 4, (7, 2): 1, (2**40 - 1, 2**16 - 1): 1, (0, 0): 1})


def session_of(scheme: SecureSum, shape: TableShape = SHAPE, *, id: int = 0, quorum: int = 4) -> Session:
    return new_session(scheme, IDENTITIES, shape.domain, quorum=quorum, session_id=bytes([id]) * 32)


class Consortium:
    """The silos of one sparse sum, and every session that they were asked to join; one without messages is absent."""

    def __init__(self, scheme: SecureSum, shape: TableShape, messages: Mapping[str, list[Message]]) -> None:
        self.scheme, self.shape, self.messages = scheme, shape, messages
        self.sessions = list[Session]()

    def contribution(self, session: Session, silo: str) -> NDArray[np.int64]:
        return sparse_contribution(session, self.shape, self.messages.get(silo, []))

    def ask_for(self, session: Session) -> Ask:
        self.sessions.append(session)
        tables = {silo: self.contribution(session, silo) for silo in ROSTER}
        parties = InProcess(
            self.scheme, tables, domain=session.domain, quorum=session.quorum, identities=IDENTITIES,
            session_id=session.id, randomness=lambda silo: SeededRandomness(ROSTER.index(silo)),
        )  # fmt: skip
        assert parties.session == session
        return lambda requests: parties.answer({silo: requests[silo] for silo in self.messages if silo in requests})

    def run(self, first: Session, *, attempts: int = 3) -> SparseSum:
        return run_sparse_sum(self.scheme, first, self.shape, self.ask_for, attempts=attempts)

    def total(self, session: Session) -> Vector:
        return run_sum(self.scheme, session, self.ask_for(session)).total


def inseparable(first: Session, *, attempts: int) -> list[Message]:
    """Two messages that share their cells in the first attempts, and not in the next. Whoever knows the seeds finds them."""
    seen = dict[bytes, tuple[Message, bytes]]()
    for key in count():
        *now, then = (
            sparse_contribution(attempt_session(first, attempt), PAIR, [(key, 1)])
            .reshape(PAIR.cells, -1)[:, 0]
            .tobytes()
            for attempt in range(1, attempts + 2)
        )
        other, other_then = seen.setdefault(b"".join(now), ((key, 1), then))
        if other_then != then:
            return [other, (key, 1)]
    raise AssertionError


@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda scheme: scheme.name)
class TestOverEverySum:
    def test_the_multiset_of_all_silos_messages_comes_out(self, scheme: SecureSum) -> None:
        result = Consortium(scheme, SHAPE, MESSAGES).run(session_of(scheme))
        assert result == SparseSum(MULTISET, ROSTER, attempts=1)

    def test_one_call_has_all_parties_in_one_process(self, scheme: SecureSum) -> None:
        assert sparse_sum_in_process(scheme, MESSAGES, SHAPE) == SparseSum(MULTISET, ROSTER, attempts=1)

    def test_nobody_has_anything_to_say(self, scheme: SecureSum) -> None:
        result = Consortium(scheme, PAIR, {silo: [] for silo in ROSTER}).run(session_of(scheme, PAIR))
        assert result == SparseSum(Counter(), ROSTER, attempts=1)

    def test_the_total_is_the_same_whoever_sent_what(self, scheme: SecureSum) -> None:
        """So it tells nothing of who did, nor of how many messages a silo sent."""
        elsewhere = {**MESSAGES, "east": [], "south": [*MESSAGES["west"], *MESSAGES["east"]], "west": []}
        here, there = (Consortium(scheme, SHAPE, each).total(session_of(scheme)) for each in (MESSAGES, elsewhere))
        np.testing.assert_array_equal(here, there)

    def test_messages_chosen_to_share_their_cells_are_told_apart_in_the_next_attempt(self, scheme: SecureSum) -> None:
        first = session_of(scheme, PAIR)
        low, high = inseparable(first, attempts=1)
        silos = Consortium(scheme, PAIR, {"east": [low], "north": [high], "south": [], "west": []})
        assert silos.run(first) == SparseSum(Counter([low, high]), ROSTER, attempts=2)
        assert silos.sessions == [first, attempt_session(first, 2)]

    def test_more_messages_than_announced_are_refused_after_one_attempt(self, scheme: SecureSum) -> None:
        silos = Consortium(scheme, PAIR, {silo: [(number, 0)] for number, silo in enumerate(ROSTER)})
        with pytest.raises(TooManyMessages, match=": 2 "):
            silos.run(session_of(scheme, PAIR))
        assert len(silos.sessions) == 1

    def test_a_silo_that_sends_noise_ends_the_sum_after_one_attempt(self, scheme: SecureSum) -> None:
        class Noisy(Consortium):
            def contribution(self, session: Session, silo: str) -> NDArray[np.int64]:
                assert isinstance(session.domain, IntegerDomain)
                draw = np.random.default_rng(0).integers(0, session.domain.modulus, session.domain.length)
                return draw if silo == "west" else super().contribution(session, silo)

        silos = Noisy(scheme, SHAPE, MESSAGES)
        with pytest.raises(TableForged):
            silos.run(session_of(scheme))
        assert len(silos.sessions) == 1


class TestAttempts:
    scheme = PlainSum()

    def crafted(self, first: Session, *, attempts: int) -> Consortium:
        low, high = inseparable(first, attempts=attempts)
        return Consortium(self.scheme, PAIR, {"east": [low], "north": [high], "south": [], "west": []})

    @pytest.mark.parametrize("attempts", [1, 2])
    def test_the_last_attempts_failure_is_raised(self, attempts: int) -> None:
        first = session_of(self.scheme, PAIR)
        silos = self.crafted(first, attempts=attempts)
        with pytest.raises(TableStuck, match="2 of 2 messages"):
            silos.run(first, attempts=attempts)
        assert len(silos.sessions) == attempts
        assert silos.run(first, attempts=attempts + 1).attempts == attempts + 1

    def test_what_failed_tells_nothing_that_the_multiset_does_not(self) -> None:
        """Whoever knows the multiset computes every total alone."""
        first = session_of(self.scheme, PAIR)
        silos = self.crafted(first, attempts=1)
        multiset = silos.run(first).messages
        for attempt in (1, 2):
            session = attempt_session(first, attempt)
            alone = sparse_contribution(session, PAIR, list(multiset.elements()))
            np.testing.assert_array_equal(silos.total(session), alone)

    def test_every_attempt_has_an_id_and_a_seed_of_its_own_and_all_else_in_common(self) -> None:
        first = session_of(self.scheme)
        sessions = [attempt_session(first, attempt) for attempt in range(1, 6)]
        assert sessions[0] == first
        assert len({session.id for session in sessions}) == 5
        assert {replace(session, id=first.id) for session in sessions} == {first}
        assert len({sparse_contribution(each, SHAPE, MESSAGES["east"]).tobytes() for each in sessions}) == 5

    def test_attempts_of_different_sums_share_nothing(self) -> None:
        one, other = (session_of(self.scheme, id=number) for number in (1, 2))
        assert attempt_session(one, 2).id != attempt_session(other, 2).id

    def test_both_sides_derive_the_same_attempt(self) -> None:
        """A silo has the first session as it came over the wire."""
        first = session_of(self.scheme)
        received = Session.from_wire(first.to_wire())
        assert attempt_session(received, 3) == attempt_session(first, 3)

    def test_a_sum_that_may_be_repeated_needs_all_its_silos(self) -> None:
        """From the totals of two attempts, one of them without a silo, what that silo sent could be computed."""
        silos = Consortium(self.scheme, SHAPE, MESSAGES)
        first = session_of(self.scheme, quorum=3)
        with pytest.raises(DomainError, match=r"4 silos .* 3, "):
            silos.run(first)
        with pytest.raises(DomainError):
            attempt_session(first, 2)
        assert silos.sessions == []

    def test_a_sum_that_may_be_repeated_ends_when_a_silo_is_missing(self) -> None:
        silos = Consortium(self.scheme, SHAPE, {silo: MESSAGES[silo] for silo in ROSTER[:3]})
        with pytest.raises(QuorumLost):
            silos.run(session_of(self.scheme))

    def test_a_single_attempt_may_do_without_a_silo(self) -> None:
        present = {silo: MESSAGES[silo] for silo in ROSTER[:3]}
        result = Consortium(self.scheme, SHAPE, present).run(session_of(self.scheme, quorum=3), attempts=1)
        assert result == SparseSum(MULTISET - Counter(MESSAGES["west"]), ROSTER[:3], attempts=1)

    @pytest.mark.parametrize("attempts", [0, -1])
    def test_a_sum_without_attempts_is_refused(self, attempts: int) -> None:
        with pytest.raises(DomainError):
            Consortium(self.scheme, SHAPE, MESSAGES).run(session_of(self.scheme), attempts=attempts)


def test_a_session_over_another_domain_is_refused_by_both_sides() -> None:
    silos = Consortium(PlainSum(), SHAPE, MESSAGES)
    with pytest.raises(DomainError, match=r"length=75, .*length=315"):
        silos.run(session_of(PlainSum(), PAIR))
    with pytest.raises(DomainError, match=r"length=75, .*length=315"):
        sparse_contribution(session_of(PlainSum(), PAIR), SHAPE, [])
    assert silos.sessions == []


def test_sides_that_announce_different_shapes_of_the_same_domain_read_nothing() -> None:
    other = replace(SHAPE, value_bits=17)
    assert other.domain == SHAPE.domain
    silos = Consortium(PlainSum(), other, MESSAGES)
    with pytest.raises(ProtocolError):
        run_sparse_sum(PlainSum(), session_of(PlainSum()), SHAPE, silos.ask_for)
