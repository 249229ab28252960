"""What every secure sum must do, over all of them."""

import math
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import count

import numpy as np
import pytest

from siloseal.federation.errors import (
    DomainError,
    MessageError,
    MessageTooLarge,
    ProtocolError,
    QuorumLost,
    SessionMismatch,
    WrongRound,
)
from siloseal.federation.randomness import SeededRandomness
from siloseal.federation.records.identity import Identity
from siloseal.federation.sums.additive.config import AdditiveSumConfig
from siloseal.federation.sums.ckks.ckks_sum import CkksSum
from siloseal.federation.sums.joint_key.joint_key_sum import JointKeySum
from siloseal.federation.sums.one_key.config import StockCkksConfig
from siloseal.federation.sums.one_key.one_key_sum import FixedPointPaillier, PaillierSum
from siloseal.federation.sums.plain.plain_sum import PlainSum
from siloseal.federation.sums.ring.config import RingSumConfig
from siloseal.federation.sums.secagg.config import SecAggConfig, SecAggPlusConfig
from siloseal.federation.sums.secure_sum import AggregatorSide, SecureSum, SiloSide, Sum
from siloseal.federation.sums.session import Domain, IntegerDomain, RealDomain, Session, Vector
from siloseal.federation.transport.wire import consortium_pb2 as pb

INSECURE_TEST_KEY_BITS = 1024
UNKNOWN_FIELD = b"\x7a"  # field 15, of bytes

ALL_SCHEMES: list[SecureSum] = [
    PlainSum(),
    CkksSum(),
    JointKeySum(),
    SecAggConfig(kind="secagg").build(),
    SecAggPlusConfig(kind="secagg_plus").build(),
    AdditiveSumConfig(kind="additive").build(),
    RingSumConfig(kind="ring").build(),
    FixedPointPaillier(PaillierSum(INSECURE_TEST_KEY_BITS), precision_bits=24),
    StockCkksConfig(kind="ckks_one_key").build(),
]
"""A new scheme adds one entry."""

ROSTER = ("east", "north", "south", "west")
IDENTITIES = {silo: Identity.create(silo) for silo in ROSTER}
REALS = RealDomain(length=300, bound=8.0)
INTEGERS = IntegerDomain(length=300, modulus=2**20)


def session_of(scheme: SecureSum, domain: Domain = REALS, *, id: bytes = bytes(32), quorum: int = 3) -> Session:
    return Session(id, ROSTER, domain, scheme.name, quorum, tuple(IDENTITIES[silo].public for silo in ROSTER))


def contributions(domain: Domain) -> dict[str, Vector]:
    draw = np.random.default_rng(5)
    if isinstance(domain, RealDomain):
        return {silo: draw.uniform(-domain.bound, domain.bound, domain.length) for silo in ROSTER}
    return {silo: draw.integers(0, domain.modulus, domain.length) for silo in ROSTER}


def silo_sides(scheme: SecureSum, session: Session) -> dict[str, SiloSide]:
    return {
        silo: scheme.silo(session, IDENTITIES[silo], vector, SeededRandomness(number))
        for number, (silo, vector) in enumerate(contributions(session.domain).items())
    }


def drive(scheme: SecureSum, session: Session, *, heard: list[bytes] | None = None) -> Sum:
    silos, side = silo_sides(scheme, session), scheme.aggregator(session)
    step: Mapping[str, bytes] | Sum = side.open()
    while not isinstance(step, Sum):
        replies = {silo: silos[silo].answer(message) for silo, message in step.items()}
        if heard is not None:
            heard.extend(replies.values())
        step = side.advance(replies)
    return step


LONGEST_NAMES = tuple(f"{number:x<64}" for number in range(10))
"""Of many silos: what a reply holds for each of the others must fit, framing included."""
MOST_ROUNDS = 8
SLACK_BYTES = 4096


