"""Additive sharing with every message in the test's hand: the sum, who learns what, and what is refused.

Statistical tests would raise a false alarm with one choice of their seed in a million.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from siloseal.federation.errors import (
    CommitmentBroken,
    DomainError,
    MessageError,
    MessageTooLarge,
    ProtocolError,
    QuorumLost,
    SealBroken,
    SignatureInvalid,
    WrongContributors,
    WrongRound,
)
from siloseal.federation.randomness import SeededRandomness
from siloseal.federation.records.identity import Identity
from siloseal.federation.sums.additive.additive_sum import AdditiveSum
from siloseal.federation.sums.additive.config import AdditiveSumConfig
from siloseal.federation.sums.additive.sides import AdditiveSilo, Round, shared_ring
from siloseal.federation.sums.masked.advertisement import advertise
from siloseal.federation.sums.sealing import ChannelKey
from siloseal.federation.sums.secure_sum import Sum
from siloseal.federation.sums.session import IntegerDomain, RealDomain, Session
from siloseal.federation.transport.wire import masked_pb2 as pb
from siloseal.federation.transport.wire import sums_pb2
from siloseal.federation.transport.wire.codec import decode, unwrap, wrap

NAMES = ("east", "north", "south", "west", "coast", "hill")
IDENTITIES = {name: Identity.create(name) for name in NAMES}
SCHEME = AdditiveSum()
DOMAIN = IntegerDomain(200, 2**20)

Bodies = dict[str, bytes]
Alter = Callable[[Round, str, Bodies], Bodies]
"""What an aggregator does to the pieces that it brings to a silo."""


class Table:
    """Silos in one session. Equal tables draw equal keys and seeds, whatever the silos contribute."""

    def __init__(
        self, count: int = 4, *, domain: IntegerDomain = DOMAIN, id: int = 0, vectors: NDArray[np.int64] | None = None
    ) -> None:
        self.roster = NAMES[:count]
        keys = tuple(IDENTITIES[name].public for name in self.roster)
        self.session = Session(bytes([id]) * 32, self.roster, domain, SCHEME.name, 2, keys)
        self.ring = shared_ring(domain, count)
        drawn = np.random.default_rng(7).integers(0, domain.modulus, (count, domain.length))
        self.vectors = dict(zip(self.roster, drawn if vectors is None else vectors, strict=True))
        self.silos = {name: self.silo(name) for name in self.roster}
        self.side = SCHEME.aggregator(self.session)
        self.asked: dict[Round, Mapping[str, bytes]] = {}
        self.said: dict[Round, Bodies] = {}
        self.states: dict[Round, Bodies] = {}
        """Of each silo, after each round."""

    def silo(self, name: str, seed: int | None = None) -> AdditiveSilo:
        randomness = SeededRandomness(NAMES.index(name) if seed is None else seed)
        side = SCHEME.silo(self.session, IDENTITIES[name], self.vectors[name], randomness)
        assert isinstance(side, AdditiveSilo)
        return side

    def run(
        self,
        *,
        silent: Mapping[str, Round] | None = None,
        alter: Alter = lambda number, silo, told: told,
        restarted: Collection[Round] = (),
        until: Round | None = None,
    ) -> Sum | None:
        """The whole session, or the rounds before one. A silo in `silent` says nothing from that round on.

        Before the rounds in `restarted`, fresh objects take up what the silos kept.
        """
        step: Mapping[str, bytes] | Sum = self.side.open()
        for number in Round:
            if number == until or isinstance(step, Sum):
                return None
            if number in restarted:
                self.restart(seed=100 * (number + 1))
            self.asked[number] = step
            gone = {silo for silo, first in (silent or {}).items() if number >= first}
            self.said[number] = {
                silo: self.silos[silo].answer(self.altered(number, silo, message, alter))
                for silo, message in step.items()
                if silo not in gone
            }
            self.states[number] = {silo: self.silos[silo].state() for silo in self.roster}
            for silo, reply in self.said[number].items():
                self.side.check(silo, reply)
            step = self.side.advance(self.said[number])
        assert isinstance(step, Sum)
        return step

    def restart(self, seed: int) -> None:
        for place, name in enumerate(self.roster):
            fresh = self.silo(name, seed + place)
            fresh.restore(self.silos[name].state())
            self.silos[name] = fresh

    def altered(self, number: Round, silo: str, message: bytes, alter: Alter) -> bytes:
        if number == Round.ADVERTISE:  # says nothing
            return message
        told = decode(sums_pb2.Pieces, self.body(message, 2 * number))
        pieces = alter(number, silo, {piece.silo: piece.data for piece in told.pieces})
        listed = [sums_pb2.Piece(silo=name, data=data) for name, data in pieces.items()]
        return wrap(self.session, round=2 * number, body=sums_pb2.Pieces(pieces=listed).SerializeToString())

    def body(self, message: bytes, round: int) -> bytes:
        return unwrap(self.session, round=round, data=message)

    def upload(self, silo: str) -> NDArray[np.int64]:
        return self.ring.values(self.ring.unpack(self.body(self.said[Round.ADD][silo], 2 * Round.ADD + 1)))

    def letters(self, silo: str) -> Bodies:
        """What it sealed, by receiver."""
        said = decode(sums_pb2.Pieces, self.body(self.said[Round.SHARE][silo], 2 * Round.SHARE + 1))
        return {piece.silo: piece.data for piece in said.pieces}

    def opened(self, sender: str, receiver: str) -> bytes:
        """The letter's content, with the receiver's own key."""
        memory = decode(pb.MaskedSiloState, self.states[Round.SHARE][receiver])
        (advertised,) = (piece.data for piece in memory.advertised if piece.silo == sender)
        context = self.session.bind("letter", sender.encode(), receiver.encode())
        letter = self.letters(sender)[receiver]
        return ChannelKey(memory.channel_key).unseal(decode(pb.Advertisement, advertised).keys[0], letter, context)

    def mask(self, seed: bytes) -> NDArray[np.int64]:
        words = self.ring.zeros()
        self.ring.add_mask(words, seed, 1)
        return self.ring.values(words)

    def total(self) -> NDArray[np.int64]:
        """In Python's own integers."""
        assert isinstance(self.session.domain, IntegerDomain)
        entries = zip(*(vector.tolist() for vector in self.vectors.values()), strict=True)
        return np.array([sum(entry) % self.session.domain.modulus for entry in entries])


