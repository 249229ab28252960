"""What an upload tells to whoever does not hold its masks: nothing that a coin would not tell."""

from collections.abc import Callable

import numpy as np
import pytest

from siloseal.federation.errors import WrongRound
from siloseal.federation.sums import shamir
from siloseal.federation.sums.envelope import unwrap
from siloseal.federation.sums.masked.words import Words
from siloseal.federation.sums.sealing import AgreementKey
from siloseal.federation.sums.secagg.plan import Round
from siloseal.federation.sums.secagg.shares import join_key, mask_between, mask_sign, seed_digest
from siloseal.federation.sums.session import IntegerDomain
from siloseal.federation.transport.wire import masked_pb2, sums_pb2
from siloseal.federation.transport.wire.codec import decode
from tests.federation.sums.uniform import assert_uniform

from .conftest import Parties

PartiesOf = Callable[..., Parties]
LONG = IntegerDomain(60_000, 2**20)


def upload_of(parties: Parties, name: str) -> Words:
    return parties.plan.ring.unpack(parties.body_said(Round.UPLOAD, name))


@pytest.fixture
def parties(parties_of: PartiesOf) -> Parties:
    """Everyone contributes the same number in every entry, which could not be further from uniform."""
    return parties_of(4, domain=LONG, vectors={f"silo{n:03d}": np.full(LONG.length, 12345) for n in range(4)})


def test_one_upload_alone_is_indistinguishable_from_uniform(parties: Parties) -> None:
    result = parties.run()
    assert (result.total == 4 * 12345).all()
    for name in parties.roster:
        assert_uniform(upload_of(parties, name), 20)


def test_the_sum_of_all_but_one_upload_is_indistinguishable_from_uniform(parties: Parties) -> None:
    parties.run()
    assert_uniform(sum(upload_of(parties, name) for name in parties.roster[1:]) & np.uint32(2**20 - 1), 20)


def test_two_sessions_mask_the_same_vector_differently(parties_of: PartiesOf) -> None:
    uploads = list[Words]()
    for number in range(2):
        parties = parties_of(3, domain=LONG, id=number)
        parties.run()
        uploads.append(upload_of(parties, parties.roster[0]))
    assert_uniform((uploads[0] - uploads[1]) & np.uint32(2**20 - 1), 20)


def test_a_late_upload_stays_hidden_although_the_masks_with_others_are_removed(parties: Parties) -> None:
    """The aggregator kept the upload back, and had the silo declared a drop-out: it gets its key, and not its seed."""
    late = parties.roster[1]
    uploads = parties.answer(parties.run_until(Round.UPLOAD))
    parties.said.append(uploads)
    keys = public_mask_keys(parties)
    memories = {name: decode(masked_pb2.MaskedSiloState, parties.silos[name].state()) for name in parties.roster}
    confirm = parties.aggregator.advance({name: reply for name, reply in uploads.items() if name != late})
    reveal = parties.aggregator.advance(parties.answer(confirm))
    opened = [
        decode(sums_pb2.Pieces, unwrap_reveal(parties, parties.silos[n].answer(message)))
        for n, message in reveal.items()
    ]
    shares = {piece.data for revealed in opened for piece in revealed.pieces if piece.silo == late}
    of_seed = {p.data[-32:] for memory in memories.values() for p in memory.held if p.silo == late}
    assert not shares & of_seed, "not one share of the seed was revealed"
    words, key = upload_of(parties, late), key_from(parties, late, opened, keys[late])
    for other in parties.roster:
        if other != late:
            mask = mask_between(parties.session, key, late, other, keys[other])
            parties.plan.ring.add_mask(words, mask, -1 if mask_sign(late, other) > 0 else 1)
    assert_uniform(words & np.uint32(2**20 - 1), 20)
    with pytest.raises(WrongRound):
        parties.silos[parties.roster[0]].answer(confirm[parties.roster[0]])


def public_mask_keys(parties: Parties) -> dict[str, bytes]:
    bodies = {name: parties.body_said(Round.ADVERTISE, name) for name in parties.roster}
    return {name: decode(masked_pb2.Advertisement, body).keys[1] for name, body in bodies.items()}


def unwrap_reveal(parties: Parties, reply: bytes) -> bytes:
    return unwrap(parties.session, round=2 * Round.REVEAL + 1, data=reply)


def key_from(parties: Parties, silo: str, opened: list[sums_pb2.Pieces], public: bytes) -> AgreementKey:
    holders = [name for name in parties.roster if name != silo]
    held = {
        holder: next(piece.data for piece in revealed.pieces if piece.silo == silo)
        for holder, revealed in zip(holders, opened, strict=True)
    }
    return join_key(parties.session, silo, held, parties.plan.threshold, public)


def test_t_shares_open_a_seed_and_one_fewer_gives_another_number(parties_of: PartiesOf) -> None:
    parties = parties_of(7)
    requests = parties.run_until(Round.UPLOAD)
    owner = parties.roster[0]
    seed = int.from_bytes(decode(masked_pb2.MaskedSiloState, parties.silos[owner].state()).seed, "little")
    held = dict[int, int]()
    for name, message in requests.items():
        parties.silos[name].answer(message)
        for piece in decode(masked_pb2.MaskedSiloState, parties.silos[name].state()).held:
            if piece.silo == owner:
                held[parties.session.places[name] + 1] = int.from_bytes(piece.data[-32:], "little")
    assert len(held) == 7
    assert shamir.join(held, 5, prime=shamir.KEY_FIELD) == seed
    assert shamir.join(dict(list(held.items())[:4]), 4, prime=shamir.KEY_FIELD) != seed


def test_a_mask_belongs_to_one_pair_in_one_session(parties_of: PartiesOf) -> None:
    """Under the same keys, too: should a generator of random numbers repeat itself, no mask repeats."""
    parties = parties_of(3)
    mine, theirs = AgreementKey(bytes([1]) * 32), AgreementKey(bytes([2]) * 32)
    one, two, three = parties.roster
    key = mask_between(parties.session, mine, one, two, theirs.public)
    assert key == mask_between(parties.session, theirs, two, one, mine.public)
    assert key != mask_between(parties.session, mine, one, three, theirs.public)
    assert key != mask_between(parties.session_of(1), mine, one, two, theirs.public)
    assert mask_sign(one, two) == -mask_sign(two, one)


def test_what_names_a_seed_is_of_one_silo_in_one_session(parties_of: PartiesOf) -> None:
    parties = parties_of(3)
    one, two, _ = parties.roster
    digests = {
        seed_digest(session, silo, seed)
        for session in (parties.session, parties.session_of(1))
        for silo in (one, two)
        for seed in (bytes(32), bytes([1]) * 32)
    }
    assert len(digests) == 8
