"""Shares of a seed: sealed to one peer each, and joined by as many as the threshold says."""

import pytest

from siloseal.federation.errors import CommitmentBroken, QuorumLost, SealBroken
from siloseal.federation.randomness import SeededRandomness
from siloseal.federation.sums.joint_key.keys import SEED_BYTES, seed_digest
from siloseal.federation.sums.joint_key.seed_shares import SHARE_BYTES, join_shares, seal_shares, unseal_share
from siloseal.federation.sums.sealing import ChannelKey
from siloseal.federation.transport.wire import joint_key_pb2 as pb

from .conftest import Parties

SEED = bytes(range(SEED_BYTES))
THRESHOLD = 3
CHANNELS = {silo: ChannelKey(bytes([number]) * 32) for number, silo in enumerate(("east", "north", "south", "west"), 1)}


@pytest.fixture
def reveal(parties: Parties) -> pb.KeyReveal:
    """What `north` reveals to its peers of a session."""
    commitments = {silo: pb.KeyCommitment(channel_key=channel.public) for silo, channel in CHANNELS.items()}
    sealed = seal_shares(parties.session, "north", CHANNELS["north"], SEED, commitments, THRESHOLD, SeededRandomness(0))
    return pb.KeyReveal(sealed=sealed)


def unsealed(parties: Parties, reveal: pb.KeyReveal, silo: str, *, by: str | None = None) -> bytes:
    return unseal_share(parties.session, silo, CHANNELS[by or silo], "north", CHANNELS["north"].public, reveal)


@pytest.fixture
def held(parties: Parties, reveal: pb.KeyReveal) -> dict[str, bytes]:
    return {silo: unsealed(parties, reveal, silo) for silo in ("east", "south", "west")}


def test_the_peers_shares_give_the_seed(parties: Parties, held: dict[str, bytes]) -> None:
    assert {len(share) for share in held.values()} == {SHARE_BYTES}
    assert join_shares(parties.session, "north", held, THRESHOLD, seed_digest(SEED)) == SEED


def test_one_share_too_few_gives_nothing(parties: Parties, held: dict[str, bytes]) -> None:
    del held["west"]
    with pytest.raises(QuorumLost):
        join_shares(parties.session, "north", held, THRESHOLD, seed_digest(SEED))


def test_a_false_share_is_noticed(parties: Parties, held: dict[str, bytes]) -> None:
    held["west"] = bytes(SHARE_BYTES)
    with pytest.raises(CommitmentBroken):
        join_shares(parties.session, "north", held, THRESHOLD, seed_digest(SEED))


def test_a_share_opens_for_its_receiver_only(parties: Parties, reveal: pb.KeyReveal) -> None:
    with pytest.raises(SealBroken):
        unsealed(parties, reveal, "east", by="west")


@pytest.mark.parametrize("copies", [0, 2])
def test_a_silo_takes_one_share_no_more_and_no_fewer(parties: Parties, reveal: pb.KeyReveal, copies: int) -> None:
    others = [piece for piece in reveal.sealed if piece.silo != "east"]
    own = [piece for piece in reveal.sealed if piece.silo == "east"]
    with pytest.raises(SealBroken):
        unsealed(parties, pb.KeyReveal(sealed=others + copies * own), "east")
