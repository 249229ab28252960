"""An aggregator that cheats: what comes of it, sum by sum. `test_cheating_controls` takes the silos' checks away.

What it gets together with a silo is in `test_accomplices`.
"""

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest

from siloseal.experiments.attacks.attacked_sum import VICTIM, AttackedSum, NotTaught
from siloseal.experiments.attacks.cheat_names import CHEATS, Cheat
from siloseal.experiments.attacks.cheating import SUMS
from siloseal.experiments.attacks.key_cheats import solves_for_key
from siloseal.experiments.attacks.opening_cheats import forked
from siloseal.experiments.attacks.upload_cheats import format_of
from siloseal.federation.sums.config import SumKind
from siloseal.federation.sums.envelope import wrap
from siloseal.federation.sums.plain.plain_sum import PlainSum
from siloseal.federation.sums.secagg.config import SecAggConfig
from siloseal.federation.sums.secure_sum import SecureSum, Sum
from siloseal.federation.transport.wire.codec import to_array

from .conftest import Played, require

ONE_KEY_SUMS: tuple[SumKind, ...] = ("paillier", "ckks_one_key")
BY_ONE_LIST: tuple[SumKind, ...] = ("ckks", "secagg", "secagg_plus")
"""Sums whose silos reveal once they have signed one list of survivors."""
ENCRYPTED_OR_MASKED = tuple(kind for kind in SUMS if kind != "plain")


def test_every_cheat_is_played_against_every_sum(played: Played) -> None:
    assert set(played) == {(kind, cheat) for kind in SUMS for cheat in CHEATS}
    assert all(attempt.words for attempt in played.values())


class NewSum:
    """A scheme that no cheat knows, though it can do whatever a plain sum can."""

    name = "new"

    def __getattr__(self, attribute: str) -> Any:
        return getattr(PlainSum(), attribute)


@pytest.mark.parametrize(
    "cheat", [forked, lambda attacked: format_of(attacked, attacked.integers), lambda attacked: [*solves_for_key(attacked)]],
    ids=["two lists", "uploads", "key"],
)  # fmt: skip
def test_a_scheme_that_no_cheat_knows_does_not_pass_for_one_that_withstood_it(
    cheat: Callable[[AttackedSum], object],
) -> None:
    with pytest.raises(NotTaught, match="new"):
        cheat(AttackedSum(cast(SecureSum, NewSum())))


def test_a_plain_sum_is_learnt_by_looking(played: Played) -> None:
    assert played["plain", "reads_uploads"].outcome == "learnt"


@pytest.mark.parametrize("kind", ENCRYPTED_OR_MASKED)
def test_looking_tells_nothing_in_any_other_sum(played: Played, kind: SumKind) -> None:
    assert played[kind, "reads_uploads"].outcome == "harmless"


def test_the_key_of_stock_ckks_is_computed_from_the_sum_without_any_lie(played: Played) -> None:
    assert played["ckks_one_key", "solves_for_key"].outcome == "learnt"


def test_the_key_of_the_sum_opens_no_upload(played: Played) -> None:
    require(played["ckks", "solves_for_key"], "harmless", "OpeningFailed")


def test_the_same_computation_finds_no_key_where_openings_are_flooded(played: Played) -> None:
    require(played["ckks_joint_key", "solves_for_key"], "harmless", "coefficients")


@pytest.mark.parametrize("kind", [kind for kind in SUMS if not kind.startswith("ckks")])
def test_there_is_no_key_to_solve_for_where_openings_are_exact(played: Played, kind: SumKind) -> None:
    assert played[kind, "solves_for_key"].outcome == "does not apply"


