"""What every secure sum must do, over all of them; `test_session_rounds.py` has what it does with wrong messages."""

import math
from contextlib import suppress
from dataclasses import replace
from typing import get_args

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
from siloseal.federation.sums.config import NamedSum, SumKind
from siloseal.federation.sums.secure_sum import SecureSum
from siloseal.federation.sums.session import Domain, IntegerDomain, RealDomain, Session, Vector
from siloseal.federation.transport.wire import consortium_pb2
from tests.federation.sums.recorded import Recorded, drawn_vectors, identity

from .schemes import (
    ALL_SCHEMES,
    HIDING,
    INTEGERS,
    JOINT_KEY,
    LARGEST_MODULUS,
    PLAIN,
    REALS,
    ROSTER,
    ROUNDS,
    begin,
    name_of,
)

UNKNOWN_FIELD = b"\x7a"  # field 15, of bytes
MANY = (*ROSTER, "coast", "hill")
LONGEST_NAMES = tuple(f"{number:x<64}" for number in range(10))
"""Of many silos: what a reply holds for each of the others must fit, framing included."""
SLACK_BYTES = 4096

MODULI = (2, 3, 1000, 2**16 - 1, 2**32, 2**40, 2**57, 2**60 - 1, 2**60)


def case_of(value: SecureSum | int | tuple[str, ...]) -> str:
    if isinstance(value, tuple):
        return f"{len(value)} silos"
    return str(value) if isinstance(value, int) else value.name


def join(scheme: SecureSum, session: Session, vector: Vector, me: Identity | None = None) -> None:
    scheme.silo(session, me or identity("north"), vector, SeededRandomness(0))


