"""Additive sharing: what travels, and who learns what. What it refuses is in tests/contracts, for every sum.

Statistical tests would raise a false alarm with one choice of their seed in a million.
"""

import numpy as np
import pytest
from numpy.typing import NDArray

from siloseal.federation.errors import MessageError, ProtocolError, QuorumLost
from siloseal.federation.sums.additive.additive_sum import AdditiveSum
from siloseal.federation.sums.additive.sides import Round, shared_ring
from siloseal.federation.sums.envelope import wrap
from siloseal.federation.sums.masked.words import WordRing
from siloseal.federation.sums.session import IntegerDomain
from siloseal.federation.transport.wire import sums_pb2
from siloseal.federation.transport.wire.codec import decode
from tests.federation.sums.masked.parties import DOMAIN, MaskedParties
from tests.federation.sums.uniform import assert_uniform


class Parties(MaskedParties):
    """Silos in one session of additive sharing."""

    SCHEME = AdditiveSum()

    @property
    def ring(self) -> WordRing:
        return shared_ring(self.session.domain, len(self.roster))

    def upload(self, silo: str) -> NDArray[np.int64]:
        return self.ring.values(self.ring.unpack(self.body_said(Round.ADD, silo)))

    def sealed_seeds(self, silo: str) -> dict[str, bytes]:
        """Return the seeds that the silo sealed, by receiver."""
        return {piece.silo: piece.data for piece in decode(sums_pb2.Pieces, self.body_said(Round.SHARE, silo)).pieces}

    def seed(self, sender: str, receiver: str) -> bytes:
        """Return the seed that `sender` drew for `receiver`."""
        return self.opened(sender, receiver, self.sealed_seeds(sender)[receiver])

    def mask(self, seed: bytes) -> NDArray[np.int64]:
        words = self.ring.zeros()
        self.ring.add_mask(words, seed, 1)
        return self.ring.values(words)


class TestTheSum:
    @pytest.mark.parametrize(("modulus", "bits"), [(2**20, 20), (2**33, 33), (2**20 - 1, 22)])
    def test_is_all_that_travels_no_bit_more(self, modulus: int, bits: int) -> None:
        """4096 entries are 64 full columns: b bits an entry, and the frame. 22 bits hold four of 20."""
        parties = Parties(4, domain=IntegerDomain(4096, modulus))
        parties.run()
        for silo in parties.roster:
            assert len(parties.body_said(Round.ADD, silo)) == 4096 * bits // 8

    def test_costs_a_silo_one_vector_and_small_sealed_seeds(self) -> None:
        """Shares that travelled as vectors would take n of them, of 64 bits an entry."""
        parties = Parties(6, domain=IntegerDomain(6400, 2**20))
        parties.run()
        sent = [sum(len(parties.said[number][silo]) for number in Round) for silo in parties.roster]
        vector, frames = 6400 * 20 // 8, 3 * 45
        assert all(size <= vector + 110 + 5 * (32 + 28 + 12) + frames for size in sent)
        assert max(sent) < 1.05 * vector  # and not 6 * 6400 * 8

    @pytest.mark.parametrize("count", [3, 6])
    def test_what_is_sealed_is_as_long_as_a_seed_however_long_the_vector_is(self, count: int) -> None:
        parties = Parties(count, domain=IntegerDomain(3000, 2**20))
        parties.run()
        for silo in parties.roster:
            sealed = parties.sealed_seeds(silo)
            assert set(sealed) == set(parties.roster) - {silo}
            assert {len(one) for one in sealed.values()} == {32 + 28}


class TestASilentSilo:
    def test_leaves_the_uploads_of_the_others_masked(self) -> None:
        """Their sum lacks its share of everyone's vector, and is as good as random."""
        modulus = 2**20
        parties = Parties(4, domain=IntegerDomain(100_000, modulus), vectors=np.zeros((4, 100_000), dtype=np.int64))
        with pytest.raises(QuorumLost):
            parties.run(silent={"south": Round.ADD})
        assert_uniform(np.sum([parties.upload(silo) for silo in parties.said[Round.ADD]], axis=0) % modulus, 20)


