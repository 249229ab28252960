"""The secure-sum game: the sum, what neighbours learn together and alone, and what is refused.

Statistical tests would raise a false alarm with one choice of their seed in a million.
"""

from collections.abc import Callable, Mapping

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from siloseal.federation.errors import (
    CommitmentBroken,
    DomainError,
    MessageError,
    ProtocolError,
    QuorumLost,
    SealBroken,
    SignatureInvalid,
    WrongContributors,
    WrongRound,
)
from siloseal.federation.randomness import SeededRandomness
from siloseal.federation.records.identity import Identity
from siloseal.federation.sums.masked.advertisement import advertise
from siloseal.federation.sums.masked.words import ring_for
from siloseal.federation.sums.ring.config import RingSumConfig
from siloseal.federation.sums.ring.ring_sum import RingSum
from siloseal.federation.sums.ring.sides import RingSilo
from siloseal.federation.sums.rounds import pieces
from siloseal.federation.sums.sealing import ChannelKey
from siloseal.federation.sums.secure_sum import Sum
from siloseal.federation.sums.session import IntegerDomain, RealDomain, Session
from siloseal.federation.transport.wire import masked_pb2, ring_pb2, sums_pb2
from siloseal.federation.transport.wire.codec import decode, unwrap, wrap

NAMES = ("east", "north", "south", "west", "coast", "hill")
"""In the order of the ring."""
IDENTITIES = {name: Identity.create(name) for name in NAMES}
SCHEME = RingSum()
DOMAIN = IntegerDomain(200, 2**20)

Bodies = dict[str, bytes]
Alter = Callable[[ring_pb2.RingTurn], ring_pb2.RingTurn]


class Table:
    """Silos in one session: a round to advertise, a turn each, and the first one's last turn.

    Equal tables draw equal keys and masks, whatever the silos contribute.
    """

    def __init__(
        self, count: int = 4, *, domain: IntegerDomain = DOMAIN, id: int = 0, vectors: NDArray[np.int64] | None = None
    ) -> None:
        self.roster = NAMES[:count]
        keys = tuple(IDENTITIES[name].public for name in self.roster)
        self.session = Session(bytes([id]) * 32, self.roster, domain, SCHEME.name, 2, keys)
        self.ring = ring_for(domain, count)
        drawn = np.random.default_rng(7).integers(0, domain.modulus, (count, domain.length))
        self.vectors = dict(zip(self.roster, drawn if vectors is None else vectors, strict=True))
        self.silos = {name: self.silo(name) for name in self.roster}
        self.side = SCHEME.aggregator(self.session)
        self.asked = list[Mapping[str, bytes]]()
        self.said = list[Bodies]()
        self.states = list[Bodies]()
        """Of each silo, after each round."""

    def silo(self, name: str, seed: int | None = None) -> RingSilo:
        randomness = SeededRandomness(NAMES.index(name) if seed is None else seed)
        side = SCHEME.silo(self.session, IDENTITIES[name], self.vectors[name], randomness)
        assert isinstance(side, RingSilo)
        return side

    def run(
        self,
        *,
        silent: int | None = None,
        alter: Mapping[int, Alter] | None = None,
        restarting: bool = False,
        rounds: int | None = None,
    ) -> Sum | None:
        """The whole session, or so many rounds. One silo is `silent` in a round; `restarting` replaces all in each."""
        last = len(self.roster) + 2 if rounds is None else rounds
        step: Mapping[str, bytes] | Sum = self.side.open()
        for number in range(last):
            assert not isinstance(step, Sum)
            if restarting:
                self.restart(seed=100 * (number + 1))
            self.asked.append(step)
            answering = sorted(step)[1:] if number == silent else sorted(step)
            change = (alter or {}).get(number)
            told = {
                silo: step[silo] if change is None else self.altered(number, step[silo], change) for silo in answering
            }
            self.said.append({silo: self.silos[silo].answer(told[silo]) for silo in answering})
            self.states.append({silo: self.silos[silo].state() for silo in self.roster})
            for silo, reply in self.said[-1].items():
                self.side.check(silo, reply)
            step = self.side.advance(self.said[-1])
        return step if isinstance(step, Sum) else None

    def restart(self, seed: int) -> None:
        for place, name in enumerate(self.roster):
            fresh = self.silo(name, seed + place)
            fresh.restore(self.silos[name].state())
            self.silos[name] = fresh

    def advertised(self, silo: str) -> bytes:
        return unwrap(self.session, round=1, data=self.said[0][silo])

    def public(self, silo: str) -> bytes:
        return decode(masked_pb2.Advertisement, self.advertised(silo)).keys[0]

    def turn(self, number: int) -> ring_pb2.RingTurn:
        (message,) = self.asked[number].values()
        return decode(ring_pb2.RingTurn, unwrap(self.session, round=2 * number, data=message))

    def altered(self, number: int, message: bytes, change: Alter) -> bytes:
        turn = decode(ring_pb2.RingTurn, unwrap(self.session, round=2 * number, data=message))
        return wrap(self.session, round=2 * number, body=change(turn).SerializeToString())

    def received(self, silo: str) -> NDArray[np.int64]:
        """The total that came to it, opened with its own key: the first silo's comes last."""
        place = self.roster.index(silo)
        number, before = (place or len(self.roster)) + 1, self.roster[place - 1]
        memory = decode(masked_pb2.MaskedSiloState, self.states[0][silo])
        context = self.session.bind("letter", before.encode(), silo.encode())
        letter = ChannelKey(memory.channel_key).unseal(self.public(before), self.turn(number).total, context)
        return self.ring.values(self.ring.unpack(letter))

    def sent(self, silo: str) -> NDArray[np.int64]:
        """The total that it passed on, from what it knows itself: what it received or masked, and its vector."""
        words = self.ring.words(self.vectors[silo])
        if silo == self.roster[0]:
            self.ring.add_mask(words, decode(masked_pb2.MaskedSiloState, self.states[1][silo]).seed, 1)
        else:
            words += self.ring.words(self.received(silo))
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
    @pytest.mark.parametrize("count", [3, 4, 6])
    @pytest.mark.parametrize("modulus", [2, 1000, 2**20, 2**32, 2**60 - 1, 2**60], ids=str)
    def test_is_the_sum_of_the_integers(self, count: int, modulus: int) -> None:
        table = Table(count, domain=IntegerDomain(130, modulus))
        result = table.run()
        assert result is not None
        np.testing.assert_array_equal(result.total, table.total())
        assert (result.contributors, result.error_bound) == (tuple(sorted(table.roster)), 0.0)

    def test_asks_one_silo_after_the_other_and_the_first_one_twice(self) -> None:
        table = Table()
        table.run()
        assert [tuple(sorted(asked)) for asked in table.asked[1:]] == [
            ("east",), ("north",), ("south",), ("west",), ("east",)
        ]  # fmt: skip

    def test_takes_the_bits_that_it_needs_and_a_seal(self) -> None:
        table = Table(3, domain=IntegerDomain(6400, 2**20))
        table.run()
        bodies = [
            unwrap(table.session, round=2 * n + 1, data=next(iter(said.values()))) for n, said in enumerate(table.said)
        ]
        assert [len(body) for body in bodies[1:]] == [16_000 + 28] * 3 + [16_000]


