"""The beacon of a run hashes a nonce of every silo, each bound to its commitment; and so do the names of its sums."""

import hashlib
from dataclasses import replace
from itertools import permutations

import pytest

from siloseal.federation.errors import CommitmentBroken, MessageError, WrongContributors, WrongRound
from siloseal.federation.job.agreement import Agreement
from siloseal.federation.job.beacon import commit, join_nonces, require_committed
from siloseal.federation.job.releases import sum_id
from siloseal.federation.records.identity import Identity
from siloseal.federation.transport.wire import sums_pb2 as pb

NAMES = ("north", "east", "south")
AGREED = Agreement(b"r" * 32, b"j" * 32, {name: Identity.create(name).public for name in NAMES})
NONCES = {name: hashlib.sha256(name.encode()).digest() for name in NAMES}
OTHER = b"\1" * 32
COMMITMENT = "092ec9f6ad05b10d6904921c881f3cd6539d966a1fb53a45e55b665f6344d6d6"
BEACON = "532ce687bef6e643ed25106197134106c28d970df0d19f877e916b1461d25f9a"
SUM_ID = "fd104c3590fcc07ae90b5acb06617c863c39d54aec53c87d000ae8dbbe1224f5"
"""Hashed by hand: `siloseal`, then each part after its length in eight bytes, little-endian."""


def committed(nonces: dict[str, bytes], agreement: Agreement = AGREED) -> dict[str, bytes]:
    return {name: commit(agreement, name, nonce) for name, nonce in nonces.items()}


def pieces(nonces: dict[str, bytes]) -> list[pb.Piece]:
    return [pb.Piece(silo=name, data=nonce) for name, nonce in nonces.items()]


def beacon(agreement: Agreement = AGREED, **replaced: bytes) -> bytes:
    nonces = NONCES | replaced
    return join_nonces(agreement, committed(nonces, agreement), pieces(nonces))


def test_the_recorded_beacon_comes_out() -> None:
    """Every silo computes it by itself: two versions that differ here cannot sum together."""
    assert commit(AGREED, "north", NONCES["north"]).hex() == COMMITMENT
    assert beacon().hex() == BEACON
    assert sum_id(beacon(), "phase_2", 3).hex() == SUM_ID


def test_the_beacon_changes_with_the_nonce_of_any_one_silo_and_with_the_run() -> None:
    drawn = [beacon(), *(beacon(**{name: OTHER}) for name in NAMES), beacon(replace(AGREED, run_id=OTHER))]
    assert len(set(drawn)) == len(drawn)


def test_whose_nonce_is_whose_matters_and_the_order_in_which_they_came_does_not() -> None:
    turned = dict(zip(NAMES, (NONCES["east"], NONCES["south"], NONCES["north"]), strict=True))
    assert beacon(**turned) != beacon()
    assert {join_nonces(AGREED, committed(NONCES), list(said)) for said in permutations(pieces(NONCES))} == {beacon()}


@pytest.mark.parametrize("silo", NAMES)
def test_another_nonce_than_the_one_committed_to_is_refused_with_its_silos_name(silo: str) -> None:
    with pytest.raises(CommitmentBroken, match=rf"\b{silo}\b"):
        join_nonces(AGREED, committed(NONCES), pieces(NONCES | {silo: OTHER}))


@pytest.mark.parametrize(
    ("agreement", "silo"),
    [(replace(AGREED, run_id=OTHER), "east"), (replace(AGREED, job_digest=OTHER), "east"), (AGREED, "south")],
    ids=["another run", "another job", "another silo"],
)
def test_a_commitment_is_of_no_use_elsewhere(agreement: Agreement, silo: str) -> None:
    """Else a silo could copy another's commitment, and then its nonce."""
    require_committed(AGREED, "east", NONCES["east"], commit(AGREED, "east", NONCES["east"]))
    with pytest.raises(CommitmentBroken):
        require_committed(agreement, silo, NONCES["east"], commit(AGREED, "east", NONCES["east"]))


@pytest.mark.parametrize("nonce", [b"", b"n" * 31, b"n" * 33, b"n" * 10**6], ids=len)
def test_a_nonce_of_another_size_is_refused_even_if_it_was_committed_to(nonce: bytes) -> None:
    with pytest.raises(MessageError, match=rf" {len(nonce)} bytes .*east.* 32$"):
        beacon(east=nonce)


@pytest.mark.parametrize(
    "said",
    [[], pieces(NONCES)[:2], pieces(NONCES) + pieces(NONCES)[:1], [*pieces(NONCES), pb.Piece(silo="west")]],
    ids=["nobody", "one is missing", "one is there twice", "a stranger"],
)
def test_there_must_be_one_nonce_of_each_silo(said: list[pb.Piece]) -> None:
    with pytest.raises(WrongContributors):
        join_nonces(AGREED, committed(NONCES), said)


def test_every_round_of_every_phase_has_a_sum_of_its_own() -> None:
    sums = [("warm_start", 0), ("phase_1", 0), *(("phase_2", number) for number in range(300)), ("fedavg", 1)]
    assert len({sum_id(beacon(), phase, number) for phase, number in sums}) == len(sums)
    assert sum_id(beacon(), "phase_1", 0) != sum_id(beacon(east=OTHER), "phase_1", 0)


def test_without_a_beacon_no_sum_has_a_name() -> None:
    with pytest.raises(WrongRound):
        sum_id(b"", "phase_1", 0)