class TestWhatAnyoneLearns:
    def test_another_secret_changes_nothing_but_the_silos_own_part(self) -> None:
        """All shares that it hands out, and all that the others say, are the same: n - 1 shares tell nothing."""
        runs = [Parties(), Parties()]
        runs[1].vectors["north"] = (runs[1].vectors["north"] + np.arange(200) * 1234) % 2**20
        runs[1].silos["north"] = runs[1].side("north")
        for parties in runs:
            parties.run()
        first, second = runs
        assert first.said[Round.ADVERTISE] == second.said[Round.ADVERTISE]
        pairs = [(sender, receiver) for sender in first.roster for receiver in first.roster if sender != receiver]
        assert [first.seed(*pair) for pair in pairs] == [second.seed(*pair) for pair in pairs]
        assert first.states[Round.SHARE] == second.states[Round.SHARE]
        for silo in ("east", "south", "west"):
            assert first.said[Round.ADD][silo] == second.said[Round.ADD][silo]
        moved = (second.upload("north") - first.upload("north")) % 2**20
        np.testing.assert_array_equal(moved, np.arange(200) * 1234 % 2**20)

    def test_every_seed_is_another_one_and_random_in_all_of_its_bytes(self) -> None:
        """Of 30 seeds, all have the same byte at one of 32 places with probability 1e-68."""
        parties = Parties(6)
        parties.run()
        seeds = [parties.seed(one, other) for one in parties.roster for other in parties.roster if one != other]
        assert len(set(seeds)) == 30
        assert all(len({seed[place] for seed in seeds}) > 1 for place in range(32))

    @pytest.mark.parametrize("value", [0, 2**20 - 1])
    def test_one_silos_upload_is_uniform(self, value: int) -> None:
        parties = Parties(3, domain=IntegerDomain(100_000, 2**20), vectors=np.full((3, 100_000), value))
        parties.run()
        assert_uniform(parties.upload("north"), 20)

    @pytest.mark.parametrize("count", [2, 4, 6])
    def test_the_aggregator_and_all_silos_but_two_learn_the_sum_of_these_two_only(self, count: int) -> None:
        """They take off every mask that one of them drew or was sent. What is left of one honest silo is uniform."""
        length, bits, modulus = 100_000, 20, 2**20
        vectors = np.zeros((count, length), dtype=np.int64)
        vectors[0], vectors[1] = 3, 5
        parties = Parties(count, domain=IntegerDomain(length, modulus), vectors=vectors)
        parties.run()
        honest, colluding = parties.roster[:2], parties.roster[2:]
        left = dict[str, NDArray[np.int64]]()
        for silo in honest:
            rest = parties.upload(silo)
            for other in colluding:
                rest = rest + parties.mask(parties.seed(silo, other)) - parties.mask(parties.seed(other, silo))
            left[silo] = rest % modulus
            assert_uniform(left[silo], bits)
        np.testing.assert_array_equal((left["east"] + left["north"]) % modulus, np.full(length, 8))

    def test_one_mask_too_few_is_all_that_hides_the_vector(self) -> None:
        """The same with all silos but one: the test above would see a mask that is missing."""
        parties = Parties()
        parties.run()
        rest = parties.upload("north")
        for other in set(parties.roster) - {"north"}:
            rest = rest + parties.mask(parties.seed("north", other)) - parties.mask(parties.seed(other, "north"))
        np.testing.assert_array_equal(rest % 2**20, parties.vectors["north"])

    def test_no_seed_passes_the_aggregator_in_clear(self) -> None:
        parties = Parties()
        parties.run()
        for sender in parties.roster:
            for receiver in parties.sealed_seeds(sender):
                assert parties.seed(sender, receiver) not in parties.carried


class TestAReplyThatTheAggregatorRefuses:
    def refuse(self, number: Round, body: bytes, error: type[ProtocolError]) -> None:
        parties = Parties()
        parties.run_until(number)
        with pytest.raises(error):
            parties.aggregator.check("north", wrap(parties.session, round=2 * number + 1, body=body))

    @pytest.mark.parametrize(
        "names", [("east", "south"), ("east", "south", "west", "north"), ("east", "south", "hill")]
    )
    def test_because_sealed_seeds_are_missing_or_for_nobody(self, names: tuple[str, ...]) -> None:
        sealed = sums_pb2.Pieces(pieces=[sums_pb2.Piece(silo=name, data=bytes(60)) for name in names])
        self.refuse(Round.SHARE, sealed.SerializeToString(), ProtocolError)

    @pytest.mark.parametrize("size", [0, 59, 61, 200])
    def test_because_a_sealed_seed_has_another_size(self, size: int) -> None:
        pieces = [sums_pb2.Piece(silo=name, data=bytes(60)) for name in ("east", "south")]
        sealed = sums_pb2.Pieces(pieces=[*pieces, sums_pb2.Piece(silo="west", data=bytes(size))])
        self.refuse(Round.SHARE, sealed.SerializeToString(), MessageError)


class TestAfterACrash:
    def test_a_silo_that_had_shared_uploads_the_same(self) -> None:
        """It draws nothing after that."""
        undisturbed, parties = Parties(), Parties()
        undisturbed.run()
        parties.run(restarted=[Round.ADD])
        assert parties.said[Round.ADD] == undisturbed.said[Round.ADD]


def test_the_report_says_what_the_sum_rests_on() -> None:
    rows = AdditiveSum().describe(DOMAIN, 5)
    assert "20 bits an entry" in rows["shares"]