def assert_uniform(values: NDArray[np.int64], bits: int) -> None:
    """In the lowest and in the highest eight bits: 5e-7 for each."""
    for byte in (values & 255, values >> (bits - 8)):
        assert stats.chisquare(np.bincount(byte, minlength=256)).pvalue > 5e-7


class TestTheSum:
    @pytest.mark.parametrize("count", [2, 3, 6])
    @pytest.mark.parametrize("modulus", [2, 1000, 2**20, 2**32, 2**60 - 1, 2**60], ids=str)
    def test_is_the_sum_of_the_integers(self, count: int, modulus: int) -> None:
        table = Table(count, domain=IntegerDomain(130, modulus))
        result = table.run()
        assert result is not None
        np.testing.assert_array_equal(result.total, table.total())
        assert (result.contributors, result.error_bound) == (tuple(sorted(table.roster)), 0.0)

    @pytest.mark.parametrize("modulus", [1000, 2**20, 2**60])
    def test_is_exact_where_every_entry_is_the_largest(self, modulus: int) -> None:
        table = Table(6, domain=IntegerDomain(10, modulus), vectors=np.full((6, 10), modulus - 1))
        result = table.run()
        assert result is not None
        assert result.total.tolist() == [6 * (modulus - 1) % modulus] * 10

    @pytest.mark.parametrize(("modulus", "bits"), [(2**20, 20), (2**33, 33), (2**20 - 1, 22)])
    def test_is_all_that_travels_no_bit_more(self, modulus: int, bits: int) -> None:
        """4096 entries are 64 full columns: b bits an entry, and the frame. 22 bits hold four of 20."""
        table = Table(4, domain=IntegerDomain(4096, modulus))
        table.run()
        for silo in table.roster:
            assert len(table.body(table.said[Round.ADD][silo], 5)) == 4096 * bits // 8

    def test_costs_a_silo_one_vector_and_small_letters(self) -> None:
        """Shares that travelled as vectors would take n of them, of 64 bits an entry."""
        table = Table(6, domain=IntegerDomain(6400, 2**20))
        table.run()
        sent = [sum(len(table.said[number][silo]) for number in Round) for silo in table.roster]
        vector, frames = 6400 * 20 // 8, 3 * 45
        assert all(size <= vector + 110 + 5 * (32 + 28 + 12) + frames for size in sent)
        assert max(sent) < 1.05 * vector  # and not 6 * 6400 * 8

    @pytest.mark.parametrize("count", [3, 6])
    def test_letters_carry_a_seed_and_a_seal_however_long_the_vector_is(self, count: int) -> None:
        table = Table(count, domain=IntegerDomain(3000, 2**20))
        table.run()
        for silo in table.roster:
            letters = table.letters(silo)
            assert set(letters) == set(table.roster) - {silo}
            assert {len(letter) for letter in letters.values()} == {32 + 28}