@dataclass(frozen=True)
class Round:
    """One round's honest replies, and the aggregator's side that waits for them."""

    side: AggregatorSide
    replies: Mapping[str, bytes]


def rounds(
    scheme: SecureSum, domain: Domain, names: tuple[str, ...], *, silent_from: int = MOST_ROUNDS
) -> Iterator[Round]:
    """The rounds of one sum of silos with these names, up to its sum or to the loss of its quorum.

    From the given round on, counted from 0, the last silo says nothing.
    """
    identities = [Identity.create(name) for name in names]
    session = replace(session_of(scheme, domain), roster=names, identities=tuple(each.public for each in identities))
    vectors = list(contributions(domain).values())
    silos = {
        me.name: scheme.silo(session, me, vectors[number % len(vectors)], SeededRandomness(number))
        for number, me in enumerate(identities)
    }
    side = scheme.aggregator(session)
    step: Mapping[str, bytes] | Sum = side.open()
    with suppress(QuorumLost):
        for number in count():
            present = {name for name in names if name != names[-1] or number < silent_from}
            replies = {name: silos[name].answer(message) for name, message in step.items() if name in present}
            yield Round(side, replies)
            step = side.advance(replies)
            if isinstance(step, Sum):
                return


@pytest.mark.parametrize("scheme", ALL_SCHEMES, ids=lambda scheme: scheme.name)
class TestEverySecureSum:
    @pytest.mark.parametrize("domain", [REALS, INTEGERS], ids=["reals", "integers"])
    def test_equals_the_plain_sum_within_its_error_bound(self, scheme: SecureSum, domain: Domain) -> None:
        vectors = list(contributions(domain).values())
        result = drive(scheme, session_of(scheme, domain))
        assert result.contributors == ROSTER
        if isinstance(domain, IntegerDomain):
            assert result.error_bound == 0
            np.testing.assert_array_equal(result.total, np.sum(vectors, axis=0) % domain.modulus)
        else:
            exact = [math.fsum(entries) for entries in zip(*vectors, strict=True)]
            assert 0 < result.error_bound < 1e-3
            assert np.abs(result.total - exact).max() <= result.error_bound

    def test_a_silo_refuses_a_message_that_it_has_answered(self, scheme: SecureSum) -> None:
        session = session_of(scheme)
        silo, first = silo_sides(scheme, session)["north"], scheme.aggregator(session).open()["north"]
        silo.answer(first)
        with pytest.raises(WrongRound):
            silo.answer(first)

    def test_the_aggregator_does_not_advance_before_it_opens(self, scheme: SecureSum) -> None:
        with pytest.raises(WrongRound):
            scheme.aggregator(session_of(scheme)).advance({})

    def test_a_message_of_another_session_is_refused_by_both_sides(self, scheme: SecureSum) -> None:
        mine, other = session_of(scheme), session_of(scheme, id=bytes(31) + b"\1")
        strange = scheme.aggregator(other).open()
        with pytest.raises(SessionMismatch):
            silo_sides(scheme, mine)["north"].answer(strange["north"])
        replies = {name: silo.answer(strange[name]) for name, silo in silo_sides(scheme, other).items()}
        side = scheme.aggregator(mine)
        side.open()
        with pytest.raises(SessionMismatch):
            side.advance(replies)

    @pytest.mark.parametrize(
        "damage", [lambda m: m[:-1], lambda m: b"\xff" + m, lambda m: b"", lambda m: m[:40] + bytes(8) + m[48:]]
    )
    def test_a_damaged_message_is_refused(self, scheme: SecureSum, damage) -> None:  # type: ignore[no-untyped-def]
        session = session_of(scheme)
        side = scheme.aggregator(session)
        opened, silos = side.open(), silo_sides(scheme, session)
        replies = {name: silos[name].answer(opened[name]) for name in ROSTER}
        with pytest.raises(ProtocolError):
            side.advance({**replies, "north": damage(replies["north"])})

    def test_too_few_replies_lose_the_quorum_and_give_no_partial_sum(self, scheme: SecureSum) -> None:
        session = session_of(scheme, quorum=3)
        side, silos = scheme.aggregator(session), silo_sides(scheme, session)
        opened = side.open()
        with pytest.raises(QuorumLost):
            side.advance({name: silos[name].answer(opened[name]) for name in ROSTER[:2]})

    def test_a_reply_from_a_stranger_is_refused(self, scheme: SecureSum) -> None:
        session = session_of(scheme)
        side, silos = scheme.aggregator(session), silo_sides(scheme, session)
        opened = side.open()
        replies = {name: silos[name].answer(opened[name]) for name in ROSTER}
        with pytest.raises(ProtocolError):
            side.advance({**replies, "mallory": replies["north"]})

    def test_nobody_joins_a_session_that_does_not_name_them(self, scheme: SecureSum) -> None:
        vector = contributions(REALS)["north"]
        with pytest.raises(DomainError):
            scheme.silo(session_of(scheme), Identity.create("mallory"), vector, SeededRandomness(0))

    @pytest.mark.parametrize("bad", [np.nan, np.inf, 8.1])
    def test_a_contribution_outside_the_domain_never_leaves_the_silo(self, scheme: SecureSum, bad: float) -> None:
        vector = contributions(REALS)["north"].astype(np.float64)
        vector[7] = bad
        with pytest.raises(DomainError):
            scheme.silo(session_of(scheme), IDENTITIES["north"], vector, SeededRandomness(0))

    def test_a_contribution_of_the_wrong_length_is_refused(self, scheme: SecureSum) -> None:
        with pytest.raises(DomainError):
            scheme.silo(session_of(scheme), IDENTITIES["north"], np.zeros(299), SeededRandomness(0))

    def test_a_silo_that_forgot_answers_nothing(self, scheme: SecureSum) -> None:
        session = session_of(scheme)
        silo, first = silo_sides(scheme, session)["north"], scheme.aggregator(session).open()["north"]
        silo.forget()
        with pytest.raises(WrongRound):
            silo.answer(first)

    def test_a_domain_that_could_wrap_is_not_admitted(self, scheme: SecureSum) -> None:
        scheme.admit(REALS, 4)
        for domain in (RealDomain(10, 1e308), IntegerDomain(10, 2**62), RealDomain(0, 1.0)):
            with pytest.raises(DomainError):
                scheme.admit(domain, 4)

    @pytest.mark.parametrize("domain", [REALS, INTEGERS], ids=["reals", "integers"])
    @pytest.mark.parametrize(
        ("names", "silent_from"),
        [*((ROSTER, number) for number in range(MOST_ROUNDS)), (LONGEST_NAMES, MOST_ROUNDS)],
        ids=lambda value: "" if isinstance(value, int) else f"{len(value)} silos",
    )
    def test_no_honest_reply_is_longer_than_the_largest_nor_far_below_it(
        self, scheme: SecureSum, domain: Domain, names: tuple[str, ...], silent_from: int
    ) -> None:
        """Whoever reads from a network reads no more than `largest` bytes: it must be enough, and it must be a bound."""
        for each in rounds(scheme, domain, names, silent_from=silent_from):
            longest = max(map(len, each.replies.values()), default=0)
            assert longest <= each.side.largest <= 4 * longest + SLACK_BYTES

    def test_a_reply_above_the_largest_is_refused_in_every_round_and_an_honest_one_is_not(
        self, scheme: SecureSum
    ) -> None:
        for each in rounds(scheme, REALS, ROSTER):
            for silo, reply in each.replies.items():
                each.side.check(silo, reply)
                # In a field that nobody knows, so that the message decodes to the honest one.
                padding = pb.Chunk(digest=bytes(each.side.largest + 1 - len(reply))).SerializeToString()
                with pytest.raises(MessageTooLarge):
                    each.side.check(silo, reply + UNKNOWN_FIELD + padding[1:])

    def test_the_largest_reply_is_known_only_while_the_sum_is_open(self, scheme: SecureSum) -> None:
        with pytest.raises(WrongRound):
            scheme.aggregator(session_of(scheme)).largest  # noqa: B018 (it is a property that refuses)

    def test_no_silos_vector_appears_in_what_the_aggregator_hears_but_in_the_plain_sum(self, scheme: SecureSum) -> None:
        """A sum may hide less than that shows: its `exposure` is about what can be computed, too."""
        heard: list[bytes] = []
        drive(scheme, session_of(scheme), heard=heard)
        vectors = [
            vector.astype(dtype).tobytes() for vector in contributions(REALS).values() for dtype in ("<f4", "<f8")
        ]
        seen = any(vector[:64] in message for vector in vectors for message in heard)
        assert seen == isinstance(scheme, PlainSum)
        assert not (seen and scheme.exposure.hides_contributions)

    @pytest.mark.parametrize("killed", ROSTER)
    def test_a_silo_that_is_killed_after_every_reply_goes_on_from_its_state(
        self, scheme: SecureSum, killed: str
    ) -> None:
        """With other randomness after each kill, as in life. What left stays, and the total is right."""
        session, number = session_of(scheme), 100
        silos, side = silo_sides(scheme, session), scheme.aggregator(session)
        step: Mapping[str, bytes] | Sum = side.open()
        while not isinstance(step, Sum):
            replies = {silo: silos[silo].answer(message) for silo, message in step.items()}
            kept, number = silos[killed].state(), number + 1
            vector = contributions(REALS)[killed]
            silos[killed] = scheme.silo(session, IDENTITIES[killed], vector, SeededRandomness(number))
            silos[killed].restore(kept)
            step = side.advance(replies)
        assert np.abs(step.total - np.sum(list(contributions(REALS).values()), axis=0)).max() <= step.error_bound

    def test_silos_may_fall_silent_in_any_round_or_the_sum_says_that_it_needs_all(self, scheme: SecureSum) -> None:
        """Whatever comes out is the sum over its contributors, of whom there are as many as the session demands."""
        vectors = contributions(REALS)
        for last in range(1, 9):  # the round from which on `west` says nothing
            session = session_of(scheme)
            silos, side = silo_sides(scheme, session), scheme.aggregator(session)
            step: Mapping[str, bytes] | Sum = side.open()
            number = 0
            try:
                while not isinstance(step, Sum):
                    there = [silo for silo in step if silo != "west" or number < last - 1]
                    step = side.advance({silo: silos[silo].answer(step[silo]) for silo in there})
                    number += 1
            except QuorumLost:
                assert scheme.fewest(len(ROSTER)) == len(ROSTER)
                continue
            assert len(step.contributors) >= 3
            exact = np.sum([vectors[silo] for silo in step.contributors], axis=0)
            assert np.abs(step.total - exact).max() <= step.error_bound

    def test_a_session_tells_more_than_its_sum_with_probability_2_to_the_minus_40_at_most(
        self, scheme: SecureSum
    ) -> None:
        for length in (1, REALS.length, 100_000):
            assert 0 <= scheme.statistical_distance(RealDomain(length, 8.0), 4) <= 2.0**-40


def test_an_array_with_nan_in_a_reply_is_refused_by_the_aggregator() -> None:
    scheme = PlainSum()
    session = session_of(scheme)
    side, silos = scheme.aggregator(session), silo_sides(scheme, session)
    opened = side.open()
    replies = {name: silos[name].answer(opened[name]) for name in ROSTER}
    vector = contributions(REALS)["north"].astype("<f4").tobytes()
    nan = np.full(300, np.nan, dtype="<f4").tobytes()
    assert vector in replies["north"]
    with pytest.raises(MessageError):
        side.advance({**replies, "north": replies["north"].replace(vector, nan)})