class TestWhatNeighboursLearn:
    """The documented weakness of the game: it is why this sum is for teaching."""

    @pytest.mark.parametrize("count", [3, 4, 6])
    def test_two_around_a_silo_have_its_vector(self, count: int) -> None:
        """The one knows what it sent, the other what it got: the difference is the silo's vector, to the last bit."""
        table = Table(count)
        table.run()
        for place, silo in enumerate(table.roster[1:], start=1):
            before, after = table.roster[place - 1], table.roster[(place + 1) % count]
            stolen = (table.received(after) - table.sent(before)) % 2**20
            np.testing.assert_array_equal(stolen, table.vectors[silo])

    @pytest.mark.parametrize("count", [3, 4, 6])
    def test_two_around_the_first_silo_have_what_all_others_sum_to_and_with_the_published_sum_its_vector(
        self, count: int
    ) -> None:
        """The mask lies on both totals and drops out; what one of them alone got is uniform all the same."""
        table = Table(count)
        result = table.run()
        assert result is not None
        first, second, last = table.roster[0], table.roster[1], table.roster[-1]
        others = (table.sent(last) - table.received(second)) % 2**20
        np.testing.assert_array_equal(others, sum(table.vectors[silo] for silo in table.roster[1:]) % 2**20)
        np.testing.assert_array_equal((result.total - others) % 2**20, table.vectors[first])

    @pytest.mark.parametrize("silo", NAMES[1:4])
    def test_one_alone_gets_something_uniform(self, silo: str) -> None:
        """Even if all vectors are zero."""
        table = Table(4, domain=IntegerDomain(100_000, 2**20), vectors=np.zeros((4, 100_000), dtype=np.int64))
        table.run()
        assert_uniform(table.received(silo), 20)

    def test_masks_of_two_sessions_have_nothing_in_common(self) -> None:
        tables = [Table(), Table()]
        tables[1].silos["east"] = tables[1].silo("east", seed=99)
        for table in tables:
            table.run()
        assert (tables[0].received("north") == tables[1].received("north")).sum() <= 2  # of 200, with 1e-12


