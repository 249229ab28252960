"""What an upload tells to whoever does not hold its masks: nothing that a coin would not tell."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from siloseal.federation.errors import ProtocolError
from siloseal.federation.sums import shamir
from siloseal.federation.sums.masked.words import Words
from siloseal.federation.sums.sealing import AgreementKey
from siloseal.federation.sums.secagg.plan import Round
from siloseal.federation.sums.secagg.shares import join_key, mask_between, mask_sign, seed_digest
from siloseal.federation.sums.secure_sum import Sum
from siloseal.federation.sums.session import IntegerDomain
from siloseal.federation.transport.wire import masked_pb2 as pb
from siloseal.federation.transport.wire import sums_pb2
from siloseal.federation.transport.wire.codec import decode, unwrap

from .conftest import Table

TableOf = Callable[..., Table]
FALSE_ALARM = 1e-6
"""Of each test of uniformity, in all of the bits that it looks at together."""

LONG = IntegerDomain(60_000, 2**20)


def upload_of(table: Table, name: str) -> Words:
    body = unwrap(table.session, round=2 * Round.UPLOAD + 1, data=table.said[Round.UPLOAD][name])
    return table.plan.ring.unpack(body)


def assert_uniform(words: Words, bits: int) -> None:
    """Chi-square over the lowest eight bits, over the highest eight, and over the lowest bit of neighbours."""
    tests = [words & np.uint32(0xFF), words >> np.uint32(bits - 8), 2 * (words[1::2] & 1) + (words[::2] & 1)]
    for values, kinds in zip(tests, (256, 256, 4), strict=True):
        counts = np.bincount(values, minlength=kinds)
        assert len(counts) == kinds
        assert stats.chisquare(counts).pvalue > FALSE_ALARM / len(tests)


@pytest.fixture
def table(table_of: TableOf) -> Table:
    """Everyone contributes the same number in every entry, which could not be further from uniform."""
    table = table_of(4, domain=LONG)
    for name in table.roster:
        table.vectors[name] = np.full(LONG.length, 12345)
        table.silos[name] = table.silo(name)
    return table


def test_one_upload_alone_is_indistinguishable_from_uniform(table: Table) -> None:
    result = table.run()
    assert isinstance(result, Sum)
    assert (result.total == 4 * 12345).all()
    for name in table.roster:
        assert_uniform(upload_of(table, name), 20)


def test_the_sum_of_all_but_one_upload_is_indistinguishable_from_uniform(table: Table) -> None:
    table.run()
    assert_uniform(sum(upload_of(table, name) for name in table.roster[1:]) & np.uint32(2**20 - 1), 20)


def test_two_sessions_mask_the_same_vector_differently(table_of: TableOf) -> None:
    uploads = list[Words]()
    for number in range(2):
        table = table_of(3, domain=LONG, id=number)
        table.run()
        uploads.append(upload_of(table, table.roster[0]))
    assert_uniform((uploads[0] - uploads[1]) & np.uint32(2**20 - 1), 20)


def test_a_late_upload_stays_hidden_although_the_masks_with_others_are_removed(table: Table) -> None:
    """The aggregator kept the upload back, and had the silo declared a drop-out: it gets its key, and not its seed."""
    late = table.roster[1]
    requests = table.run(until=Round.UPLOAD)
    assert not isinstance(requests, Sum)
    uploads = {name: table.silos[name].answer(message) for name, message in requests.items()}
    table.said[Round.UPLOAD] = uploads
    keys = public_mask_keys(table)
    memories = {name: decode(pb.MaskedSiloState, table.silos[name].state()) for name in table.roster}
    confirm = table.side.advance({name: reply for name, reply in uploads.items() if name != late})
    assert not isinstance(confirm, Sum)
    reveal = table.side.advance({name: table.silos[name].answer(message) for name, message in confirm.items()})
    assert not isinstance(reveal, Sum)
    opened = [
        decode(sums_pb2.Pieces, unwrap_reveal(table, table.silos[n].answer(message))) for n, message in reveal.items()
    ]
    shares = {piece.data for revealed in opened for piece in revealed.pieces if piece.silo == late}
    of_seed = {p.data[-32:] for memory in memories.values() for p in memory.held if p.silo == late}
    assert not shares & of_seed, "not one share of the seed was revealed"
    words, key = upload_of(table, late), key_from(table, late, opened, keys[late])
    for other in table.roster:
        if other != late:
            mask = mask_between(table.session, key, late, other, keys[other])
            table.plan.ring.add_mask(words, mask, -1 if mask_sign(late, other) > 0 else 1)
    assert_uniform(words & np.uint32(2**20 - 1), 20)
    with pytest.raises(ProtocolError, match="ended"):
        table.silos[table.roster[0]].answer(confirm[table.roster[0]])


def public_mask_keys(table: Table) -> dict[str, bytes]:
    bodies = {
        name: unwrap(table.session, round=2 * Round.ADVERTISE + 1, data=reply)
        for name, reply in table.said[Round.ADVERTISE].items()
    }
    return {name: decode(pb.Advertisement, body).keys[1] for name, body in bodies.items()}


def unwrap_reveal(table: Table, reply: bytes) -> bytes:
    return unwrap(table.session, round=2 * Round.REVEAL + 1, data=reply)


def key_from(table: Table, silo: str, opened: list[sums_pb2.Pieces], public: bytes) -> AgreementKey:
    holders = [name for name in table.roster if name != silo]
    held = {
        holder: next(piece.data for piece in revealed.pieces if piece.silo == silo)
        for holder, revealed in zip(holders, opened, strict=True)
    }
    return join_key(table.session, silo, held, table.plan.threshold, public)


def test_t_shares_open_a_seed_and_one_fewer_gives_another_number(table_of: TableOf) -> None:
    table = table_of(7)
    requests = table.run(until=Round.UPLOAD)
    assert not isinstance(requests, Sum)
    owner = table.roster[0]
    seed = int.from_bytes(decode(pb.MaskedSiloState, table.silos[owner].state()).seed, "little")
    held = dict[int, int]()
    for name, message in requests.items():
        table.silos[name].answer(message)
        for piece in decode(pb.MaskedSiloState, table.silos[name].state()).held:
            if piece.silo == owner:
                held[table.session.places[name] + 1] = int.from_bytes(piece.data[-32:], "little")
    assert len(held) == 7
    assert shamir.join(held, 5, prime=shamir.KEY_FIELD) == seed
    assert shamir.join(dict(list(held.items())[:4]), 4, prime=shamir.KEY_FIELD) != seed


def test_a_mask_belongs_to_one_pair_in_one_session(table_of: TableOf) -> None:
    """Under the same keys, too: should a generator of random numbers repeat itself, no mask repeats."""
    table = table_of(3)
    mine, theirs = AgreementKey(bytes([1]) * 32), AgreementKey(bytes([2]) * 32)
    one, two, three = table.roster
    key = mask_between(table.session, mine, one, two, theirs.public)
    assert key == mask_between(table.session, theirs, two, one, mine.public)
    assert key != mask_between(table.session, mine, one, three, theirs.public)
    assert key != mask_between(table.session_of(1), mine, one, two, theirs.public)
    assert mask_sign(one, two) == -mask_sign(two, one)


def test_what_names_a_seed_is_of_one_silo_in_one_session(table_of: TableOf) -> None:
    table = table_of(3)
    one, two, _ = table.roster
    digests = {
        seed_digest(session, silo, seed)
        for session in (table.session, table.session_of(1))
        for silo in (one, two)
        for seed in (bytes(32), bytes([1]) * 32)
    }
    assert len(digests) == 8