class TestASilentSilo:
    @pytest.mark.parametrize("number", Round)
    @pytest.mark.parametrize("silo", NAMES[:4])
    def test_ends_the_sum_in_every_round_and_nothing_is_left_of_it(self, silo: str, number: Round) -> None:
        table = Table()
        with pytest.raises(QuorumLost, match="3 of 4 silos"):
            table.run(silent={silo: number})
        with pytest.raises(WrongRound):  # there is no second try
            table.side.advance({})

    def test_leaves_the_uploads_of_the_others_masked(self) -> None:
        """Their sum lacks its share of everyone's vector, and is as good as random."""
        modulus = 2**20
        table = Table(4, domain=IntegerDomain(100_000, modulus), vectors=np.zeros((4, 100_000), dtype=np.int64))
        with pytest.raises(QuorumLost):
            table.run(silent={"south": Round.ADD})
        assert_uniform(np.sum([table.upload(silo) for silo in table.said[Round.ADD]], axis=0) % modulus, 20)

    def test_is_needed_although_the_session_asks_for_fewer(self) -> None:
        table = Table()
        assert table.session.quorum == 2
        table.side.open()
        assert table.side.fewest == 4
        assert SCHEME.fewest(4) == 4

    @pytest.mark.parametrize("number", [Round.SHARE, Round.ADD])
    def test_that_the_aggregator_left_out_is_missed_by_the_others(self, number: Round) -> None:
        """In the second round its key, in the third its letter."""
        with pytest.raises(QuorumLost):
            Table().run(alter=lambda at, silo, told: without(told, "south") if at == number else told)


def without(told: Bodies, silo: str) -> Bodies:
    return {name: data for name, data in told.items() if name != silo}


