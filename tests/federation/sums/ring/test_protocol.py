"""The secure-sum game: what travels, and what neighbours learn together and alone.

What it refuses is in tests/contracts, for every sum, but for what only a ring can get wrong.

Statistical tests would raise a false alarm with one choice of their seed in a million.
"""

import numpy as np
import pytest
from numpy.typing import NDArray

from siloseal.federation.errors import DomainError, MessageError, SealBroken, WrongContributors
from siloseal.federation.randomness import SeededRandomness
from siloseal.federation.sums.envelope import wrap
from siloseal.federation.sums.masked.silo_side import sealed_share_context
from siloseal.federation.sums.ring.ring_sum import RingSum
from siloseal.federation.sums.rounds import pieces
from siloseal.federation.sums.sealing import ChannelKey
from siloseal.federation.sums.session import IntegerDomain
from siloseal.federation.transport.wire import masked_pb2, ring_pb2
from siloseal.federation.transport.wire.codec import decode
from tests.federation.sums.masked.parties import DOMAIN, NAMES, MaskedParties
from tests.federation.sums.uniform import assert_uniform


class Parties(MaskedParties):
    """Silos in one session: a round to advertise, a turn each, and the first one's last turn."""

    SCHEME = RingSum()

    def turn(self, number: int) -> ring_pb2.RingTurn:
        (silo,) = self.asked[number]
        return decode(ring_pb2.RingTurn, self.body_asked(number, silo))

    def received(self, silo: str) -> NDArray[np.int64]:
        """The total that came to it, opened with its own key: the first silo's comes last."""
        place = self.roster.index(silo)
        number, before = (place or len(self.roster)) + 1, self.roster[place - 1]
        return self.ring.values(self.ring.unpack(self.opened(before, silo, self.turn(number).total)))

    def sent(self, silo: str) -> NDArray[np.int64]:
        """The total that it passed on, from what it knows itself: what it received or masked, and its vector."""
        words = self.ring.words(self.vectors[silo])
        if silo == self.roster[0]:
            self.ring.add_mask(words, self.memory(1, silo).seed, 1)
        else:
            words += self.ring.words(self.received(silo))
        return self.ring.values(words)


class TestTheSum:
    def test_asks_one_silo_after_the_other_and_the_first_one_twice(self) -> None:
        parties = Parties()
        parties.run()
        assert [tuple(sorted(asked)) for asked in parties.asked[1:]] == [
            ("east",), ("north",), ("south",), ("west",), ("east",)
        ]  # fmt: skip

    def test_takes_the_bits_that_it_needs_and_a_seal(self) -> None:
        parties = Parties(3, domain=IntegerDomain(6400, 2**20))
        parties.run()
        sizes = [len(parties.body_said(number, silo)) for number, said in enumerate(parties.said) for silo in said]
        assert sizes[3:] == [16_000 + 28] * 3 + [16_000]


class TestWhatNeighboursLearn:
    """The documented weakness of the game: it is why this sum is for teaching."""

    @pytest.mark.parametrize("count", [3, 4, 6])
    def test_two_around_a_silo_have_its_vector(self, count: int) -> None:
        """The one knows what it sent, the other what it got: the difference is the silo's vector, to the last bit."""
        parties = Parties(count)
        parties.run()
        for place, silo in enumerate(parties.roster[1:], start=1):
            before, after = parties.roster[place - 1], parties.roster[(place + 1) % count]
            stolen = (parties.received(after) - parties.sent(before)) % 2**20
            np.testing.assert_array_equal(stolen, parties.vectors[silo])

    @pytest.mark.parametrize("count", [3, 4, 6])
    def test_two_around_the_first_silo_have_what_all_others_sum_to_and_with_the_published_sum_its_vector(
        self, count: int
    ) -> None:
        """The mask lies on both totals and drops out; what one of them alone got is uniform all the same."""
        parties = Parties(count)
        result = parties.run()
        first, second, last = parties.roster[0], parties.roster[1], parties.roster[-1]
        others = (parties.sent(last) - parties.received(second)) % 2**20
        np.testing.assert_array_equal(others, sum(parties.vectors[silo] for silo in parties.roster[1:]) % 2**20)
        np.testing.assert_array_equal((result.total - others) % 2**20, parties.vectors[first])

    @pytest.mark.parametrize("silo", NAMES[1:4])
    def test_one_alone_gets_something_uniform(self, silo: str) -> None:
        """Even if all vectors are zero."""
        parties = Parties(4, domain=IntegerDomain(100_000, 2**20), vectors=np.zeros((4, 100_000), dtype=np.int64))
        parties.run()
        assert_uniform(parties.received(silo), 20)

    def test_masks_of_two_sessions_have_nothing_in_common(self) -> None:
        runs = [Parties(), Parties()]
        runs[1].silos["east"] = runs[1].side("east", SeededRandomness(99))
        for parties in runs:
            parties.run()
        assert (runs[0].received("north") == runs[1].received("north")).sum() <= 2  # of 200, with 1e-12


