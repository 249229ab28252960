"""One call sums by the real protocol; what it counts, who may drop out, what hooks see, and what is refused."""

from collections.abc import Iterator, Mapping

import numpy as np
import pytest

from siloseal.federation.errors import (
    DomainError,
    MessageError,
    QuorumLost,
    SessionMismatch,
    WrongContributors,
    WrongRound,
)
from siloseal.federation.randomness import SeededRandomness
from siloseal.federation.records.identity import Identity
from siloseal.federation.sums.exchanges import Exchange
from siloseal.federation.sums.in_process import InProcess, sum_in_process
from siloseal.federation.sums.new_session import new_session
from siloseal.federation.sums.plain.plain_sum import PlainSum
from siloseal.federation.sums.ring.ring_sum import RingSum
from siloseal.federation.sums.secagg.config import SecAggConfig
from siloseal.federation.sums.secagg.secagg_sum import SecAggSum
from siloseal.federation.sums.session import IntegerDomain, RealDomain, Vector

INTEGERS = {name: np.full(3, number, dtype=np.int64) for number, name in enumerate(("n", "e", "s", "w"), start=1)}
DOMAIN = IntegerDomain(3, 2**16)
UPLOAD, AFTER_UPLOAD, LAST = 3, 4, 5
"""Rounds of SecAgg."""


class TestOneCall:
    def test_sums_named_real_vectors_within_the_error_bound(self) -> None:
        vectors = {"north": np.array([0.5, -3.0]), "east": np.array([0.25, 1.0])}
        result = sum_in_process(SecAggConfig(kind="secagg").build(), vectors)
        assert np.abs(result.total - [0.75, -2.0]).max() <= result.error_bound
        assert result.contributors == ("east", "north")

    def test_names_silos_by_their_number_if_nobody_else_does(self) -> None:
        result = sum_in_process(PlainSum(), np.ones((3, 5)))
        assert result.contributors == ("silo0", "silo1", "silo2")
        assert result.total.tolist() == [3.0] * 5

    def test_sums_integers_modulo_their_modulus(self) -> None:
        assert sum_in_process(SecAggSum(), INTEGERS, domain=IntegerDomain(3, 7)).total.tolist() == [3, 3, 3]

    def test_takes_lists_and_single_precision_too(self) -> None:
        vectors = [[0.5, 0.25], np.array([1.0, 1.0], dtype=np.float32)]
        assert sum_in_process(PlainSum(), vectors).total.tolist() == [1.5, 1.25]  # type: ignore[list-item]

    def test_sums_zeros(self) -> None:
        assert sum_in_process(PlainSum(), [np.zeros(2)] * 2).total.tolist() == [0.0, 0.0]


class TestADomainThatIsNotGiven:
    def test_is_as_wide_as_the_largest_magnitude(self) -> None:
        assert InProcess(PlainSum(), [np.array([1.0, -8.5]), np.array([2.0, 3.0])]).session.domain == RealDomain(2, 8.5)

    @pytest.mark.parametrize(
        "vectors",
        [
            [],
            {},
            [np.ones(3), np.ones(4)],
            [np.ones(3), np.array([1.0, np.nan, 1.0])],
            [np.ones(3), np.array([1.0, np.inf, 1.0])],
            [np.ones((2, 2))],
            [np.ones(0)],
            [np.float64(1.0)],
            INTEGERS,
        ],
        ids=["none", "no names", "lengths", "nan", "infinity", "matrix", "empty", "number", "integers"],
    )
    def test_is_not_guessed_from_bad_vectors(self, vectors: Mapping[str, Vector] | list[Vector]) -> None:
        with pytest.raises(DomainError):
            sum_in_process(PlainSum(), vectors)

    def test_says_whose_vector_is_wrong(self) -> None:
        with pytest.raises(DomainError, match="east"):
            sum_in_process(PlainSum(), {"north": np.ones(2), "east": np.array([1.0, np.nan])})


class TestADomainThatIsGiven:
    @pytest.mark.parametrize("vector", [np.ones(4), np.array([1.0, np.nan, 1.0]), np.full(3, 2.5)])
    def test_is_checked(self, vector: Vector) -> None:
        with pytest.raises(DomainError):
            sum_in_process(PlainSum(), [np.ones(3), vector], domain=RealDomain(3, 2.0))

    def test_lets_vectors_be_made_as_they_are_needed(self) -> None:
        """So that never all of them are in memory."""

        class Made(Mapping[str, Vector]):
            def __getitem__(self, silo: str) -> Vector:
                made.append(silo)
                return np.ones(3)

            def __iter__(self) -> Iterator[str]:
                return iter(("north", "east"))

            def __len__(self) -> int:
                return 2

        made = list[str]()
        assert sum_in_process(PlainSum(), Made(), domain=RealDomain(3, 1.0)).total.tolist() == [2.0] * 3
        assert made == ["north", "east"]


class TestSilosThatDropOut:
    def test_before_their_upload_are_not_in_the_sum_and_after_it_are(self) -> None:
        for first, total in ((UPLOAD, 6), (AFTER_UPLOAD, 10)):
            result = sum_in_process(SecAggSum(), INTEGERS, domain=DOMAIN, quorum=3, drop={"w": first})
            assert result.total.tolist() == [total] * 3

    def test_are_missed_unless_a_quorum_says_otherwise(self) -> None:
        with pytest.raises(QuorumLost):
            sum_in_process(SecAggSum(), INTEGERS, domain=DOMAIN, drop={"w": 1})

    def test_must_be_there_in_the_first_place(self) -> None:
        with pytest.raises(WrongContributors):
            sum_in_process(SecAggSum(), INTEGERS, domain=DOMAIN, drop={"west": 1})
        with pytest.raises(WrongRound):
            sum_in_process(SecAggSum(), INTEGERS, domain=DOMAIN, drop={"w": 0})