class TestWhatAnyoneLearns:
    def test_another_secret_changes_nothing_but_the_silos_own_part(self) -> None:
        """All shares that it hands out, and all that the others say, are the same: n - 1 shares tell nothing."""
        tables = [Table(), Table()]
        tables[1].vectors["north"] = (tables[1].vectors["north"] + np.arange(200) * 1234) % 2**20
        tables[1].silos["north"] = tables[1].silo("north")
        for table in tables:
            table.run()
        first, second = tables
        assert first.said[Round.ADVERTISE] == second.said[Round.ADVERTISE]
        pairs = [(sender, receiver) for sender in first.roster for receiver in first.roster if sender != receiver]
        assert [first.opened(*pair) for pair in pairs] == [second.opened(*pair) for pair in pairs]
        assert first.states[Round.SHARE] == second.states[Round.SHARE]
        for silo in ("east", "south", "west"):
            assert first.said[Round.ADD][silo] == second.said[Round.ADD][silo]
        moved = (second.upload("north") - first.upload("north")) % 2**20
        np.testing.assert_array_equal(moved, np.arange(200) * 1234 % 2**20)

    def test_every_seed_is_another_one_and_random_in_all_of_its_bytes(self) -> None:
        """Of 30 seeds, all have the same byte at one of 32 places with probability 1e-68."""
        table = Table(6)
        table.run()
        seeds = [table.opened(one, other) for one in table.roster for other in table.roster if one != other]
        assert len(set(seeds)) == 30
        assert all(len({seed[place] for seed in seeds}) > 1 for place in range(32))

    @pytest.mark.parametrize("value", [0, 2**20 - 1])
    def test_one_silos_upload_is_uniform(self, value: int) -> None:
        table = Table(3, domain=IntegerDomain(100_000, 2**20), vectors=np.full((3, 100_000), value))
        table.run()
        assert_uniform(table.upload("north"), 20)

    @pytest.mark.parametrize("count", [2, 4, 6])
    def test_the_aggregator_and_all_silos_but_two_learn_the_sum_of_these_two_only(self, count: int) -> None:
        """They take off every mask that one of them drew or was sent. What is left of one honest silo is uniform."""
        length, bits, modulus = 100_000, 20, 2**20
        vectors = np.zeros((count, length), dtype=np.int64)
        vectors[0], vectors[1] = 3, 5
        table = Table(count, domain=IntegerDomain(length, modulus), vectors=vectors)
        table.run()
        honest, colluding = table.roster[:2], table.roster[2:]
        left = dict[str, NDArray[np.int64]]()
        for silo in honest:
            rest = table.upload(silo)
            for other in colluding:
                rest = rest + table.mask(table.opened(silo, other)) - table.mask(table.opened(other, silo))
            left[silo] = rest % modulus
            assert_uniform(left[silo], bits)
        np.testing.assert_array_equal((left["east"] + left["north"]) % modulus, np.full(length, 8))

    def test_one_mask_too_few_is_all_that_hides_the_vector(self) -> None:
        """The same with all silos but one: the test above would see a mask that is missing."""
        table = Table()
        table.run()
        rest = table.upload("north")
        for other in without(dict.fromkeys(table.roster, b""), "north"):
            rest = rest + table.mask(table.opened("north", other)) - table.mask(table.opened(other, "north"))
        np.testing.assert_array_equal(rest % 2**20, table.vectors["north"])

    def test_no_seed_passes_the_aggregator_in_clear(self) -> None:
        table = Table()
        table.run()
        carried = b"".join(
            message for way in (table.asked, table.said) for told in way.values() for message in told.values()
        )
        for sender in table.roster:
            for receiver in table.letters(sender):
                assert table.opened(sender, receiver) not in carried