@pytest.mark.parametrize("scheme", ALL_SCHEMES, ids=name_of)
class TestEverySecureSum:
    @pytest.mark.parametrize("domain", [REALS, INTEGERS], ids=["reals", "integers"])
    def test_equals_the_plain_sum_within_its_error_bound(self, scheme: SecureSum, domain: Domain) -> None:
        parties = begin(scheme, domain)
        result = parties.run()
        assert result.contributors == ROSTER
        if isinstance(domain, IntegerDomain):
            assert result.error_bound == 0
            np.testing.assert_array_equal(result.total, parties.total())
        else:
            exact = [math.fsum(entries) for entries in zip(*parties.vectors.values(), strict=True)]
            assert 0 < result.error_bound < 1e-3
            assert np.abs(result.total - exact).max() <= result.error_bound

    def test_the_aggregator_does_not_advance_before_it_opens(self, scheme: SecureSum) -> None:
        with pytest.raises(WrongRound):
            begin(scheme).aggregator.advance({})

    def test_a_message_of_another_session_is_refused_by_both_sides(self, scheme: SecureSum) -> None:
        mine, other = begin(scheme), begin(scheme, id=1)
        assert mine.messages
        with pytest.raises(SessionMismatch):
            mine.silos["north"].answer(other.messages["north"])
        with pytest.raises(SessionMismatch):
            mine.aggregator.advance(other.answer(other.messages))

    @pytest.mark.parametrize(
        "damage", [lambda m: m[:-1], lambda m: b"\xff" + m, lambda m: b"", lambda m: m[:40] + bytes(8) + m[48:]]
    )
    def test_a_damaged_reply_is_not_added(self, scheme: SecureSum, damage) -> None:  # type: ignore[no-untyped-def]
        parties = begin(scheme)
        replies = parties.answer(parties.messages)
        with pytest.raises(ProtocolError):
            parties.aggregator.advance({**replies, "north": damage(replies["north"])})

    def test_too_few_replies_lose_the_quorum_and_give_no_partial_sum(self, scheme: SecureSum) -> None:
        parties = begin(scheme, quorum=3)
        replies = parties.answer(parties.messages)
        with pytest.raises(QuorumLost):
            parties.aggregator.advance({name: replies[name] for name in ROSTER[:2]})

    def test_a_reply_from_a_stranger_is_refused(self, scheme: SecureSum) -> None:
        parties = begin(scheme)
        replies = parties.answer(parties.messages)
        with pytest.raises(ProtocolError):
            parties.aggregator.advance({**replies, "mallory": replies["north"]})

    def test_nobody_joins_a_session_that_does_not_name_them(self, scheme: SecureSum) -> None:
        parties = begin(scheme)
        with pytest.raises(DomainError):
            join(scheme, parties.session, parties.vectors["north"], Identity.create("mallory"))

    @pytest.mark.parametrize("bad", [np.nan, np.inf, 8.1])
    def test_a_contribution_outside_the_domain_never_leaves_the_silo(self, scheme: SecureSum, bad: float) -> None:
        parties = begin(scheme)
        vector = parties.vectors["north"].copy()
        vector[7] = bad
        with pytest.raises(DomainError):
            join(scheme, parties.session, vector)

    def test_a_contribution_of_the_wrong_length_is_refused(self, scheme: SecureSum) -> None:
        with pytest.raises(DomainError):
            join(scheme, begin(scheme).session, np.zeros(299))

    @pytest.mark.parametrize(
        "vector",
        [np.full(300, 2**20), np.full(300, -1), np.zeros(299, dtype=np.int64), np.zeros(300), np.zeros(300, "<i4")],
        ids=["too large", "negative", "too short", "real", "short words"],
    )
    def test_a_contribution_that_is_not_of_the_integers_is_refused(self, scheme: SecureSum, vector: Vector) -> None:
        with pytest.raises(DomainError):
            join(scheme, begin(scheme, INTEGERS).session, vector)

    def test_a_domain_that_could_wrap_is_not_admitted(self, scheme: SecureSum) -> None:
        scheme.admit(REALS, 4)
        for domain in (RealDomain(10, 1e308), IntegerDomain(10, 2**62), RealDomain(0, 1.0), IntegerDomain(0, 2**20)):
            with pytest.raises(DomainError):
                scheme.admit(domain, 4)

    def test_a_reply_above_the_largest_is_refused_in_every_round(self, scheme: SecureSum) -> None:
        parties = begin(scheme)

        def prolong(number: int, silo: str, reply: bytes) -> bytes:
            # In a field that nobody knows, so that the message decodes to the honest one.
            padding = consortium_pb2.Chunk(
                digest=bytes(parties.aggregator.largest + 1 - len(reply))
            ).SerializeToString()
            with pytest.raises(MessageTooLarge):
                parties.aggregator.check(silo, reply + UNKNOWN_FIELD + padding[1:])
            return reply

        assert parties.finish(from_silo=prolong).contributors == ROSTER

    def test_the_largest_reply_is_known_only_while_the_sum_is_open(self, scheme: SecureSum) -> None:
        with pytest.raises(WrongRound):
            begin(scheme).aggregator.largest  # noqa: B018 (it is a property that refuses)

    def test_no_silos_vector_appears_in_what_the_aggregator_hears_but_in_the_plain_sum(self, scheme: SecureSum) -> None:
        """A sum may hide less than that shows: its `exposure` is about what can be computed, too."""
        parties = begin(scheme)
        parties.run()
        heard = [reply for said in parties.said for reply in said.values()]
        vectors = [vector.astype(dtype).tobytes() for vector in parties.vectors.values() for dtype in ("<f4", "<f8")]
        seen = any(vector[:64] in message for vector in vectors for message in heard)
        assert seen == (scheme is PLAIN)
        assert not (seen and scheme.exposure.hides_contributions)

    def test_a_session_tells_more_than_its_sum_with_probability_2_to_the_minus_40_at_most(
        self, scheme: SecureSum
    ) -> None:
        for length in (1, REALS.length, 100_000):
            assert 0 <= scheme.statistical_distance(RealDomain(length, 8.0), 4) <= 2.0**-40