@pytest.mark.parametrize("quorum", [0, 5])
def test_a_quorum_that_does_not_fit_is_refused(quorum: int) -> None:
    with pytest.raises(DomainError):
        sum_in_process(SecAggSum(), INTEGERS, domain=DOMAIN, quorum=quorum)


def test_a_scheme_that_needs_more_silos_says_so() -> None:
    with pytest.raises(DomainError):
        sum_in_process(RingSum(), [np.ones(3, dtype=np.int64)] * 2, domain=DOMAIN)


class TestWhatIsCounted:
    def test_bytes_of_every_silo_in_every_round_are_those_of_its_messages(self) -> None:
        asked, said = list[tuple[int, str, int]](), list[tuple[int, str, int]]()

        def see(seen: list[tuple[int, str, int]], round: int, silo: str, message: bytes) -> bytes:
            seen.append((round, silo, len(message)))
            return message

        result = sum_in_process(
            SecAggSum(), INTEGERS, domain=DOMAIN, quorum=3, drop={"w": LAST},
            to_silo=lambda *told: see(asked, *told), from_silo=lambda *told: see(said, *told),
        )  # fmt: skip
        exchanges = [each for each in result.exchanges if each.round]
        assert [each[:3] for each in exchanges] == asked
        assert [(each.round, each.silo, each.sent_bytes) for each in exchanges] == said
        assert result.sent["w"] == sum(size for _, silo, size in said if silo == "w") < result.sent["n"]
        assert result.received["w"] == sum(size for _, silo, size in asked if silo == "w") < result.received["n"]
        assert result.rounds == LAST

    def test_every_party_is_timed_by_the_clock_that_is_given(self) -> None:
        """One tick at each look: each step of a silo takes one, and each round of the aggregator."""
        ticks = iter(range(10**6))
        result = InProcess(SecAggSum(), INTEGERS, domain=DOMAIN, clock=lambda: float(next(ticks))).finish()
        assert set(result.seconds.values()) == {1.0 + LAST}
        assert result.aggregator_seconds == LAST
        assert result.exchanges[0] == Exchange(0, "n", 0, 0, 1.0)


class TestHooks:
    def test_alter_what_a_silo_is_told(self) -> None:
        other = new_session(PlainSum(), {"n": Identity.create("n")}, RealDomain(1, 1.0))
        strange = PlainSum().aggregator(other).open()["n"]
        with pytest.raises(SessionMismatch):
            sum_in_process(PlainSum(), [np.ones(2)] * 2, to_silo=lambda _, silo, message: strange)

    def test_alter_what_the_aggregator_hears(self) -> None:
        with pytest.raises(MessageError):
            sum_in_process(PlainSum(), [np.ones(2)] * 2, from_silo=lambda _, silo, message: message[:-1])


class TestRoundByRound:
    def parties(self) -> InProcess:
        return InProcess(
            SecAggSum(), INTEGERS, domain=DOMAIN, quorum=3, randomness=lambda silo: SeededRandomness(ord(silo))
        )

    def test_nobody_is_asked_when_the_sum_is_there(self) -> None:
        parties = self.parties()
        assert parties.finish().total.tolist() == [10, 10, 10]
        with pytest.raises(WrongRound):
            _ = parties.messages

    def test_replies_of_the_last_round_can_be_read(self) -> None:
        parties = self.parties()
        parties.next_round(silent=["w"])
        assert sorted(parties.replies) == ["e", "n", "s"]
        assert parties.round == 1
        assert parties.finish().contributors == ("e", "n", "s")

    def test_a_restarted_silo_goes_on_from_its_state_with_other_randomness(self) -> None:
        parties = self.parties()
        for _ in range(LAST - 1):
            parties.next_round()
            before = parties.silos["n"]
            parties.restart("n", SeededRandomness(99))
            assert parties.silos["n"] is not before
            assert parties.silos["n"].state() == before.state()
        assert parties.finish().total.tolist() == [10, 10, 10]

    def test_another_aggregator_may_take_the_place_of_the_honest_one_before_the_first_round(self) -> None:
        parties = self.parties()
        parties.aggregator = parties.scheme.aggregator(parties.session)
        parties.next_round()
        assert parties.aggregator.fewest == 3

    def test_equal_randomness_identities_and_id_give_equal_messages(self) -> None:
        identities = {silo: Identity.create(silo) for silo in INTEGERS}
        first, second = (
            InProcess(
                SecAggSum(), INTEGERS, domain=DOMAIN, identities=identities, session_id=bytes(32),
                randomness=lambda silo: SeededRandomness(ord(silo)),
            )
            for _ in range(2)
        )  # fmt: skip
        for parties in (first, second):
            parties.next_round()
        assert first.session == second.session
        assert first.replies == second.replies
        assert first.messages == second.messages

    def test_two_sessions_differ_unless_they_are_given_an_id(self) -> None:
        assert self.parties().session.id != self.parties().session.id
