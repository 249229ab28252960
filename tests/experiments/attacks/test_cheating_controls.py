"""Silos without a check, a mask or a threshold: there the cheats work, so that what is refused is refused by these.

Each cheat has such a control against some sum, or learns with nothing taken away (`two_sessions`, and `solves_for_key`,
of which see `test_key_recovery`). Not every pair has one: `two_lists` keeps the vector hidden in additive sharing even
then, and in the ring a silo has no key for a neighbour that it was not told of; `opens_twice` finds no total without
the first silo in the ring; of ciphertexts, `reads_uploads` reads none (`test_uploads` does for CKKS) and
`replays_session` subtracts none.
"""

from collections.abc import Callable, Iterable

import numpy as np
import pytest

from siloseal.experiments.attacks.attacked_sum import ROSTER, AttackedSum
from siloseal.experiments.attacks.cheat_names import Cheat
from siloseal.experiments.attacks.cheating import play
from siloseal.federation.errors import WrongRound
from siloseal.federation.randomness import SeededRandomness
from siloseal.federation.records.identity import Identity
from siloseal.federation.sums.config import SumKind
from siloseal.federation.sums.joint_key.moduli import ring_of
from siloseal.federation.sums.joint_key.silo_side import JointKeySilo
from siloseal.federation.sums.joint_key.wire import add_bytes, to_bytes
from siloseal.federation.sums.masked.silo_side import MaskedSilo
from siloseal.federation.sums.masked.words import WordRing
from siloseal.federation.sums.sealing import AgreementKey
from siloseal.federation.sums.secagg.silo_side import SecAggSilo
from siloseal.federation.sums.secagg.survivors import sign_survivors
from siloseal.federation.sums.secure_sum import SiloSide
from siloseal.federation.sums.session import Session, Vector
from siloseal.federation.transport.wire import joint_key_pb2 as pb
from siloseal.federation.transport.wire import sums_pb2
from siloseal.federation.transport.wire.codec import decode


@pytest.fixture
def unsealed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages under a seal that anyone can take off, and put on."""
    monkeypatch.setattr(MaskedSilo, "_seal", lambda self, receiver, key, message: bytes(12) + message + bytes(16))
    monkeypatch.setattr(MaskedSilo, "_unseal", lambda self, sender, key, sealed, size: sealed[12:-16])


@pytest.fixture
def uncounted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Additive sharing between as few silos as there are."""
    for place in ("additive.sides", "masked.silo_side"):
        monkeypatch.setattr(f"siloseal.federation.sums.{place}.read_pieces", read_anything)