class TestALetterThatIsRefused:
    """By the silo that it came to, which answers nothing more in the session."""

    def assert_refused(self, table: Table, alter: Callable[[Bodies], Bodies], error: type[ProtocolError]) -> None:
        with pytest.raises(error):
            table.run(alter=lambda number, silo, told: alter(told) if (number, silo) == (Round.ADD, "north") else told)
        assert pb.MaskedSiloState.FromString(table.silos["north"].state()) == pb.MaskedSiloState(answered=3)
        with pytest.raises(WrongRound):  # not even with the right letters
            table.silos["north"].answer(table.asked[Round.ADD]["north"])

    @pytest.mark.parametrize("byte", [0, 12, 43, 59], ids=["nonce", "first", "last", "tag"])
    def test_altered_on_its_way(self, byte: int) -> None:
        def alter(told: Bodies) -> Bodies:
            letter = bytearray(told["east"])
            letter[byte] ^= 1
            return {**told, "east": bytes(letter)}

        self.assert_refused(Table(), alter, SealBroken)

    def test_of_another_session_with_the_same_keys(self) -> None:
        """Both tables draw the same keys: it is the session that the letter is sealed for."""
        other = Table(id=1)
        other.run()
        self.assert_refused(Table(), lambda told: {**told, "east": other.letters("east")["north"]}, SealBroken)

    def test_for_another_silo(self) -> None:
        table = Table()
        self.assert_refused(table, lambda told: {**told, "east": table.letters("east")["south"]}, SealBroken)

    def test_that_is_the_silos_own_sent_back(self) -> None:
        """The same two keys agreed on it: the direction is sealed as well."""
        table = Table()
        self.assert_refused(table, lambda told: {**told, "east": table.letters("north")["east"]}, SealBroken)

    def test_swapped_with_another_senders(self) -> None:
        swap = lambda told: {**told, "east": told["south"], "south": told["east"]}  # noqa: E731
        self.assert_refused(Table(), swap, SealBroken)

    def test_missing(self) -> None:
        self.assert_refused(Table(), lambda told: without(told, "west"), QuorumLost)

    def test_empty(self) -> None:
        self.assert_refused(Table(), lambda told: {**told, "west": b""}, SealBroken)

    @pytest.mark.parametrize("name", ["mallory", "north"])
    def test_of_a_stranger_or_in_the_silos_own_name(self, name: str) -> None:
        self.assert_refused(Table(), lambda told: {**told, name: told["east"]}, WrongContributors)

    @pytest.mark.parametrize("size", [0, 31, 33])
    def test_with_a_seed_of_another_size(self, size: int) -> None:
        """Sealed by its sender, for this silo and session."""
        table = Table()

        def alter(told: Bodies) -> Bodies:
            east, north = (decode(pb.MaskedSiloState, table.states[Round.SHARE][silo]) for silo in ("east", "north"))
            context = table.session.bind("letter", b"east", b"north")
            sealed = ChannelKey(east.channel_key).seal(ChannelKey(north.channel_key).public, bytes(size), context)
            return {**told, "east": sealed}

        self.assert_refused(table, alter, SealBroken)


class TestKeysThatAreRefused:
    def refuse(self, alter: Callable[[Bodies], Bodies], error: type[ProtocolError]) -> None:
        table = Table()
        with pytest.raises(error):
            table.run(alter=lambda number, silo, told: alter(told) if number == Round.SHARE else told)

    def test_of_a_silo_that_the_aggregator_would_like_to_be(self) -> None:
        table, aggregator = Table(), Identity.create("south")
        forged = advertise(table.session, aggregator, [ChannelKey.draw(SeededRandomness(9)).public])
        self.refuse(lambda told: {**told, "south": forged}, SignatureInvalid)

    def test_of_another_session(self) -> None:
        other = Table(id=1)
        other.run()
        self.refuse(
            lambda told: {**told, "south": other.body(other.said[Round.ADVERTISE]["south"], 1)}, SignatureInvalid
        )

    def test_that_are_not_those_that_the_silo_sent(self) -> None:
        """Another one, which it signed itself: it must have lost its state meanwhile."""
        table = Table()
        again = advertise(table.session, IDENTITIES["east"], [ChannelKey.draw(SeededRandomness(9)).public])
        self.refuse(lambda told: {**told, "east": again}, CommitmentBroken)

    def test_with_a_strangers_in_the_place_of_one(self) -> None:
        self.refuse(lambda told: {**without(told, "south"), "mallory": told["south"]}, WrongContributors)

    def test_that_are_named_twice(self) -> None:
        table = Table()
        table.run(until=Round.SHARE)
        said = [(silo, table.body(reply, 1)) for silo, reply in table.said[Round.ADVERTISE].items()]
        listed = [sums_pb2.Piece(silo=silo, data=data) for silo, data in (*said, said[-1])]
        body = sums_pb2.Pieces(pieces=listed).SerializeToString()
        with pytest.raises(WrongContributors, match="twice"):
            table.silos["east"].answer(wrap(table.session, round=2, body=body))

    def test_by_the_aggregator_where_two_silos_have_the_same(self) -> None:
        """Each reply is in order by itself: only all of them together show it."""
        table = Table()
        table.silos["north"] = table.silo("north", seed=0)
        replies = {silo: table.silos[silo].answer(message) for silo, message in table.side.open().items()}
        for silo, reply in replies.items():
            table.side.check(silo, reply)
        with pytest.raises(WrongContributors, match="twice"):
            table.side.advance(replies)


