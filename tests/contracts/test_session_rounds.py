"""What every secure sum does with messages that are late, early, damaged or false, and after a crash.

Bytes that are no message of the session and round are refused and change nothing. A message that is one, but says
something wrong, ends the session for the silo: half a step must not be taken again.
"""

from collections.abc import Callable

import numpy as np
import pytest

from siloseal.federation.errors import (
    DomainError,
    MessageError,
    ProtocolError,
    QuorumLost,
    SessionMismatch,
    SignatureInvalid,
    WrongRound,
)
from siloseal.federation.sums.envelope import wrap
from siloseal.federation.sums.secure_sum import SecureSum
from tests.federation.sums.recorded import Recorded

from .ended import require_ended, require_refused
from .schemes import (
    ADDITIVE,
    ALL_SCHEMES,
    HIDING,
    JOINT_KEY,
    PAILLIER,
    RING,
    ROSTER,
    ROUNDS,
    SHORT,
    STOCK_CKKS,
    begin,
    finished,
    name_of,
    silent_for_all_rounds,
)

every_scheme = pytest.mark.parametrize("scheme", ALL_SCHEMES, ids=name_of)
every_hiding_scheme = pytest.mark.parametrize("scheme", HIDING, ids=name_of)

NEEDED_IF_ANOTHER_FALLS_SILENT: list[SecureSum] = [JOINT_KEY, PAILLIER, STOCK_CKKS]
"""Silos that were not asked to the end could still be: for a share of a silent silo's key, or to tell the sum."""

Damage = Callable[[bytes], bytes]
DAMAGES: dict[str, Damage] = {
    "cut": lambda message: message[:-1],
    "prefixed": lambda message: b"\xff" + message,
    "empty": lambda message: b"",
}


def turns(parties: Recorded) -> list[tuple[int, str]]:
    """Every round with every silo that answered in it."""
    return [(number, silo) for number, said in enumerate(parties.said) for silo in said]


@every_scheme
class TestASilo:
    def test_answers_its_next_message_and_no_other(self, scheme: SecureSum) -> None:
        """From whatever state: messages of every other round are refused, and it is still there for its own."""
        parties = finished(scheme)
        for number, silo in turns(parties):
            side = parties.restored(silo, number)
            for other, message in enumerate(parties.asked):
                if other != number:
                    with pytest.raises(WrongRound):
                        side.answer(message.get(silo) or next(iter(message.values())))
            side.answer(parties.asked[number][silo])

    def test_answers_no_message_twice(self, scheme: SecureSum) -> None:
        parties = begin(scheme, SHORT)
        while parties.result is None:
            parties.step(silent=silent_for_all_rounds(scheme))
            for silo in parties.said[-1]:
                with pytest.raises(WrongRound):
                    parties.silos[silo].answer(parties.asked[-1][silo])
        np.testing.assert_array_equal(parties.result.total, parties.total())

    def test_stays_there_for_the_right_message_after_a_damaged_one(self, scheme: SecureSum) -> None:
        parties = begin(scheme, SHORT)
        while parties.result is None:
            for silo, message in parties.messages.items():
                for damage in DAMAGES.values():
                    with pytest.raises((MessageError, SessionMismatch)):
                        parties.silos[silo].answer(damage(message))
            parties.step(silent=silent_for_all_rounds(scheme))
        np.testing.assert_array_equal(parties.result.total, parties.total())

    def test_that_forgot_keeps_nothing_and_answers_nothing(self, scheme: SecureSum) -> None:
        parties = finished(scheme)
        for number, silo in turns(parties):
            side = parties.restored(silo, number)
            side.forget()
            require_ended(parties, side, silo)

    def test_keeps_nothing_when_the_sum_is_over(self, scheme: SecureSum) -> None:
        parties = finished(scheme)
        for silo in ROSTER:
            side = parties.side(silo)
            side.restore(parties.states[-1][silo])
            if scheme in NEEDED_IF_ANOTHER_FALLS_SILENT:
                side.forget()
            require_ended(parties, side, silo)

    def test_has_its_vector_in_no_state(self, scheme: SecureSum) -> None:
        """It has the vector in a file of its own; the state is written at every round."""
        parties = finished(scheme)
        for silo in ROSTER:
            vector = parties.vectors[silo]
            clear = [vector.astype(dtype).tobytes()[:32] for dtype in ("<i8", "<u4", "<f4", "<f8")]
            assert not any(piece in states[silo] for states in parties.states for piece in clear)

    def test_that_is_killed_goes_on_from_its_state(self, scheme: SecureSum) -> None:
        """All of them before every round, each with other randomness after it, as in life."""
        parties = begin(scheme, SHORT)
        result = parties.run(restarted=range(20), silent=silent_for_all_rounds(scheme))
        np.testing.assert_array_equal(result.total, parties.total())