@pytest.mark.parametrize("kind", ["secagg", "secagg_plus", "additive", "ring"])
def test_looking_would_tell_all_without_masks(kind: SumKind, unsealed: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(WordRing, "add_masks", lambda self, words, masks: None)
    attempt = play(kind, "reads_uploads")
    assert attempt.outcome == "learnt"
    assert "message" in attempt.words


@pytest.mark.parametrize("kind", ["secagg", "additive", "ring", "ckks", "ckks_joint_key", "ckks_one_key"])
def test_a_swapped_key_would_give_the_vector_away_if_nobody_checked_signatures(
    kind: SumKind, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in ("masked.advertisement", "secagg.survivors", "ckks.uploads", "joint_key.statements"):
        monkeypatch.setattr(f"siloseal.federation.sums.{place}.check_signature", lambda *statement: None)
    assert play(kind, "swaps_keys").outcome == "learnt"


def test_a_share_of_one_would_give_the_vector_away_if_nobody_counted_silos(uncounted: None) -> None:
    assert play("additive", "opens_one").outcome == "learnt"


def test_the_first_silos_own_total_would_give_its_vector_away_if_any_seal_opened(unsealed: None) -> None:
    assert play("ring", "opens_one").outcome == "learnt"


@pytest.mark.parametrize("kind", ["secagg", "ckks"])
def test_a_list_of_one_survivor_would_give_the_vector_away_if_nobody_checked_it(
    kind: SumKind, monkeypatch: pytest.MonkeyPatch
) -> None:
    def sign_anything(silo: SecAggSilo, body: bytes) -> bytes:
        silo._memory.survivors = body
        return sign_survivors(silo._session, silo._me, body)

    monkeypatch.setattr(SecAggSilo, "_confirm", sign_anything)
    monkeypatch.setattr("siloseal.federation.sums.secagg.silo_side.read_pieces", read_anything)
    assert play(kind, "opens_one").outcome == "learnt"


def test_a_ciphertext_of_one_would_give_the_vector_away_if_silos_opened_anything(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def open_anything(silo: JointKeySilo, body: bytes) -> bytes:
        sizes, ring = silo._parameters, ring_of(silo._parameters.degree)
        total = np.zeros((sizes.groups, len(ring.primes), ring.degree), dtype=np.uint64)
        for half in read_anything(body).values():
            add_bytes(ring, total, half)
        opened = silo._alive()[0].partial_decrypt(sizes, total, silo._randomness)
        return pb.JointKeyOpening(polynomials=to_bytes(opened)).SerializeToString()

    monkeypatch.setattr(JointKeySilo, "_open", open_anything)
    assert play("ckks_joint_key", "opens_one").outcome == "learnt"


@pytest.mark.parametrize("cheat", ["two_lists", "two_lists_with_a_silo"])
@pytest.mark.parametrize(
    ("kind", "place"),
    [("secagg", "secagg.secagg_sum"), ("ckks", "secagg.secagg_sum"), ("ckks_joint_key", "joint_key.joint_key_sum")],
)
def test_two_lists_would_give_two_sums_if_half_of_the_silos_could_open_one(
    kind: SumKind, place: str, cheat: Cheat, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"siloseal.federation.sums.{place}.recovery_threshold", lambda silos, threshold: silos // 2)
    assert play(kind, cheat).outcome == "learnt"


def test_two_lists_would_be_harmless_if_silos_did_not_compare_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Above half of the silos each list has too few shares."""
    monkeypatch.setattr("siloseal.federation.sums.secagg.silo_side.check_survivors", lambda *statement: None)
    attempt = play("secagg", "two_lists")
    assert attempt.outcome == "harmless"
    assert "QuorumLost" in attempt.words


def test_two_lists_would_be_harmless_in_additive_sharing_if_nobody_counted(uncounted: None) -> None:
    """Masks between silos that were told different things stay on the sums."""
    attempt = play("additive", "two_lists")
    assert attempt.outcome == "harmless"
    assert attempt.words == "every silo answered; what came out is not the victim's vector"


class Rewound:
    """A silo that goes back to where it stood before a round, when it is asked that round again."""

    def __init__(self, begin: Callable[[], SiloSide]) -> None:
        self._begin, self._side = begin, begin()
        self._before = dict[int, bytes]()

    def answer(self, message: bytes) -> bytes:
        number = decode(sums_pb2.SumMessage, message).round
        self._before.setdefault(number, self._side.state())
        try:
            return self._side.answer(message)
        except WrongRound:
            self._side = self._begin()
            self._side.restore(self._before[number])
            return self._side.answer(message)


@pytest.fixture
def rewound(monkeypatch: pytest.MonkeyPatch) -> None:
    real = AttackedSum.silo

    def silo(attacked: AttackedSum, session: Session, me: Identity, vector: Vector) -> Rewound:
        return Rewound(lambda: real(attacked, session, me, vector))

    monkeypatch.setattr(AttackedSum, "silo", silo)


@pytest.mark.parametrize("kind", ["secagg", "secagg_plus", "ckks", "ckks_joint_key", "paillier", "ckks_one_key"])
def test_a_second_opening_would_give_the_vector_away_if_silos_went_back(kind: SumKind, rewound: None) -> None:
    assert play(kind, "opens_twice").outcome == "learnt"


def test_additive_sharing_would_stand_against_a_second_opening_even_then(rewound: None) -> None:
    attempt = play("additive", "opens_twice")
    assert attempt.outcome == "refused"
    assert "QuorumLost" in attempt.words


def test_additive_sharing_would_not_if_nobody_counted_either(rewound: None, uncounted: None) -> None:
    assert play("additive", "opens_twice").outcome == "learnt"


@pytest.fixture
def repeating(monkeypatch: pytest.MonkeyPatch) -> None:
    """Silos that draw the same in every session."""

    def silo(attacked: AttackedSum, session: Session, me: Identity, vector: Vector) -> SiloSide:
        return attacked.scheme.silo(session, me, vector, SeededRandomness(ROSTER.index(me.name)))

    monkeypatch.setattr(AttackedSum, "silo", silo)


@pytest.mark.parametrize("kind", ["additive", "secagg", "ring"])
def test_masks_that_are_used_again_give_away_how_the_vector_changed(
    kind: SumKind, repeating: None, unsealed: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def of_no_session(session: Session, mine: AgreementKey, me: str, peer: str, public: bytes) -> bytes:
        return mine.agree(public, b"any session")

    for place in ("silo_side", "aggregator_side"):
        monkeypatch.setattr(f"siloseal.federation.sums.secagg.{place}.mask_between", of_no_session)
    attempt = play(kind, "replays_session")
    assert attempt.outcome == "learnt"
    assert "changed" in attempt.words


def test_masks_of_secagg_differ_between_sessions_even_where_silos_draw_the_same(repeating: None) -> None:
    assert play("secagg", "replays_session").outcome == "refused"


def read_anything(body: bytes, *, known: Iterable[str] = (), fewest: int = 0) -> dict[str, bytes]:
    return {piece.silo: piece.data for piece in decode(sums_pb2.Pieces, body).pieces}
