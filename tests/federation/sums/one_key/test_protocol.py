"""Sums under one key with every message in the test's hand: the sum, who learns what, and what is refused."""

from collections.abc import Callable

import numpy as np
import pytest

from siloseal.federation.errors import (
    CommitmentBroken,
    MessageError,
    OpeningFailed,
    QuorumLost,
    SealBroken,
    SignatureInvalid,
    WrongContributors,
    WrongRound,
)
from siloseal.federation.randomness import SecureRandomness
from siloseal.federation.records.identity import Identity
from siloseal.federation.sums.in_process import Hook
from siloseal.federation.sums.masked.advertisement import advertise
from siloseal.federation.sums.one_key.cipher import Key
from siloseal.federation.sums.one_key.one_key_sum import OneKeySum, PaillierSum, StockCkksSum
from siloseal.federation.sums.one_key.statements import Round, digest_of, opening_statement, sealed_key_context
from siloseal.federation.sums.sealing import ChannelKey
from siloseal.federation.sums.session import IntegerDomain
from siloseal.federation.transport.wire import masked_pb2, one_key_pb2, sums_pb2
from siloseal.federation.transport.wire.codec import decode, to_array
from tests.federation.sums.recorded import Recorded, drawn_vectors, identity

INSECURE_TEST_KEY_BITS = 1024
PAILLIER, CKKS = PaillierSum(INSECURE_TEST_KEY_BITS), StockCkksSum()
NAMES = ("west", "east", "north", "south")  # the leader is not the first by alphabet
DOMAIN = IntegerDomain(60, 2**16)


class Parties(Recorded):
    """Silos in one session."""

    scheme: OneKeySum

    def __init__(self, scheme: OneKeySum = PAILLIER, *, quorum: int = 2) -> None:
        super().__init__(scheme, drawn_vectors(NAMES, DOMAIN), DOMAIN, quorum=quorum)

    def upload(self, silo: str) -> bytes:
        return self.body_said(Round.UPLOAD, silo)

    def key_of(self, silo: str) -> Key:
        """From what the silo keeps after it has uploaded."""
        memory = decode(one_key_pb2.OneKeySiloState, self.states[Round.UPLOAD][silo])
        return self.scheme.cipher(DOMAIN, len(NAMES)).read_key(memory.secret_key)


def at(number: Round, silo: str, change: Callable[[bytes], bytes]) -> Hook:
    """Alters one message."""
    return lambda now, name, body: change(body) if (now, name) == (number, silo) else body


def handing_out(change: Callable[[one_key_pb2.OneKeyHandout], None]) -> Hook:
    """Alters what the leader hands out."""

    def altered(body: bytes) -> bytes:
        handout = decode(one_key_pb2.OneKeyHandout, body)
        change(handout)
        return handout.SerializeToString()

    return at(Round.DRAW_KEY, "west", altered)


@pytest.mark.parametrize("scheme", [PAILLIER, CKKS], ids=lambda scheme: scheme.name)
class TestUnderBothCiphers:
    @pytest.mark.parametrize("helper", ["west", "south"])
    def test_one_silo_that_works_with_the_aggregator_reads_every_upload(self, scheme: OneKeySum, helper: str) -> None:
        """The known weakness: every silo holds the whole key."""
        parties = Parties(scheme)
        parties.run()
        key = parties.key_of(helper)
        for silo in NAMES:
            np.testing.assert_array_equal(key.decrypt(parties.upload(silo)), parties.vectors[silo])

    def test_every_upload_is_opened_as_if_it_were_the_sum_each_by_another_silo(self, scheme: OneKeySum) -> None:
        """The known weakness: an aggregator that lies needs no silo's help, and no silo notices."""
        parties = Parties(scheme)
        parties.run_until(Round.OPEN)
        for silo, victim in zip(NAMES, (*NAMES[1:], NAMES[0]), strict=True):
            parties.tell(Round.OPEN, silo, parties.upload(victim))
            array = decode(sums_pb2.Array, parties.tell(Round.TELL, silo, b""))
            np.testing.assert_array_equal(np.frombuffer(array.data, dtype=array.dtype), parties.vectors[victim])

    def test_the_aggregator_carries_no_key_that_it_can_read(self, scheme: OneKeySum) -> None:
        parties = Parties(scheme)
        parties.run()
        private = parties.key_of("east").private_bytes()
        stretch = len(private) // 2  # the second prime; the middle of a context, where its keys are
        assert private[stretch : stretch + 40] not in parties.carried

    def test_the_summed_ciphertext_goes_to_every_silo_and_one_vector_comes_back(self, scheme: OneKeySum) -> None:
        parties = Parties(scheme)
        parties.run()
        for silo in NAMES:
            assert len(parties.asked[Round.OPEN][silo]) > 0.95 * len(parties.upload(silo))
            assert len(parties.said[Round.OPEN][silo]) < 200
        assert list(parties.said[Round.TELL]) == ["west"]
        assert len(parties.said[Round.TELL]["west"]) < 8 * DOMAIN.length + 100

    def test_a_damaged_ciphertext_is_refused_when_it_comes_in(self, scheme: OneKeySum) -> None:
        with pytest.raises(MessageError):
            Parties(scheme).run(reply=at(Round.UPLOAD, "north", lambda body: body[:-1]))
        with pytest.raises(MessageError):
            Parties(scheme).run(tell=at(Round.OPEN, "north", lambda body: body[:-1]))