REFUSALS: dict[Cheat, dict[SumKind, tuple[str, ...]]] = {
    "opens_one": {
        **dict.fromkeys(BY_ONE_LIST, ("QuorumLost", "WrongContributors")),
        "ckks_joint_key": ("QuorumLost",),
        "additive": ("QuorumLost",),
        "ring": ("SealBroken",),
    },
    "swaps_keys": dict.fromkeys(ENCRYPTED_OR_MASKED, ("SignatureInvalid",)),
    "two_lists": {
        **dict.fromkeys(BY_ONE_LIST, ("QuorumLost", "SignatureInvalid")),
        "ckks_joint_key": ("QuorumLost",),
        "additive": ("QuorumLost",),
        "ring": ("WrongContributors",),
    },
    "opens_twice": dict.fromkeys(ENCRYPTED_OR_MASKED, ("WrongRound",)),
    "replays_session": dict.fromkeys(ENCRYPTED_OR_MASKED, ("SessionMismatch", "CommitmentBroken")),
}
REFUSED = [(cheat, kind, errors) for cheat, sums in REFUSALS.items() for kind, errors in sums.items()]


@pytest.mark.parametrize(("cheat", "kind", "errors"), REFUSED)
def test_silos_refuse_and_say_just_why(played: Played, cheat: Cheat, kind: SumKind, errors: tuple[str, ...]) -> None:
    attempt = played[kind, cheat]
    assert attempt.outcome == "refused"
    told = {word.strip("(),.;:") for word in attempt.words.split() if word.endswith(":") and word[0].isupper()}
    assert told == set(errors)


def test_what_every_way_came_to_is_told(played: Played) -> None:
    words = played["additive", "two_lists"].words
    assert "south, west refused. QuorumLost: 3 silos remain, 4 are needed" in words
    assert "then east, north refused. QuorumLost: 1 silos remain, 3 are needed" in words
    assert "1 of 5 ways: every silo answered; it is the same sum again" in played["ckks_joint_key", "opens_twice"].words


def test_no_silo_is_told_anything_in_a_plain_sum(played: Played) -> None:
    assert played["plain", "two_lists"].outcome == "does not apply"


@pytest.mark.parametrize("kind", SUMS)
def test_no_sum_protects_from_another_that_leaves_the_victim_out(played: Played, kind: SumKind) -> None:
    """Silos' runtimes do: see `tests/silo/test_runtime.py`, `test_what_was_prepared_is_summed_once`."""
    require(played[kind, "two_sessions"], "learnt", "runtime")


@pytest.mark.parametrize("kind", ONE_KEY_SUMS)
@pytest.mark.parametrize("cheat", ["opens_one", "two_lists"])
def test_silos_that_hold_one_key_open_one_silos_vector_without_noticing(
    played: Played, kind: SumKind, cheat: Cheat
) -> None:
    assert played[kind, cheat].outcome == "learnt"


def messages(attacked: AttackedSum) -> dict[str, Callable[[], bytes]]:
    words = np.asarray(attacked.secret)
    return {
        "as it is": lambda: to_array(words).SerializeToString(),
        "as floats, at an odd place": lambda: b"odd" + words.astype("<f8").tobytes(),
    }


@pytest.mark.parametrize("way", ["as it is", "as floats, at an odd place"])
def test_a_vector_that_stands_in_a_message_is_found(way: str) -> None:
    attacked = AttackedSum(PlainSum())
    body = messages(attacked)[way]()
    assert attacked.stands_in(wrap(attacked.session, round=1, body=body))
    attacked.meet(fresh_vectors=True)
    assert not attacked.stands_in(wrap(attacked.session, round=1, body=body)), "another vector is not"


def test_a_table_that_nobody_cheats_at_gives_the_sum() -> None:
    attacked = AttackedSum(SecAggConfig(kind="secagg").build())
    total = attacked.drive(attacked.scheme.aggregator(attacked.session))
    assert isinstance(total, Sum)
    np.testing.assert_array_equal(total.total, sum(attacked.vectors.values()) % 2**20)
    others = sum(vector for name, vector in attacked.vectors.items() if name != VICTIM)
    np.testing.assert_array_equal(attacked.difference(total.total, np.asarray(others)), attacked.secret)