class TestWhatTheAggregatorLearns:
    def test_it_carries_the_totals_under_seals_only_and_sees_the_sum(self) -> None:
        """No total that silos pass on, no vector and no mask is in what it carries; the sum is."""
        table = Table()
        table.run()
        carried = b"".join(message for way in (table.asked, table.said) for told in way for message in told.values())
        masked = [table.received(silo) for silo in table.roster]
        mask = (masked[1] - table.vectors["east"]) % 2**20
        for hidden in (*masked, *table.vectors.values(), mask):
            assert table.ring.pack(table.ring.words(hidden))[:64] not in carried
        assert table.ring.pack(table.ring.words(table.total())) in carried

    def test_a_letter_opens_with_no_key_but_the_next_silos(self) -> None:
        table = Table()
        table.run()
        context = table.session.bind("letter", b"north", b"south")
        own = {
            silo: ChannelKey(decode(masked_pb2.MaskedSiloState, table.states[0][silo]).channel_key)
            for silo in table.roster
        }
        own["the aggregator"] = ChannelKey.draw(SeededRandomness(9))
        letter = table.turn(3).total
        own.pop("south").unseal(table.public("north"), letter, context)
        del own["north"]  # who sealed it
        for key in own.values():
            with pytest.raises(SealBroken):
                key.unseal(table.public("north"), letter, context)


class TestFewSilos:
    @pytest.mark.parametrize("silos", [1, 2])
    def test_are_refused_because_they_stand_on_both_sides_of_each_other(self, silos: int) -> None:
        with pytest.raises(DomainError, match="three silos or more"):
            SCHEME.admit(DOMAIN, silos)
        with pytest.raises(DomainError, match="three silos or more"):
            SCHEME.fewest(silos)

    def test_are_enough_from_three_on_and_all_are_needed(self) -> None:
        for silos in (3, 10):
            SCHEME.admit(DOMAIN, silos)
            assert SCHEME.fewest(silos) == silos

    @pytest.mark.parametrize("domain", [IntegerDomain(10, 2**61), IntegerDomain(0, 2**20), RealDomain(10, 1.0)])
    def test_cannot_sum_what_does_not_fit(self, domain: IntegerDomain | RealDomain) -> None:
        with pytest.raises(DomainError):
            SCHEME.admit(domain, 4)


class TestASilentSilo:
    @pytest.mark.parametrize("number", range(6))
    def test_ends_the_sum_whoever_it_is(self, number: int) -> None:
        """One of the four when they advertise, and then each in its turn, the first one's second turn included."""
        table = Table()
        with pytest.raises(QuorumLost):
            table.run(silent=number)
        with pytest.raises(WrongRound):  # there is no second try
            table.side.advance({})

    def test_is_waited_for(self) -> None:
        """All must advertise; then it is one silo's turn."""
        table = Table()
        opened = table.side.open()
        assert table.side.fewest == 4
        table.side.advance({silo: table.silos[silo].answer(message) for silo, message in opened.items()})
        assert table.side.fewest == 1