def test_a_first_request_that_says_something_is_refused() -> None:
    table = Table()
    with pytest.raises(MessageError, match="carries nothing"):
        table.silos["north"].answer(wrap(table.session, round=0, body=b"\0"))


class TestAReplyThatTheAggregatorRefuses:
    def refuse(self, number: Round, body: bytes, error: type[ProtocolError]) -> None:
        table = Table()
        table.run(until=number)
        with pytest.raises(error):
            table.side.check("north", wrap(table.session, round=2 * number + 1, body=body))

    def test_because_another_silo_signed_it(self) -> None:
        said = advertise(Table().session, IDENTITIES["east"], [ChannelKey.draw(SeededRandomness(9)).public])
        self.refuse(Round.ADVERTISE, said, SignatureInvalid)

    @pytest.mark.parametrize(
        "names", [("east", "south"), ("east", "south", "west", "north"), ("east", "south", "hill")]
    )
    def test_because_letters_are_missing_or_for_nobody(self, names: tuple[str, ...]) -> None:
        letters = sums_pb2.Pieces(pieces=[sums_pb2.Piece(silo=name, data=bytes(60)) for name in names])
        self.refuse(Round.SHARE, letters.SerializeToString(), ProtocolError)

    @pytest.mark.parametrize("size", [0, 59, 61, 200])
    def test_because_a_letter_has_another_size(self, size: int) -> None:
        pieces = [sums_pb2.Piece(silo=name, data=bytes(60)) for name in ("east", "south")]
        letters = sums_pb2.Pieces(pieces=[*pieces, sums_pb2.Piece(silo="west", data=bytes(size))])
        self.refuse(Round.SHARE, letters.SerializeToString(), MessageError)

    @pytest.mark.parametrize("change", [-640, -1, 1, 8, 100_000])
    def test_because_an_upload_has_another_size(self, change: int) -> None:
        self.refuse(Round.ADD, bytes(640 + change), MessageError)  # 200 entries are 4 columns of 20 words

    @pytest.mark.parametrize("number", Round)
    def test_because_it_is_too_large_to_be_read(self, number: Round) -> None:
        self.refuse(number, bytes(10_000), MessageTooLarge)

    def test_because_nobody_asked(self) -> None:
        table = Table()
        table.side.open()
        with pytest.raises(DomainError, match="not asked"):
            table.side.check("hill", b"")


class TestAfterACrash:
    @pytest.mark.parametrize("rounds", [[Round.ADVERTISE], [Round.SHARE], [Round.ADD], list(Round)], ids=str)
    def test_the_sum_is_the_same(self, rounds: list[Round]) -> None:
        table = Table()
        result = table.run(restarted=rounds)
        assert result is not None
        np.testing.assert_array_equal(result.total, table.total())

    def test_a_silo_that_had_shared_uploads_the_same(self) -> None:
        """It draws nothing after that."""
        undisturbed, table = Table(), Table()
        undisturbed.run()
        table.run(restarted=[Round.ADD])
        assert table.said[Round.ADD] == undisturbed.said[Round.ADD]

    @pytest.mark.parametrize("number", Round)
    def test_an_answered_round_stays_answered(self, number: Round) -> None:
        table = Table()
        table.run()
        fresh = table.silo("north")
        fresh.restore(table.states[number]["north"])
        with pytest.raises(WrongRound):
            fresh.answer(table.asked[number]["north"])

    def test_nothing_secret_is_left_when_the_silo_has_added(self) -> None:
        table = Table()
        table.run()
        for silo in table.roster:
            assert pb.MaskedSiloState.FromString(table.states[Round.ADD][silo]) == pb.MaskedSiloState(answered=3)

    @pytest.mark.parametrize("number", Round)
    def test_nothing_secret_is_left_when_the_silo_forgets(self, number: Round) -> None:
        table = Table()
        table.run(until=number)
        table.silos["north"].forget()
        assert pb.MaskedSiloState.FromString(table.silos["north"].state()) == pb.MaskedSiloState(answered=3)

    def test_the_vector_is_in_no_state(self) -> None:
        """The silo has it in its own file; `state` is written at every round."""
        table = Table()
        table.run()
        vector = table.vectors["north"]
        clear = [vector.astype(dtype).tobytes()[:32] for dtype in ("<i8", "<u4")]
        clear.append(table.ring.pack(table.ring.words(vector))[:32])
        assert not any(piece in states["north"] for states in table.states.values() for piece in clear)