class TestWhatTheAggregatorLearns:
    def test_it_carries_the_totals_under_seals_only_and_sees_the_sum(self) -> None:
        """No total that silos pass on, no vector and no mask is in what it carries; the sum is."""
        parties = Parties()
        parties.run()
        masked = [parties.received(silo) for silo in parties.roster]
        mask = (masked[1] - parties.vectors["east"]) % 2**20
        for hidden in (*masked, *parties.vectors.values(), mask):
            assert parties.ring.pack(parties.ring.words(hidden))[:64] not in parties.carried
        assert parties.ring.pack(parties.ring.words(parties.total())) in parties.carried

    def test_a_sealed_total_opens_with_no_key_but_the_next_silos(self) -> None:
        parties = Parties()
        parties.run()
        context = sealed_share_context(parties.session, "north", "south")
        own = {silo: parties.channel(silo) for silo in parties.roster}
        own["the aggregator"] = ChannelKey.draw(SeededRandomness(9))
        sealed = parties.turn(3).total
        own.pop("south").unseal(parties.public("north"), sealed, context)
        del own["north"]  # who sealed it
        for key in own.values():
            with pytest.raises(SealBroken):
                key.unseal(parties.public("north"), sealed, context)


class TestFewSilos:
    @pytest.mark.parametrize("silos", [1, 2])
    def test_are_refused_because_they_stand_on_both_sides_of_each_other(self, silos: int) -> None:
        with pytest.raises(DomainError, match="three"):
            RingSum().admit(DOMAIN, silos)
        with pytest.raises(DomainError, match="three"):
            RingSum().fewest(silos)

    def test_are_enough_from_three_on_and_all_are_needed(self) -> None:
        for silos in (3, 10):
            RingSum().admit(DOMAIN, silos)
            assert RingSum().fewest(silos) == silos


class TestATurnThatIsRefused:
    def tell(self, parties: Parties, number: int, turn: ring_pb2.RingTurn) -> None:
        parties.tell(number, parties.roster[number - 1], turn.SerializeToString())

    def test_with_a_total_before_the_first_silo_began(self) -> None:
        parties = Parties()
        parties.run_until(1)
        around = pieces({silo: parties.body_said(0, silo) for silo in ("west", "east", "north")})
        with pytest.raises(MessageError):
            self.tell(parties, 1, ring_pb2.RingTurn(advertised=around, total=bytes(668)))

    def test_with_the_key_of_a_silo_that_is_no_neighbour(self) -> None:
        parties = Parties()
        parties.run_until(2)
        everyone = pieces({silo: parties.body_said(0, silo) for silo in parties.roster})
        total = parties.body_said(1, "east")
        with pytest.raises(WrongContributors):
            self.tell(parties, 2, ring_pb2.RingTurn(advertised=everyone, total=total))

    def test_with_a_total_that_skips_a_silo(self) -> None:
        """The aggregator skips north, and brings south what east sealed, under the number of south's turn."""
        parties = Parties()
        parties.run_until(2)
        around = pieces({silo: parties.body_said(0, silo) for silo in ("north", "south", "west")})
        with pytest.raises(SealBroken):
            self.tell(parties, 3, ring_pb2.RingTurn(advertised=around, total=parties.body_said(1, "east")))


class TestAReplyThatTheAggregatorRefuses:
    @pytest.mark.parametrize("number", range(1, 5))
    def test_because_a_total_has_no_seal(self, number: int) -> None:
        self.refuse(number, size=640)

    def test_because_the_sum_has_a_seal(self) -> None:
        self.refuse(5, size=668)

    def refuse(self, number: int, *, size: int) -> None:
        parties = Parties()
        (silo,) = parties.run_until(number)
        with pytest.raises(MessageError):
            parties.aggregator.check(silo, wrap(parties.session, round=2 * number + 1, body=bytes(size)))


def test_a_silo_that_has_passed_the_total_on_keeps_nothing() -> None:
    """The first one keeps its key and its mask until it has opened the sum."""
    parties = Parties()
    parties.run()
    for number, silo, answered in ((2, "north", 2), (3, "south", 2), (4, "west", 2), (5, "east", 3)):
        assert parties.memory(number, silo) == masked_pb2.MaskedSiloState(answered=answered)
    assert parties.memory(4, "east").seed