@pytest.mark.parametrize("domain", [REALS, INTEGERS], ids=["reals", "integers"])
@pytest.mark.parametrize(
    ("scheme", "names", "silent_from"),
    [
        *((scheme, ROSTER, number) for scheme in ALL_SCHEMES for number in range(ROUNDS[scheme] + 1)),
        *((scheme, LONGEST_NAMES, 100) for scheme in ALL_SCHEMES),
    ],
    ids=case_of,
)
def test_no_honest_reply_is_longer_than_the_largest_nor_far_below_it(
    scheme: SecureSum, domain: Domain, names: tuple[str, ...], silent_from: int
) -> None:
    """Whoever reads from a network reads no more than `largest` bytes: it must be enough, and it must be a bound."""
    parties, longest, bounds = begin(scheme, domain, names=names), dict[int, int](), dict[int, int]()

    def measure(number: int, silo: str, reply: bytes) -> bytes:
        longest[number] = max(longest.get(number, 0), len(reply))
        bounds[number] = parties.aggregator.largest
        return reply

    with suppress(QuorumLost):
        parties.finish({names[-1]: silent_from + 1}, from_silo=measure)
    assert all(longest[number] <= bound <= 4 * longest[number] + SLACK_BYTES for number, bound in bounds.items())


@pytest.mark.parametrize(
    ("scheme", "modulus", "names"),
    [
        *(
            (scheme, modulus, ROSTER[:3])
            for scheme in ALL_SCHEMES
            for modulus in (MODULI[::3] if scheme is JOINT_KEY else MODULI)  # its keys take longest
            if modulus <= LARGEST_MODULUS[scheme]
        ),
        *((scheme, modulus, MANY) for scheme in ALL_SCHEMES for modulus in (1000, LARGEST_MODULUS[scheme])),
    ],
    ids=case_of,
)
def test_any_modulus_gives_the_exact_sum(scheme: SecureSum, modulus: int, names: tuple[str, ...]) -> None:
    """One silo has the largest entries that there are."""
    domain = IntegerDomain(130, modulus)
    vectors = drawn_vectors(names, domain) | {"north": np.full(130, modulus - 1)}
    parties = Recorded(scheme, vectors, domain)
    result = parties.run()
    np.testing.assert_array_equal(result.total, parties.total())
    assert (result.contributors, result.error_bound) == (tuple(sorted(names)), 0.0)


@pytest.mark.parametrize("scheme", HIDING, ids=name_of)
class TestEverySumThatHides:
    def test_is_over_two_silos_or_more(self, scheme: SecureSum) -> None:
        with pytest.raises(DomainError):
            scheme.admit(REALS, 1)

    def test_has_no_silo_that_a_sum_of_one_would_do_for(self, scheme: SecureSum) -> None:
        parties = begin(scheme)
        with pytest.raises(DomainError):
            join(scheme, replace(parties.session, quorum=1), parties.vectors["north"])

    def test_has_no_silo_that_the_roster_has_another_identity_key_for(self, scheme: SecureSum) -> None:
        parties = begin(scheme)
        with pytest.raises(DomainError):
            join(scheme, parties.session, parties.vectors["north"], Identity.create("north"))

    def test_has_no_silo_on_whose_roster_two_are_one(self, scheme: SecureSum) -> None:
        parties = begin(scheme)
        doubled = (*parties.session.identities[:3], parties.session.identities[2])
        with pytest.raises(DomainError):
            join(scheme, replace(parties.session, identities=doubled), parties.vectors["north"])

    def test_is_refused_by_silo_and_aggregator_where_its_domain_is_not_admitted(self, scheme: SecureSum) -> None:
        session = replace(begin(scheme).session, domain=IntegerDomain(10, 2**62))
        with pytest.raises(DomainError):
            join(scheme, session, np.zeros(10, dtype=np.int64))
        with pytest.raises(DomainError):
            scheme.aggregator(session).open()


def test_an_array_with_nan_in_a_reply_is_refused_by_the_aggregator() -> None:
    parties = begin(PLAIN)
    replies = parties.answer(parties.messages)
    vector = parties.vectors["north"].astype("<f4").tobytes()
    nan = np.full(300, np.nan, dtype="<f4").tobytes()
    assert vector in replies["north"]
    with pytest.raises(MessageError):
        parties.aggregator.advance({**replies, "north": replies["north"].replace(vector, nan)})


@pytest.mark.parametrize("kind", sorted(set(get_args(SumKind)) - {"plain", "ckks_one_key"}))
def test_the_precision_of_a_config_is_in_the_name_that_the_silos_agree_on(kind: str) -> None:
    """Two sums round to no grid, and have no precision."""
    config = NamedSum.model_validate({"secure_sum": {"kind": kind, "precision_bits": 20}})
    assert "precision_bits=20" in config.secure_sum.build().name
