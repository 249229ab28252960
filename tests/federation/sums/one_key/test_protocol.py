"""Sums under one key with every message in the test's hand: the sum, who learns what, and what is refused."""

from collections.abc import Callable, Collection, Mapping

import numpy as np
import pytest

from siloseal.federation.errors import (
    CommitmentBroken,
    DomainError,
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
from siloseal.federation.sums.masked.advertisement import advertise
from siloseal.federation.sums.one_key.aggregator_side import OneKeyAggregator
from siloseal.federation.sums.one_key.cipher import Key
from siloseal.federation.sums.one_key.one_key_sum import OneKeySum, PaillierSum, StockCkksSum
from siloseal.federation.sums.one_key.silo_side import OneKeySilo
from siloseal.federation.sums.one_key.statements import Round, digest_of, letter_context, opening_statement
from siloseal.federation.sums.sealing import ChannelKey
from siloseal.federation.sums.secure_sum import Sum
from siloseal.federation.sums.session import IntegerDomain, Session
from siloseal.federation.transport.wire import masked_pb2, one_key_pb2, sums_pb2
from siloseal.federation.transport.wire.codec import decode, to_array, unwrap, wrap

INSECURE_TEST_KEY_BITS = 1024
PAILLIER, CKKS = PaillierSum(INSECURE_TEST_KEY_BITS), StockCkksSum()
NAMES = ("west", "east", "north", "south")  # the leader is not the first by alphabet
IDENTITIES = {name: Identity.create(name) for name in NAMES}
DOMAIN = IntegerDomain(60, 2**16)

Replies = Callable[[Round, str, bytes], bytes]


class Table:
    """Silos in one session, and everything that was said."""

    def __init__(self, scheme: OneKeySum = PAILLIER, *, quorum: int = 2) -> None:
        keys = tuple(IDENTITIES[name].public for name in NAMES)
        self.scheme = scheme
        self.session = Session(bytes(32), NAMES, DOMAIN, scheme.name, quorum, keys)
        drawn = np.random.default_rng(7).integers(0, DOMAIN.modulus, (len(NAMES), DOMAIN.length))
        self.vectors = dict(zip(NAMES, drawn, strict=True))
        self.silos = {name: self.silo(name) for name in NAMES}
        side = scheme.aggregator(self.session)
        assert isinstance(side, OneKeyAggregator)
        self.side = side
        self.asked: dict[Round, Mapping[str, bytes]] = {}
        self.said: dict[Round, dict[str, bytes]] = {}
        self.states: dict[Round, dict[str, bytes]] = {}

    def silo(self, name: str) -> OneKeySilo:
        side = self.scheme.silo(self.session, IDENTITIES[name], self.vectors[name], SecureRandomness())
        assert isinstance(side, OneKeySilo)
        return side

    def run(
        self,
        *,
        silent: Mapping[str, Round] | None = None,
        tell: Replies = lambda number, silo, body: body,
        reply: Replies = lambda number, silo, body: body,
        restarted: bool = False,
        until: Round | None = None,
    ) -> Sum | None:
        """The whole session, or the rounds before one. `tell` alters what silos are told, `reply` what they answer."""
        step: Mapping[str, bytes] | Sum = self.side.open()
        for number in Round:
            if number == until or isinstance(step, Sum):
                return None
            gone = {silo for silo, first in (silent or {}).items() if number >= first}
            if restarted:
                self.restart()
            self.asked[number], self.said[number] = step, {}
            for silo, message in step.items():
                if silo not in gone:
                    told = tell(number, silo, unwrap(self.session, round=2 * number, data=message))
                    answer = self.silos[silo].answer(wrap(self.session, round=2 * number, body=told))
                    body = reply(number, silo, unwrap(self.session, round=2 * number + 1, data=answer))
                    self.said[number][silo] = wrap(self.session, round=2 * number + 1, body=body)
            self.states[number] = {silo: self.silos[silo].state() for silo in NAMES}
            for silo, answer in self.said[number].items():
                self.side.check(silo, answer)
            step = self.side.advance(self.said[number])
        assert isinstance(step, Sum)
        return step

    def restart(self) -> None:
        for name in NAMES:
            fresh = self.silo(name)
            fresh.restore(self.silos[name].state())
            self.silos[name] = fresh

    def upload(self, silo: str) -> bytes:
        return unwrap(self.session, round=2 * Round.UPLOAD + 1, data=self.said[Round.UPLOAD][silo])

    def total(self, silos: Collection[str] = NAMES) -> np.ndarray:
        return np.asarray(sum(self.vectors[silo] for silo in silos) % DOMAIN.modulus)

    def key_of(self, silo: str) -> Key:
        """From what the silo keeps after it has uploaded."""
        memory = decode(one_key_pb2.OneKeySiloState, self.states[Round.UPLOAD][silo])
        return self.scheme.cipher(DOMAIN, len(NAMES)).read_key(memory.secret_key)


def at(number: Round, silo: str, change: Callable[[bytes], bytes]) -> Replies:
    """Alters one message."""
    return lambda now, name, body: change(body) if (now, name) == (number, silo) else body


@pytest.mark.parametrize("scheme", [PAILLIER, CKKS], ids=lambda scheme: scheme.name)
class TestUnderBothCiphers:
    def test_the_sum_is_the_sum_of_the_integers(self, scheme: OneKeySum) -> None:
        table = Table(scheme)
        result = table.run()
        assert result is not None
        np.testing.assert_array_equal(result.total, table.total())
        assert (result.contributors, result.error_bound) == (tuple(sorted(NAMES)), 0.0)

    def test_the_sum_is_the_same_if_all_silos_restart_before_every_round(self, scheme: OneKeySum) -> None:
        table = Table(scheme)
        result = table.run(restarted=True)
        assert result is not None
        np.testing.assert_array_equal(result.total, table.total())

    @pytest.mark.parametrize("helper", ["west", "south"])
    def test_one_silo_that_works_with_the_aggregator_reads_every_upload(self, scheme: OneKeySum, helper: str) -> None:
        """The known weakness: every silo holds the whole key."""
        table = Table(scheme)
        table.run()
        key = table.key_of(helper)
        for silo in NAMES:
            np.testing.assert_array_equal(key.decrypt(table.upload(silo)), table.vectors[silo])

    def test_every_upload_is_opened_as_if_it_were_the_sum_each_by_another_silo(self, scheme: OneKeySum) -> None:
        """The known weakness: an aggregator that lies needs no silo's help, and no silo notices."""
        table = Table(scheme)
        table.run(until=Round.OPEN)
        for silo, victim in zip(NAMES, (*NAMES[1:], NAMES[0]), strict=True):
            table.silos[silo].answer(wrap(table.session, round=2 * Round.OPEN, body=table.upload(victim)))
            told = table.silos[silo].answer(wrap(table.session, round=2 * Round.TELL, body=b""))
            array = decode(sums_pb2.Array, unwrap(table.session, round=2 * Round.TELL + 1, data=told))
            np.testing.assert_array_equal(np.frombuffer(array.data, dtype=array.dtype), table.vectors[victim])

    def test_the_aggregator_carries_no_key_that_it_can_read(self, scheme: OneKeySum) -> None:
        table = Table(scheme)
        table.run()
        private = table.key_of("east").private_bytes()
        carried = b"".join(
            message for way in (table.asked, table.said) for told in way.values() for message in told.values()
        )
        stretch = len(private) // 2  # the second prime; the middle of a context, where its keys are
        assert private[stretch : stretch + 40] not in carried

    def test_the_summed_ciphertext_goes_to_every_silo_and_one_vector_comes_back(self, scheme: OneKeySum) -> None:
        table = Table(scheme)
        table.run()
        for silo in NAMES:
            assert len(table.asked[Round.OPEN][silo]) > 0.95 * len(table.upload(silo))
            assert len(table.said[Round.OPEN][silo]) < 200
        assert list(table.said[Round.TELL]) == ["west"]
        assert len(table.said[Round.TELL]["west"]) < 8 * DOMAIN.length + 100

    def test_a_damaged_ciphertext_is_refused_when_it_comes_in(self, scheme: OneKeySum) -> None:
        with pytest.raises(MessageError):
            Table(scheme).run(reply=at(Round.UPLOAD, "north", lambda body: body[:-1]))
        with pytest.raises(MessageError):
            Table(scheme).run(tell=at(Round.OPEN, "north", lambda body: body[:-1]))


class TestASilentSilo:
    @pytest.mark.parametrize("silo", NAMES)
    def test_that_uploads_nothing_is_left_out_the_leader_too(self, silo: str) -> None:
        table = Table()
        result = table.run(silent={silo: Round.UPLOAD})
        assert result is not None
        assert result.contributors == tuple(sorted(set(NAMES) - {silo}))
        np.testing.assert_array_equal(result.total, table.total(result.contributors))

    @pytest.mark.parametrize("silo", NAMES)
    def test_after_its_upload_is_in_the_sum_that_others_open(self, silo: str) -> None:
        table = Table()
        result = table.run(silent={silo: Round.OPEN})
        assert result is not None
        assert result.contributors == tuple(sorted(NAMES))
        np.testing.assert_array_equal(result.total, table.total())

    def test_before_the_key_is_drawn_gets_no_key(self) -> None:
        table = Table()
        result = table.run(silent={"north": Round.ADVERTISE})
        assert result is not None
        assert result.contributors == ("east", "south", "west")
        assert "north" not in table.asked[Round.UPLOAD]

    @pytest.mark.parametrize("number", [Round.ADVERTISE, Round.DRAW_KEY])
    def test_that_was_to_draw_the_key_ends_the_sum(self, number: Round) -> None:
        with pytest.raises(QuorumLost):
            Table().run(silent={"west": number})

    def test_that_was_to_tell_ends_the_sum(self) -> None:
        with pytest.raises(QuorumLost):
            Table().run(silent={"west": Round.TELL})

    @pytest.mark.parametrize("number", [Round.ADVERTISE, Round.UPLOAD, Round.OPEN])
    def test_ends_the_sum_if_the_quorum_goes_with_it(self, number: Round) -> None:
        with pytest.raises(QuorumLost):
            Table(quorum=4).run(silent={"south": number})


class TestAnOpening:
    def disagreeing(self, silo: str) -> Replies:
        """A silo that signs that it found something else."""

        def lie(number: Round, name: str, body: bytes) -> bytes:
            if (number, name) != (Round.OPEN, silo):
                return body
            digest = digest_of(b"something else")
            ciphertext = unwrap(table.session, round=2 * Round.OPEN, data=table.asked[Round.OPEN][name])
            signature = IDENTITIES[silo].sign(opening_statement(table.session, ciphertext, digest))
            return one_key_pb2.OneKeyOpening(digest=digest, signature=signature).SerializeToString()

        self.table = table = Table()
        return lie

    @pytest.mark.parametrize("silo", ["west", "south"])
    def test_on_which_silos_disagree_is_refused(self, silo: str) -> None:
        lie = self.disagreeing(silo)
        with pytest.raises(OpeningFailed, match="do not agree"):
            self.table.run(reply=lie)

    def test_of_another_ciphertext_is_seen_by_its_signature(self) -> None:
        """Silos that were given different ones did not open the same."""
        table = Table()
        with pytest.raises(SignatureInvalid):
            table.run(tell=at(Round.OPEN, "north", lambda body: table.upload("north")))

    def test_that_another_silo_signed_is_refused(self) -> None:
        table = Table()
        table.run()
        genuine = unwrap(table.session, round=2 * Round.OPEN + 1, data=table.said[Round.OPEN]["west"])
        with pytest.raises(SignatureInvalid):
            Table().run(reply=at(Round.OPEN, "north", lambda body: genuine))

    def test_that_is_told_differently_is_refused(self) -> None:
        other = to_array(np.zeros(DOMAIN.length, dtype=np.int64)).SerializeToString()
        with pytest.raises(CommitmentBroken, match="west tells another sum"):
            Table().run(reply=at(Round.TELL, "west", lambda body: other))

    def test_comes_once_and_the_key_is_gone_with_it(self) -> None:
        table = Table()
        table.run()
        for silo in NAMES:
            memory = decode(one_key_pb2.OneKeySiloState, table.states[Round.OPEN][silo])
            assert not memory.secret_key
            assert not memory.channel_key
            with pytest.raises(WrongRound):
                table.silos[silo].answer(table.asked[Round.OPEN][silo])
        assert decode(one_key_pb2.OneKeySiloState, table.states[Round.TELL]["west"]) == one_key_pb2.OneKeySiloState(
            answered=5
        )


class TestASealedKey:
    def test_that_was_altered_is_refused_and_ends_the_session_for_the_silo(self) -> None:
        def alter(body: bytes) -> bytes:
            message = decode(one_key_pb2.SealedKey, body)
            message.sealed = message.sealed[:-1] + bytes([message.sealed[-1] ^ 1])
            return message.SerializeToString()

        table = Table()
        with pytest.raises(SealBroken):
            table.run(tell=at(Round.UPLOAD, "north", alter))
        with pytest.raises(WrongRound):
            table.silos["north"].answer(table.asked[Round.UPLOAD]["north"])

    def test_under_a_key_of_the_aggregators_is_refused(self) -> None:
        """Which would encrypt for the aggregator: the leader did not sign that channel key."""
        table, mallory = Table(), Identity.create("west")

        def forge(body: bytes) -> bytes:
            channel = ChannelKey.draw(SecureRandomness())
            north = decode(
                masked_pb2.Advertisement, unwrap(table.session, round=1, data=table.said[Round.ADVERTISE]["north"])
            )
            private = PAILLIER.cipher(DOMAIN, 4).draw_key().private_bytes()
            sealed = channel.seal(north.keys[0], private, letter_context(table.session, "north"))
            said = advertise(table.session, mallory, [channel.public])
            return one_key_pb2.SealedKey(advertisement=said, sealed=sealed).SerializeToString()

        with pytest.raises(SignatureInvalid):
            table.run(tell=at(Round.UPLOAD, "north", forge))

    @pytest.mark.parametrize("private", [b"", bytes(128), bytes(4000)], ids=["empty", "zeros", "long"])
    def test_without_a_key_in_it_is_refused(self, private: bytes) -> None:
        table = Table()

        def reseal(body: bytes) -> bytes:
            """As a leader that lies would."""
            message = decode(one_key_pb2.SealedKey, body)
            north = decode(
                masked_pb2.Advertisement, unwrap(table.session, round=1, data=table.said[Round.ADVERTISE]["north"])
            )
            west = ChannelKey(decode(one_key_pb2.OneKeySiloState, table.states[Round.DRAW_KEY]["west"]).channel_key)
            message.sealed = west.seal(north.keys[0], private, letter_context(table.session, "north"))
            return message.SerializeToString()

        with pytest.raises((MessageError, SealBroken)):
            table.run(tell=at(Round.UPLOAD, "north", reseal))

    def test_for_a_silo_too_few_is_missed_by_the_aggregator(self) -> None:
        def withhold(body: bytes) -> bytes:
            handout = decode(one_key_pb2.OneKeyHandout, body)
            del handout.sealed[0]
            return handout.SerializeToString()

        with pytest.raises(QuorumLost):
            Table().run(reply=at(Round.DRAW_KEY, "west", withhold))

    def test_for_a_stranger_is_refused(self) -> None:
        def add(body: bytes) -> bytes:
            handout = decode(one_key_pb2.OneKeyHandout, body)
            handout.sealed.add(silo="mallory", data=b"x")
            return handout.SerializeToString()

        with pytest.raises(WrongContributors):
            Table().run(reply=at(Round.DRAW_KEY, "west", add))

    def test_a_handout_with_another_public_key_than_a_modulus_is_refused(self) -> None:
        def shorten(body: bytes) -> bytes:
            handout = decode(one_key_pb2.OneKeyHandout, body)
            handout.public_key = handout.public_key[:-1]
            return handout.SerializeToString()

        with pytest.raises(MessageError, match="no Paillier modulus"):
            Table().run(reply=at(Round.DRAW_KEY, "west", shorten))

    def test_the_leader_draws_no_key_for_a_list_without_itself_or_too_short_a_one(self) -> None:
        def without(*gone: str) -> Callable[[bytes], bytes]:
            def drop(body: bytes) -> bytes:
                left = [piece for piece in decode(sums_pb2.Pieces, body).pieces if piece.silo not in gone]
                return sums_pb2.Pieces(pieces=left).SerializeToString()

            return drop

        with pytest.raises(WrongContributors):
            Table().run(tell=at(Round.DRAW_KEY, "west", without("west")))
        with pytest.raises(QuorumLost):
            Table(quorum=3).run(tell=at(Round.DRAW_KEY, "west", without("north", "south")))


def test_a_silo_that_forgets_keeps_nothing_and_answers_nothing() -> None:
    table = Table()
    table.run(until=Round.OPEN)
    for silo, answered in (("west", 5), ("north", 4)):
        table.silos[silo].forget()
        assert decode(one_key_pb2.OneKeySiloState, table.silos[silo].state()) == one_key_pb2.OneKeySiloState(
            answered=answered
        )
        assert table.silos[silo]._vector.size == 0


@pytest.mark.parametrize("scheme", [PAILLIER, CKKS], ids=lambda scheme: scheme.name)
def test_a_sum_of_one_silo_is_refused(scheme: OneKeySum) -> None:
    assert scheme.fewest(2) == 2
    with pytest.raises(DomainError, match="a sum of one silo hides nothing"):
        scheme.admit(DOMAIN, 1)