class TestATurnThatIsRefused:
    """By the silo that it came to, which answers nothing more in the session."""

    def refuse(self, number: int, change: Alter, error: type[ProtocolError], table: Table | None = None) -> None:
        table = table or Table()
        with pytest.raises(error):
            table.run(alter={number: change})
        silo = table.roster[(number - 1) % 4]
        memory = masked_pb2.MaskedSiloState.FromString(table.silos[silo].state())
        assert memory == masked_pb2.MaskedSiloState(answered=3 if silo == "east" else 2)
        with pytest.raises(WrongRound):  # not even the right one
            table.silos[silo].answer(table.asked[number][silo])

    @pytest.mark.parametrize("number", range(2, 6))
    @pytest.mark.parametrize("byte", [0, 12, 300, -1], ids=["nonce", "first", "middle", "tag"])
    def test_with_an_altered_total(self, number: int, byte: int) -> None:
        def change(turn: ring_pb2.RingTurn) -> ring_pb2.RingTurn:
            total = bytearray(turn.total)
            total[byte] ^= 1
            return ring_pb2.RingTurn(advertised=turn.advertised, total=bytes(total))

        self.refuse(number, change, SealBroken)

    @pytest.mark.parametrize("number", range(2, 6))
    def test_without_a_total(self, number: int) -> None:
        self.refuse(number, lambda turn: ring_pb2.RingTurn(advertised=turn.advertised), SealBroken)

    def test_with_a_total_before_the_first_silo_began(self) -> None:
        self.refuse(1, lambda turn: ring_pb2.RingTurn(advertised=turn.advertised, total=bytes(668)), MessageError)

    @pytest.mark.parametrize("number", range(2, 6))
    def test_with_a_total_of_another_session_with_the_same_keys(self, number: int) -> None:
        """Both tables draw the same keys: it is the session that the total is sealed for."""
        other = Table(id=1)
        other.run()
        replayed = other.turn(number).total
        self.refuse(number, lambda turn: ring_pb2.RingTurn(advertised=turn.advertised, total=replayed), SealBroken)

    @pytest.mark.parametrize("number", range(3, 6))
    def test_with_a_total_of_an_earlier_turn(self, number: int) -> None:
        """Who would leave out a silo brings the total from before it."""
        table = Table()
        change = lambda turn: ring_pb2.RingTurn(advertised=turn.advertised, total=table.turn(number - 1).total)  # noqa: E731
        self.refuse(number, change, SealBroken, table)

    @pytest.mark.parametrize("size", [0, 639, 641])
    def test_with_a_total_of_another_size_that_the_silo_before_sealed(self, size: int) -> None:
        table = Table()

        def change(turn: ring_pb2.RingTurn) -> ring_pb2.RingTurn:
            north = decode(masked_pb2.MaskedSiloState, table.states[0]["north"])
            context = table.session.bind("letter", b"north", b"south")
            sealed = ChannelKey(north.channel_key).seal(table.public("south"), bytes(size), context)
            return ring_pb2.RingTurn(advertised=turn.advertised, total=sealed)

        self.refuse(3, change, SealBroken, table)

    @pytest.mark.parametrize("number", range(1, 5))
    @pytest.mark.parametrize("distance", [-1, 1])
    def test_with_a_key_that_the_aggregator_drew(self, number: int, distance: int) -> None:
        """For the next silo, so that it could read the total, or for the one before, so that it could write it."""
        table = Table()
        name = table.roster[(number - 1 + distance) % 4]
        forged = advertise(table.session, Identity.create(name), [ChannelKey.draw(SeededRandomness(9)).public])
        self.refuse(number, lambda turn: told(turn, {name: forged}), SignatureInvalid, table)

    def test_with_the_key_of_a_silo_that_is_no_neighbour(self) -> None:
        table = Table()
        change = lambda turn: told(turn, {"west": table.advertised("west")})  # noqa: E731
        self.refuse(2, change, WrongContributors, table)

    @pytest.mark.parametrize("number", range(1, 5))
    def test_with_another_key_of_its_own_that_it_signed(self, number: int) -> None:
        table = Table()
        silo = table.roster[number - 1]
        again = advertise(table.session, IDENTITIES[silo], [ChannelKey.draw(SeededRandomness(9)).public])
        self.refuse(number, lambda turn: told(turn, {silo: again}), CommitmentBroken, table)

    def test_without_the_key_of_a_neighbour(self) -> None:
        self.refuse(2, lambda turn: told(turn, {"south": None}), QuorumLost)


def told(turn: ring_pb2.RingTurn, change: Mapping[str, bytes | None]) -> ring_pb2.RingTurn:
    """The turn with other advertisements."""
    said = {piece.silo: piece.data for piece in decode(sums_pb2.Pieces, turn.advertised).pieces}
    merged = {silo: data for silo, data in {**said, **change}.items() if data is not None}
    return ring_pb2.RingTurn(advertised=pieces(merged), total=turn.total)


