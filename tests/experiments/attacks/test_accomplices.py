"""An aggregator that cheats together with a silo: what comes of it, sum by sum. `test_accomplice_controls` has more."""

import pytest

from siloseal.experiments.attacks.cheat_names import WITH_A_SILO, Cheat
from siloseal.experiments.attacks.cheating import SUMS
from siloseal.federation.sums.config import SumKind

from .conftest import Played, require

ONE_KEY_SUMS: tuple[SumKind, ...] = ("paillier", "ckks_one_key")
MASKED: tuple[SumKind, ...] = ("secagg", "secagg_plus", "additive", "ring")
UPLOAD_CHEATS: tuple[Cheat, ...] = ("copies_upload", "cancels_upload", "constant_upload")


@pytest.mark.parametrize("cheat", WITH_A_SILO)
@pytest.mark.parametrize("kind", ["ckks", *MASKED])
def test_one_silo_and_the_aggregator_learn_nothing_from_these_sums(played: Played, kind: SumKind, cheat: Cheat) -> None:
    assert played[kind, cheat].outcome != "learnt"


@pytest.mark.parametrize("cheat", ["malformed_c1", "constant_upload"])
def test_a_malformed_c1_opens_every_upload_under_a_joint_key(played: Played, cheat: Cheat) -> None:
    require(played["ckks_joint_key", cheat], "learnt", "computed")


@pytest.mark.parametrize("cheat", ["malformed_c1", *UPLOAD_CHEATS])
def test_silos_of_the_key_additive_sum_need_not_care_what_others_upload(played: Played, cheat: Cheat) -> None:
    """They all answer: `tests/federation/sums/ckks/test_non_interference.py` shows that it is what they always answer."""
    require(played["ckks", cheat], "harmless", "every silo answered")
    assert "refused" not in played["ckks", cheat].words


@pytest.mark.parametrize("cheat", ["copies_upload", "cancels_upload"])
def test_under_a_joint_key_a_ciphertext_must_be_the_one_that_its_silo_committed_to(
    played: Played, cheat: Cheat
) -> None:
    require(played["ckks_joint_key", cheat], "refused", "east, north, south refused", "CommitmentBroken")


@pytest.mark.parametrize("cheat", WITH_A_SILO)
@pytest.mark.parametrize("kind", ONE_KEY_SUMS)
def test_under_one_key_any_silo_reads_all_for_the_aggregator(played: Played, kind: SumKind, cheat: Cheat) -> None:
    require(played[kind, cheat], "learnt", "holds the key")


@pytest.mark.parametrize("kind", MASKED)
def test_keys_of_low_order_are_refused(played: Played, kind: SumKind) -> None:
    require(played[kind, "malformed_key"], "refused", "SealBroken")


def test_a_key_share_that_is_not_short_opens_nothing(played: Played) -> None:
    """Keys of low order are refused here as well."""
    require(played["ckks", "malformed_key"], "harmless", "OpeningFailed", "SealBroken")


def test_the_sum_of_all_one_time_polynomials_opens_no_upload(played: Played) -> None:
    require(played["ckks_joint_key", "malformed_key"], "harmless", "OpeningFailed")


@pytest.mark.parametrize("kind", ["ckks", "ckks_joint_key", "secagg", "secagg_plus"])
def test_of_two_lists_one_sum_comes_out_even_where_a_silo_signs_both(played: Played, kind: SumKind) -> None:
    refused = [f"{silo} refused. QuorumLost" for silo in ("south", "east")]
    require(played[kind, "two_lists_with_a_silo"], "harmless", *refused)


def test_a_plain_sum_is_learnt_whatever_the_silo_uploads(played: Played) -> None:
    assert {played["plain", cheat].outcome for cheat in UPLOAD_CHEATS} == {"learnt"}


@pytest.mark.parametrize("kind", [kind for kind in SUMS if "ckks" not in kind and kind != "paillier"])
def test_there_is_no_c1_where_nothing_is_encrypted(played: Played, kind: SumKind) -> None:
    assert played[kind, "malformed_c1"].outcome == "does not apply"
