"""Sums without a check or a mask, or with one accomplice too many: there a silo's cheats work, so that these stop them.

`malformed_c1`, `constant_upload` and `malformed_key` have controls in sums that yield to them as they are: the first two
under a joint key, the last under one key. See `test_accomplices`.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from siloseal.experiments.attacks import list_cheats
from siloseal.experiments.attacks.attacked_sum import ROSTER, AttackedSum
from siloseal.experiments.attacks.cheating import play
from siloseal.experiments.attacks.joint_key_cheats import JointKeyOfUs
from siloseal.experiments.attacks.joint_key_recovery import read_multiples
from siloseal.experiments.attacks.upload_cheats import copies_upload
from siloseal.federation.randomness import Randomness
from siloseal.federation.sums.ckks.ckks_sum import CkksSum
from siloseal.federation.sums.config import SumKind
from siloseal.federation.sums.joint_key import encryption
from siloseal.federation.sums.joint_key.joint_key_sum import JointKeySum
from siloseal.federation.sums.masked.words import WordRing
from siloseal.federation.sums.secure_sum import SecureSum
from siloseal.federation.sums.session import Session


@pytest.fixture
def unmasked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(WordRing, "add_masks", lambda self, words, masks: None)


def copied_total(scheme: SecureSum) -> tuple[np.ndarray, np.ndarray]:
    """What comes of the copy, and what the victim's vector counted twice would make of the sum."""
    attacked = AttackedSum(scheme)
    (found,) = next(copies_upload(attacked))()
    east, north, south, _ = (np.asarray(attacked.vectors[name]) for name in ROSTER)
    return np.asarray(found), (2 * east + north + south) % 2**20


def test_a_copied_ciphertext_would_count_twice_if_digests_named_no_silo(monkeypatch: pytest.MonkeyPatch) -> None:
    def of_anyone(session: Session, silo: str, half: bytes) -> bytes:
        return session.bind("ciphertext half", half)

    monkeypatch.setattr("siloseal.federation.sums.joint_key.statements.half_digest", of_anyone)
    found, twice = copied_total(JointKeySum())
    np.testing.assert_array_equal(found, twice)


def test_a_copied_ciphertext_and_key_share_would_count_twice_without_masks(unmasked: None) -> None:
    found, twice = copied_total(CkksSum())
    np.testing.assert_array_equal(found, twice)


@pytest.mark.parametrize("kind", ["secagg", "secagg_plus", "additive", "ckks"])
def test_what_cancels_the_others_would_leave_the_victim_without_masks(kind: SumKind, unmasked: None) -> None:
    attempt = play(kind, "cancels_upload")
    assert attempt.outcome == "learnt"
    assert "computed" in attempt.words


def test_what_cancels_the_others_would_leave_the_victim_if_nobody_checked_commitments(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        "siloseal.federation.sums.joint_key.silo_side.require_half", lambda session, silo, half, digest: half
    )
    assert play("ckks_joint_key", "cancels_upload").outcome == "learnt"


def test_a_malformed_key_share_shows_the_sum_of_the_one_time_polynomials(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn, shown, real = list[np.ndarray](), list[np.ndarray](), encryption.draw_ternary

    def draw(*sizes: Any) -> np.ndarray:
        drawn.append(real(*sizes))
        return drawn[-1]

    def look(side: JointKeyOfUs) -> None:
        shown.append(read_multiples(side._parameters, side._c0[0]))
        raise ValueError("seen")

    monkeypatch.setattr(encryption, "draw_ternary", draw)
    monkeypatch.setattr(JointKeyOfUs, "_sum", look)
    with pytest.raises(ValueError, match="seen"):
        play("ckks_joint_key", "malformed_key")
    np.testing.assert_array_equal(shown[0], sum(drawn)[0])


def test_it_would_open_the_victims_upload_if_those_of_the_others_cancelled_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real, others = encryption.draw_ternary, iter((None, (1, 0), (0, 1), (-1, -1)))  # in the roster's order

    def draw(randomness: Randomness, shape: tuple[int, int]) -> np.ndarray:
        drawn = real(randomness, shape)
        if (start := next(others)) is not None:
            drawn[:] = 0
            drawn[0, :2] = start
        return drawn

    monkeypatch.setattr(encryption, "draw_ternary", draw)
    assert play("ckks_joint_key", "malformed_key").outcome == "learnt"


@pytest.mark.parametrize("kind", ["secagg", "ckks", "ckks_joint_key"])
def test_one_accomplice_more_than_the_threshold_allows_gets_two_sums(
    kind: SumKind, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of four silos with a threshold of three, 2t - n - 1 = 1 may be malicious. Here there are two."""
    enlist: Callable[[AttackedSum], None] = lambda attacked: setattr(attacked, "accomplices", frozenset(ROSTER[2:]))  # noqa: E731
    monkeypatch.setattr(list_cheats, "enlist", enlist)
    assert play(kind, "two_lists_with_a_silo").outcome == "learnt"