class TestASilentSilo:
    @pytest.mark.parametrize("silo", NAMES)
    def test_that_uploads_nothing_is_left_out_the_leader_too(self, silo: str) -> None:
        parties = Parties()
        result = parties.run(silent={silo: Round.UPLOAD})
        assert result.contributors == tuple(sorted(set(NAMES) - {silo}))
        np.testing.assert_array_equal(result.total, parties.total(*result.contributors))

    @pytest.mark.parametrize("silo", NAMES)
    def test_after_its_upload_is_in_the_sum_that_others_open(self, silo: str) -> None:
        parties = Parties()
        result = parties.run(silent={silo: Round.OPEN})
        assert result.contributors == tuple(sorted(NAMES))
        np.testing.assert_array_equal(result.total, parties.total())

    def test_before_the_key_is_drawn_gets_no_key(self) -> None:
        parties = Parties()
        result = parties.run(silent={"north": Round.ADVERTISE})
        assert result.contributors == ("east", "south", "west")
        assert "north" not in parties.asked[Round.UPLOAD]

    @pytest.mark.parametrize("number", [Round.ADVERTISE, Round.DRAW_KEY])
    def test_that_was_to_draw_the_key_ends_the_sum(self, number: Round) -> None:
        with pytest.raises(QuorumLost):
            Parties().run(silent={"west": number})

    def test_that_was_to_tell_ends_the_sum(self) -> None:
        with pytest.raises(QuorumLost):
            Parties().run(silent={"west": Round.TELL})

    @pytest.mark.parametrize("number", [Round.ADVERTISE, Round.UPLOAD, Round.OPEN])
    def test_ends_the_sum_if_the_quorum_goes_with_it(self, number: Round) -> None:
        with pytest.raises(QuorumLost):
            Parties(quorum=4).run(silent={"south": number})


class TestAnOpening:
    def disagreeing(self, silo: str) -> Hook:
        """A silo that signs that it found something else."""

        def lie(number: int, name: str, body: bytes) -> bytes:
            if (number, name) != (Round.OPEN, silo):
                return body
            digest = digest_of(b"something else")
            ciphertext = parties.body_asked(Round.OPEN, name)
            signature = identity(silo).sign(opening_statement(parties.session, ciphertext, digest))
            return one_key_pb2.OneKeyOpening(digest=digest, signature=signature).SerializeToString()

        self.parties = parties = Parties()
        return lie

    @pytest.mark.parametrize("silo", ["west", "south"])
    def test_on_which_silos_disagree_is_refused(self, silo: str) -> None:
        lie = self.disagreeing(silo)
        with pytest.raises(OpeningFailed):
            self.parties.run(reply=lie)

    def test_of_another_ciphertext_is_seen_by_its_signature(self) -> None:
        """Silos that were given different ones did not open the same."""
        parties = Parties()
        with pytest.raises(SignatureInvalid):
            parties.run(tell=at(Round.OPEN, "north", lambda body: parties.upload("north")))

    def test_that_another_silo_signed_is_refused(self) -> None:
        parties = Parties()
        parties.run()
        genuine = parties.body_said(Round.OPEN, "west")
        with pytest.raises(SignatureInvalid):
            Parties().run(reply=at(Round.OPEN, "north", lambda body: genuine))

    def test_that_is_told_differently_is_refused(self) -> None:
        other = to_array(np.zeros(DOMAIN.length, dtype=np.int64)).SerializeToString()
        with pytest.raises(CommitmentBroken):
            Parties().run(reply=at(Round.TELL, "west", lambda body: other))

    def test_comes_once_and_the_key_is_gone_with_it(self) -> None:
        parties = Parties()
        parties.run()
        for silo in NAMES:
            memory = decode(one_key_pb2.OneKeySiloState, parties.states[Round.OPEN][silo])
            assert not memory.secret_key
            assert not memory.channel_key
            with pytest.raises(WrongRound):
                parties.silos[silo].answer(parties.asked[Round.OPEN][silo])
        assert decode(one_key_pb2.OneKeySiloState, parties.states[Round.TELL]["west"]) == one_key_pb2.OneKeySiloState(
            answered=5
        )