class TestOutOfTurn:
    def test_a_silo_takes_its_own_turn_only(self) -> None:
        """The messages of every other round are refused, and it is still there for its own."""
        table = Table()
        table.run()
        for silo in table.roster:
            mine = [number for number, asked in enumerate(table.asked) if silo in asked]
            fresh = table.silo(silo)
            for number in range(6):
                message = next(iter(table.asked[number].values()))
                if number != mine[0]:
                    with pytest.raises(WrongRound):
                        fresh.answer(message)
            assert fresh.answer(table.asked[0][silo]) == table.said[0][silo]

    def test_a_total_in_another_silos_turn_does_not_open(self) -> None:
        """The aggregator skips north, and brings south what east sealed, under the number of south's turn."""
        table = Table()
        table.run(rounds=2)
        around = pieces({silo: table.advertised(silo) for silo in ("north", "south", "west")})
        total = unwrap(table.session, round=3, data=table.said[1]["east"])
        body = ring_pb2.RingTurn(advertised=around, total=total).SerializeToString()
        with pytest.raises(SealBroken):
            table.silos["south"].answer(wrap(table.session, round=6, body=body))

    @pytest.mark.parametrize("number", range(6))
    def test_no_turn_is_taken_twice(self, number: int) -> None:
        table = Table()
        table.run(rounds=number + 1)
        for silo, message in table.asked[number].items():
            with pytest.raises(WrongRound):
                table.silos[silo].answer(message)

    def test_nobody_answers_for_the_silo_whose_turn_it_is(self) -> None:
        table = Table()
        table.run(rounds=2)
        reply = table.said[1]["east"]
        with pytest.raises(DomainError, match="not asked"):
            table.side.check("south", reply)
        with pytest.raises(WrongRound):
            table.side.check("north", reply)


class TestAReplyThatTheAggregatorRefuses:
    @pytest.mark.parametrize("number", range(1, 5))
    @pytest.mark.parametrize("size", [0, 640, 667, 669, 100_000])
    def test_because_a_sealed_total_has_another_size(self, number: int, size: int) -> None:
        self.refuse(number, size)

    @pytest.mark.parametrize("size", [0, 639, 641, 668, 100_000])
    def test_because_the_sum_has_another_size(self, size: int) -> None:
        self.refuse(5, size)

    def test_because_two_silos_advertise_the_same_key(self) -> None:
        """Each reply is in order by itself: only all of them together show it, and not to every silo."""
        table = Table()
        table.silos["south"] = table.silo("south", seed=0)
        replies = {silo: table.silos[silo].answer(message) for silo, message in table.side.open().items()}
        for silo, reply in replies.items():
            table.side.check(silo, reply)
        with pytest.raises(WrongContributors, match="twice"):
            table.side.advance(replies)

    def test_because_another_silo_signed_it(self) -> None:
        table = Table()
        table.side.open()
        said = advertise(table.session, IDENTITIES["east"], [ChannelKey.draw(SeededRandomness(9)).public])
        with pytest.raises(SignatureInvalid):
            table.side.check("north", wrap(table.session, round=1, body=said))

    def refuse(self, number: int, size: int) -> None:
        table = Table()
        table.run(rounds=number)
        silo = table.roster[(number - 1) % 4]
        with pytest.raises(MessageError):
            table.side.check(silo, wrap(table.session, round=2 * number + 1, body=bytes(size)))


class TestAfterACrash:
    def test_the_sum_is_the_same_if_all_silos_restart_before_every_turn(self) -> None:
        table = Table()
        result = table.run(restarting=True)
        assert result is not None
        np.testing.assert_array_equal(result.total, table.total())

    @pytest.mark.parametrize("number", range(6))
    def test_an_answered_turn_stays_answered(self, number: int) -> None:
        table = Table()
        table.run()
        for silo, message in table.asked[number].items():
            fresh = table.silo(silo)
            fresh.restore(table.states[number][silo])
            with pytest.raises(WrongRound):
                fresh.answer(message)

    def test_a_silo_that_has_passed_the_total_on_keeps_nothing(self) -> None:
        """The first one keeps its key and its mask until it has opened the sum."""
        table = Table()
        table.run()
        for number, silo, answered in ((2, "north", 2), (3, "south", 2), (4, "west", 2), (5, "east", 3)):
            assert masked_pb2.MaskedSiloState.FromString(table.states[number][silo]) == masked_pb2.MaskedSiloState(
                answered=answered
            )
        assert masked_pb2.MaskedSiloState.FromString(table.states[4]["east"]).seed

    @pytest.mark.parametrize("silo", ["east", "west"])
    def test_a_silo_that_forgets_keeps_nothing_and_answers_nothing(self, silo: str) -> None:
        table = Table()
        table.run(rounds=2)
        table.silos[silo].forget()
        memory = masked_pb2.MaskedSiloState.FromString(table.silos[silo].state())
        assert memory == masked_pb2.MaskedSiloState(answered=3 if silo == "east" else 2)


def test_the_config_builds_it_with_its_precision() -> None:
    built = RingSumConfig(kind="ring", precision_bits=20).build()
    assert built.name == "fixed_point(precision_bits=20) over ring"