class TestASessionThatIsRefused:
    @pytest.mark.parametrize(
        ("domain", "silos"),
        [
            (IntegerDomain(10, 2**61), 4),
            (IntegerDomain(10, 2**62), 2),
            (IntegerDomain(10, 2**55), 256),
            (IntegerDomain(10, 1), 4),
            (IntegerDomain(0, 2**20), 4),
            (RealDomain(10, 1.0), 4),
        ],
    )
    def test_because_the_domains_sums_do_not_fit(self, domain: IntegerDomain | RealDomain, silos: int) -> None:
        with pytest.raises(DomainError):
            SCHEME.admit(domain, silos)

    def test_just_where_the_headroom_ends(self) -> None:
        SCHEME.admit(IntegerDomain(10, 2**61), 3)
        with pytest.raises(DomainError, match=r"lower precision_bits or the modulus"):
            SCHEME.admit(IntegerDomain(10, 2**61), 4)

    def test_by_the_silo_and_the_aggregator_too(self) -> None:
        keys = tuple(IDENTITIES[name].public for name in NAMES[:4])
        session = Session(bytes(32), NAMES[:4], IntegerDomain(10, 2**61), SCHEME.name, 4, keys)
        with pytest.raises(DomainError):
            SCHEME.silo(session, IDENTITIES["east"], np.zeros(10, dtype=np.int64), SeededRandomness(0))
        with pytest.raises(DomainError):
            SCHEME.aggregator(session)

    def test_because_one_silo_alone_hides_nothing(self) -> None:
        with pytest.raises(DomainError, match="two silos or more"):
            SCHEME.admit(DOMAIN, 1)
        with pytest.raises(DomainError, match="raise the quorum"):
            self.join(replace(Table().session, quorum=1))

    @pytest.mark.parametrize(
        "vector",
        [np.full(200, 2**20), np.full(200, -1), np.zeros(199, dtype=np.int64), np.zeros(200), np.zeros(200, "<i4")],
        ids=["too large", "negative", "too short", "real", "short words"],
    )
    def test_by_a_silo_whose_vector_is_not_of_its_domain(self, vector: NDArray[np.int64]) -> None:
        with pytest.raises(DomainError):
            self.join(Table().session, vector)

    def test_because_the_roster_has_another_identity_key_for_the_silo(self) -> None:
        with pytest.raises(DomainError, match="another identity key"):
            self.join(Table().session, me=Identity.create("east"))

    def join(
        self, session: Session, vector: NDArray[np.int64] | None = None, me: Identity = IDENTITIES["east"]
    ) -> None:
        SCHEME.silo(session, me, np.zeros(200, dtype=np.int64) if vector is None else vector, SeededRandomness(0))


def test_the_report_says_what_the_sum_rests_on() -> None:
    rows = SCHEME.describe(DOMAIN, 5)
    assert "20 bits an entry" in rows["shares"]


def test_the_config_builds_it_with_its_precision() -> None:
    assert AdditiveSumConfig(kind="additive", precision_bits=20).build().name == (
        "fixed_point(precision_bits=20) over additive"
    )