class TestASealedKey:
    def test_under_a_key_of_the_aggregators_is_refused(self) -> None:
        """Which would encrypt for the aggregator: the leader did not sign that channel key."""
        parties, mallory = Parties(), Identity.create("west")

        def forge(body: bytes) -> bytes:
            channel = ChannelKey.draw(SecureRandomness())
            north = decode(masked_pb2.Advertisement, parties.body_said(Round.ADVERTISE, "north"))
            private = PAILLIER.cipher(DOMAIN, 4).draw_key().private_bytes()
            sealed = channel.seal(north.keys[0], private, sealed_key_context(parties.session, "north"))
            said = advertise(parties.session, mallory, [channel.public])
            return one_key_pb2.SealedKey(advertisement=said, sealed=sealed).SerializeToString()

        with pytest.raises(SignatureInvalid):
            parties.run(tell=at(Round.UPLOAD, "north", forge))

    @pytest.mark.parametrize("private", [b"", bytes(128), bytes(4000)], ids=["empty", "zeros", "long"])
    def test_without_a_key_in_it_is_refused(self, private: bytes) -> None:
        parties = Parties()

        def reseal(body: bytes) -> bytes:
            """As a leader that lies would."""
            message = decode(one_key_pb2.SealedKey, body)
            north = decode(masked_pb2.Advertisement, parties.body_said(Round.ADVERTISE, "north"))
            west = ChannelKey(decode(one_key_pb2.OneKeySiloState, parties.states[Round.DRAW_KEY]["west"]).channel_key)
            message.sealed = west.seal(north.keys[0], private, sealed_key_context(parties.session, "north"))
            return message.SerializeToString()

        with pytest.raises((MessageError, SealBroken)):
            parties.run(tell=at(Round.UPLOAD, "north", reseal))

    def test_for_a_silo_too_few_is_missed_by_the_aggregator(self) -> None:
        def withhold(handout: one_key_pb2.OneKeyHandout) -> None:
            del handout.sealed[0]

        with pytest.raises(QuorumLost):
            Parties().run(reply=handing_out(withhold))

    def test_for_a_stranger_is_refused(self) -> None:
        def add(handout: one_key_pb2.OneKeyHandout) -> None:
            handout.sealed.add(silo="mallory", data=b"x")

        with pytest.raises(WrongContributors):
            Parties().run(reply=handing_out(add))

    def test_a_handout_with_another_public_key_than_a_modulus_is_refused(self) -> None:
        def shorten(handout: one_key_pb2.OneKeyHandout) -> None:
            handout.public_key = handout.public_key[:-1]

        with pytest.raises(MessageError):
            Parties().run(reply=handing_out(shorten))

    def test_the_leader_draws_no_key_for_a_list_without_itself_or_too_short_a_one(self) -> None:
        def without(*gone: str) -> Callable[[bytes], bytes]:
            def drop(body: bytes) -> bytes:
                left = [piece for piece in decode(sums_pb2.Pieces, body).pieces if piece.silo not in gone]
                return sums_pb2.Pieces(pieces=left).SerializeToString()

            return drop

        with pytest.raises(WrongContributors):
            Parties().run(tell=at(Round.DRAW_KEY, "west", without("west")))
        with pytest.raises(QuorumLost):
            Parties(quorum=3).run(tell=at(Round.DRAW_KEY, "west", without("north", "south")))


def test_a_silo_that_forgets_keeps_no_vector() -> None:
    parties = Parties()
    parties.run_until(Round.OPEN)
    for silo in NAMES:
        parties.silos[silo].forget()
        assert parties.silos[silo].__dict__["_vector"].size == 0


def test_two_silos_are_enough() -> None:
    assert (PAILLIER.fewest(2), CKKS.fewest(2)) == (2, 2)
