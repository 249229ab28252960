"""An aggregator that cheats, against the silos' real sides: what it learns of one silo, and who stops it.

Four silos sum vectors of 50 entries, and the aggregator wants the first silo's. It sees every message, sends what it
likes, and keeps to no check of its own. What comes of a cheat is observed and never assumed: `learnt` means that the
victim's vector, and no other, came out in the aggregator's hands.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, assert_never, get_args

import numpy as np
from pydantic import TypeAdapter

from experiments.attacks.cheats import opens_twice, reads_uploads, replays_session, swaps_keys
from experiments.attacks.opening_cheats import opens_one, two_lists
from experiments.attacks.table import DoesNotApply, Refused, Table
from federation.config.sums import SecureSumConfig, SumKind
from federation.errors import ProtocolError
from federation.session import Vector

Cheat = Literal["reads_uploads", "opens_one", "swaps_keys", "two_lists", "opens_twice", "replays_session"]
Outcome = Literal["learnt", "refused", "harmless", "does not apply"]

CHEATS: tuple[Cheat, ...] = get_args(Cheat)
SUMS: tuple[SumKind, ...] = get_args(SumKind)
_CONFIG: TypeAdapter[Any] = TypeAdapter(SecureSumConfig)


@dataclass(frozen=True)
class Attempt:
    """One cheat against one secure sum."""

    secure_sum: str
    cheat: Cheat
    outcome: Outcome
    words: str
    """Who refused and why; or how the vector was found; or why there was nothing to try."""


def play_all(sums: Iterable[SumKind] = SUMS, cheats: Sequence[Cheat] = CHEATS) -> list[Attempt]:
    """Every cheat against every secure sum that a job may choose."""
    return [play(kind, cheat) for kind in sums for cheat in cheats]


def play(secure_sum: SumKind, cheat: Cheat) -> Attempt:
    """One cheat, with fresh keys and vectors."""
    table = Table(_CONFIG.validate_python({"kind": secure_sum}).build())
    found, words = list[Vector](), ""
    try:
        found = _cheat(cheat)(table)
    except DoesNotApply as reason:
        return Attempt(secure_sum, cheat, "does not apply", str(reason))
    except Refused as refusal:
        words = str(refusal)
    except ProtocolError as error:  # in the aggregator's own hands: what it got does not fit together
        words = f"the aggregator cannot use what it got: {type(error).__name__}: {error}"
        return _judged(Attempt(secure_sum, cheat, "harmless", words), table, found)
    outcome: Outcome = "refused" if words else "harmless"
    return _judged(Attempt(secure_sum, cheat, outcome, words or "every silo answered"), table, found)


def _cheat(cheat: Cheat) -> Callable[[Table], list[Vector]]:
    match cheat:
        case "reads_uploads":
            return reads_uploads
        case "opens_one":
            return opens_one
        case "swaps_keys":
            return swaps_keys
        case "two_lists":
            return two_lists
        case "opens_twice":
            return opens_twice
        case "replays_session":
            return replays_session
        case _:
            assert_never(cheat)


def _judged(attempt: Attempt, table: Table, found: Sequence[Vector]) -> Attempt:
    """Whether the victim's vector is among what the aggregator computed, or stands in a message that it saw."""
    if any(_same(vector, table) for vector in found):
        words = "what the aggregator computed is the victim's vector"
    elif any(table.stands_in(message) for message in table.heard):
        words = "the victim's vector stands in a message, for all to read"
    else:
        return attempt
    return Attempt(attempt.secure_sum, attempt.cheat, "learnt", words)


def _same(vector: Vector, table: Table) -> bool:
    return vector.shape == table.secret.shape and bool(np.abs(vector - table.secret).max() <= table.tolerance)