@every_scheme
def test_a_session_has_the_rounds_that_these_tests_count_on(scheme: SecureSum) -> None:
    assert len(finished(scheme).asked) == ROUNDS[scheme]


@every_hiding_scheme
def test_a_message_that_says_something_wrong_ends_the_session_for_the_silo(scheme: SecureSum) -> None:
    parties = finished(scheme)
    for number, silo in turns(parties):
        require_refused(parties, silo, number, b"\xff", ProtocolError)


@every_hiding_scheme
def test_a_first_request_that_says_something_is_refused(scheme: SecureSum) -> None:
    parties = begin(scheme, SHORT)
    with pytest.raises(MessageError):
        parties.silos["north"].answer(wrap(parties.session, round=0, body=b"\0"))


Attempt = Callable[[Recorded, int, str, bytes], None]


def try_on_every_reply(scheme: SecureSum, attempt: Attempt) -> None:
    """Have something tried at the aggregator before each honest reply comes in; the sum is right all the same."""

    def reply(number: int, silo: str, body: bytes) -> bytes:
        attempt(parties, number, silo, body)
        return body

    parties = begin(scheme, SHORT)
    result = parties.run(reply=reply, silent=silent_for_all_rounds(scheme))
    np.testing.assert_array_equal(result.total, parties.total())


@every_scheme
class TestTheAggregator:
    def test_refuses_a_reply_in_every_round_that_is_cut_prolonged_or_empty(self, scheme: SecureSum) -> None:
        def others(parties: Recorded, number: int, silo: str, body: bytes) -> None:
            for wrong in (body[:-1], body + b"\0", b""):
                with pytest.raises(ProtocolError):
                    parties.aggregator.check(silo, wrap(parties.session, round=2 * number + 1, body=wrong))

        try_on_every_reply(scheme, others)

    def test_refuses_a_reply_of_another_round(self, scheme: SecureSum) -> None:
        def others(parties: Recorded, number: int, silo: str, body: bytes) -> None:
            for other in set(range(10)) - {number}:
                with pytest.raises(WrongRound):
                    parties.aggregator.check(silo, wrap(parties.session, round=2 * other + 1, body=body))

        try_on_every_reply(scheme, others)

    def test_refuses_whoever_was_not_asked(self, scheme: SecureSum) -> None:
        def others(parties: Recorded, number: int, silo: str, body: bytes) -> None:
            for other in {"mallory", *ROSTER} - set(parties.asked[number]):
                with pytest.raises(DomainError):
                    parties.aggregator.check(other, wrap(parties.session, round=2 * number + 1, body=body))

        try_on_every_reply(scheme, others)

    def test_waits_for_the_quorum_or_for_as_many_as_the_scheme_needs(self, scheme: SecureSum) -> None:
        parties = begin(scheme, SHORT, quorum=2)
        assert parties.messages
        assert parties.aggregator.fewest == max(2, scheme.fewest(len(ROSTER)))

    def test_never_waits_for_more_than_it_has_asked(self, scheme: SecureSum) -> None:
        def count(parties: Recorded, number: int, silo: str, body: bytes) -> None:
            assert 1 <= parties.aggregator.fewest <= len(parties.asked[number])

        try_on_every_reply(scheme, count)


@every_hiding_scheme
def test_the_aggregator_refuses_a_first_reply_that_another_silo_signed(scheme: SecureSum) -> None:
    parties = begin(scheme, SHORT)
    replies = parties.answer(parties.messages)
    for silo, other in zip(ROSTER, (*ROSTER[1:], ROSTER[0]), strict=True):
        parties.aggregator.check(silo, replies[silo])
        with pytest.raises(SignatureInvalid):
            parties.aggregator.check(silo, replies[other])


@pytest.mark.parametrize(
    ("scheme", "silo"),
    [
        (scheme, silo)
        for scheme in ALL_SCHEMES
        for silo in (ROSTER if scheme in (ADDITIVE, RING) else ROSTER[-1:] if scheme is JOINT_KEY else ROSTER[::3])
    ],
    ids=lambda value: value if isinstance(value, str) else value.name,
)
def test_a_silo_that_falls_silent_in_any_round_leaves_a_right_sum_or_none(scheme: SecureSum, silo: str) -> None:
    """Whatever comes out is the sum over its contributors, as many as the session demands. There is no second try."""
    for number in range(ROUNDS[scheme]):
        parties = begin(scheme, SHORT)
        try:
            result = parties.run(silent={silo: number})
        except QuorumLost:
            assert scheme.fewest(len(ROSTER)) == len(ROSTER) or silo == ROSTER[0]
            with pytest.raises(WrongRound):
                parties.aggregator.advance({})
        else:
            assert len(result.contributors) >= 3
            np.testing.assert_array_equal(result.total, parties.total(*result.contributors))
