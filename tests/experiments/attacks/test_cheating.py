"""An aggregator that cheats: what is refused is refused by the silos; and without their checks, each cheat would work."""

from collections.abc import Callable, Iterable, Mapping

import numpy as np
import pytest

from experiments.attacks.cheating import CHEATS, SUMS, Attempt, Cheat, play, play_all
from experiments.attacks.table import VICTIM, Table
from federation.config.sums import SumKind
from federation.plain.plain_sum import PlainSum
from federation.secagg.secagg_sum import SecAggConfig
from federation.secagg.silo_side import SecAggSilo
from federation.secagg.survivors import sign_survivors
from federation.secure_sum import Sum
from federation.wire import messages_pb2 as pb
from federation.wire.codec import decode, to_array, wrap

THRESHOLD_SUMS: tuple[SumKind, ...] = ("ckks", "secagg", "secagg_plus")
ONE_KEY_SUMS: tuple[SumKind, ...] = ("paillier", "ckks_one_key")
HIDING_SUMS = tuple(kind for kind in SUMS if kind != "plain")

Played = Mapping[tuple[str, str], Attempt]


@pytest.fixture(scope="module")
def played() -> Played:
    return {(attempt.secure_sum, attempt.cheat): attempt for attempt in play_all()}


def test_every_cheat_is_played_against_every_sum(played: Played) -> None:
    assert set(played) == {(kind, cheat) for kind in SUMS for cheat in CHEATS}
    assert all(attempt.words for attempt in played.values())


def test_a_plain_sum_is_learnt_by_looking(played: Played) -> None:
    assert played["plain", "reads_uploads"].outcome == "learnt"


@pytest.mark.parametrize("kind", HIDING_SUMS)
def test_looking_tells_nothing_in_any_other_sum(played: Played, kind: SumKind) -> None:
    assert played[kind, "reads_uploads"].outcome == "harmless"


@pytest.mark.parametrize("kind", THRESHOLD_SUMS)
@pytest.mark.parametrize(
    ("cheat", "error"),
    [
        ("opens_one", "QuorumLost"),
        ("swaps_keys", "SignatureInvalid"),
        ("two_lists", "refused"),
        ("opens_twice", "WrongRound"),
        ("replays_session", "CommitmentBroken"),
    ],
)
def test_silos_with_shared_keys_or_masks_refuse(played: Played, kind: SumKind, cheat: Cheat, error: str) -> None:
    attempt = played[kind, cheat]
    assert attempt.outcome == "refused"
    assert error in attempt.words


@pytest.mark.parametrize("kind", ["additive", "ring"])
@pytest.mark.parametrize("cheat", ["opens_one", "swaps_keys", "replays_session"])
def test_sums_that_need_everyone_refuse_as_well(played: Played, kind: SumKind, cheat: Cheat) -> None:
    assert played[kind, cheat].outcome == "refused"


@pytest.mark.parametrize("kind", ONE_KEY_SUMS)
@pytest.mark.parametrize("cheat", ["opens_one", "two_lists"])
def test_silos_that_hold_one_key_open_one_silos_vector_without_noticing(
    played: Played, kind: SumKind, cheat: Cheat
) -> None:
    assert played[kind, cheat].outcome == "learnt"


@pytest.mark.parametrize("kind", ["secagg", "additive", "ring", "ckks", "ckks_one_key"])
def test_a_swapped_key_would_give_the_vector_away_if_nobody_checked_signatures(
    kind: SumKind, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in ("masked.advertisement", "secagg.survivors", "ckks.statements"):
        monkeypatch.setattr(f"federation.{place}.check_signature", lambda *statement: None)
    assert play(kind, "swaps_keys").outcome == "learnt"


def test_a_share_of_one_would_give_the_vector_away_if_nobody_counted_silos(monkeypatch: pytest.MonkeyPatch) -> None:
    for place in ("additive.sides", "masked.silo_side"):
        monkeypatch.setattr(f"federation.{place}.read_pieces", read_anything)
    assert play("additive", "opens_one").outcome == "learnt"


def test_a_list_of_one_survivor_would_give_the_vector_away_if_nobody_checked_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def sign_anything(silo: SecAggSilo, body: bytes) -> bytes:
        silo._memory.survivors = body
        return sign_survivors(silo._session, silo._me, body)

    monkeypatch.setattr(SecAggSilo, "_confirm", sign_anything)
    monkeypatch.setattr("federation.secagg.silo_side.read_pieces", read_anything)
    assert play("secagg", "opens_one").outcome == "learnt"


def read_anything(body: bytes, *, known: Iterable[str], fewest: int) -> dict[str, bytes]:
    return {piece.silo: piece.data for piece in decode(pb.Pieces, body).pieces}


def messages(table: Table) -> dict[str, Callable[[], bytes]]:
    words = np.asarray(table.secret)
    return {
        "as it is": lambda: to_array(words).SerializeToString(),
        "as floats, at an odd place": lambda: b"odd" + words.astype("<f8").tobytes(),
    }


@pytest.mark.parametrize("way", ["as it is", "as floats, at an odd place"])
def test_a_vector_that_stands_in_a_message_is_found(way: str) -> None:
    table = Table(PlainSum())
    body = messages(table)[way]()
    assert table.stands_in(wrap(table.session, round=1, body=body))
    table.meet(fresh_vectors=True)
    assert not table.stands_in(wrap(table.session, round=1, body=body)), "another vector is not"


def test_a_table_that_nobody_cheats_at_gives_the_sum() -> None:
    table = Table(SecAggConfig(kind="secagg").build())
    total = table.drive(table.scheme.aggregator(table.session))
    assert isinstance(total, Sum)
    np.testing.assert_array_equal(total.total, sum(table.vectors.values()) % 2**20)
    others = sum(vector for name, vector in table.vectors.items() if name != VICTIM)
    np.testing.assert_array_equal(table.difference(total.total, np.asarray(others)), table.secret)
