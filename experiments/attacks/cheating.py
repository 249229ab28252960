"""An aggregator that cheats, alone or together with a silo, against the other silos' real sides.

Four silos sum vectors of 50 entries, or longer ones where a cheat needs them, and the aggregator wants the first
silo's. It sees every message, sends what it likes, and waits for no quorum. In the cheats of `WITH_A_SILO` the last
silo is its accomplice: see `accomplices`. What comes of a cheat is observed and never assumed:

- `learnt`: the victim's vector, and no other, came out in the aggregator's hands; or how it changed between sessions.
- `refused`: in every way to play the cheat silos refused, and nothing came out.
- `harmless`: in some way enough silos answered, and what came of it is not the victim's vector.
- `does not apply`: there is nothing to send, or nothing to compute from.

A cheat may be played in several ways, and one that works is enough. These are sums alone, without a silo's runtime
around them: what that refuses before it joins one is described in `cheats`, under `two_sessions`.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, assert_never, get_args

import numpy as np
from pydantic import TypeAdapter

from siloseal.experiments.attacks.attacked_sum import AttackedSum, DoesNotApply, Refused, Way, said
from siloseal.experiments.attacks.cheat_names import CHEATS, WITH_A_SILO, Cheat
from siloseal.experiments.attacks.cheats import opens_twice, reads_uploads, replays_session, swaps_keys, two_sessions
from siloseal.experiments.attacks.key_cheats import longer_domain, solves_for_key
from siloseal.experiments.attacks.key_share_cheats import malformed_key
from siloseal.experiments.attacks.list_cheats import two_lists_with_a_silo
from siloseal.experiments.attacks.opening_cheats import opens_one, two_lists
from siloseal.experiments.attacks.upload_cheats import cancels_upload, constant_upload, copies_upload, malformed_c1
from siloseal.federation.errors import ProtocolError
from siloseal.federation.sums.config import SecureSumConfig, SumKind
from siloseal.federation.sums.one_key.one_key_sum import OneKeySum
from siloseal.federation.sums.session import Vector

Outcome = Literal["learnt", "refused", "harmless", "does not apply"]

SUMS: tuple[SumKind, ...] = get_args(SumKind)
_WHO_MUST: dict[Cheat, str] = {
    "two_sessions": ". No sum knows of another: the silo's runtime must refuse the second in a run, and across runs "
    "the silo's policy and the noise in what is summed must do",
}
_HELD = ". Every silo holds the key: the accomplice reads every upload, and needs no cheat"
_CONFIG: TypeAdapter[Any] = TypeAdapter(SecureSumConfig)


@dataclass(frozen=True)
class Attempt:
    """One cheat against one secure sum."""

    secure_sum: str
    cheat: Cheat
    outcome: Outcome
    words: str
    """Words on who refused and why, on how the vector was found, or on why there was nothing to try."""


def play_all(sums: Iterable[SumKind] = SUMS, cheats: Sequence[Cheat] = CHEATS) -> list[Attempt]:
    """Play every cheat against every secure sum that a job may choose."""
    return [play(kind, cheat) for kind in sums for cheat in cheats]


def play(secure_sum: SumKind, cheat: Cheat) -> Attempt:
    """Play one cheat, with fresh keys and vectors."""
    scheme = _CONFIG.validate_python({"kind": secure_sum}).build()
    attacked = AttackedSum(scheme, longer_domain(scheme) if cheat == "solves_for_key" else None)
    try:
        ends = [_end(attacked, way) for way in _cheat(cheat)(attacked)]
    except DoesNotApply as reason:
        return Attempt(secure_sum, cheat, "does not apply", str(reason))
    for end in ends:
        if end.outcome == "learnt":
            held = cheat in WITH_A_SILO and isinstance(attacked.integers, OneKeySum)
            return Attempt(secure_sum, cheat, "learnt", end.words + (_HELD if held else _WHO_MUST.get(cheat, "")))
    asked = [end for end in ends if end.asked]
    tried = {end.outcome for end in asked} - {"does not apply"}
    if not tried:
        return Attempt(secure_sum, cheat, "does not apply", "there is nothing to send that would be another sum")
    return Attempt(secure_sum, cheat, "refused" if tried == {"refused"} else "harmless", _together(asked))


@dataclass(frozen=True)
class _End:
    """The end of one way to play a cheat."""

    outcome: Outcome
    words: str
    asked: bool
    """Whether any silo was asked; else the aggregator only computed from what it had."""


def _end(attacked: AttackedSum, way: Way) -> _End:
    """Play one way of a cheat, and look at what the aggregator computed and at all that it heard."""
    asked, before = attacked.asked, len(attacked.refusals)
    found, words = list[Vector](), ""
    outcome: Outcome = "harmless"
    try:
        found, words = way(), "what came out is not the victim's vector"
    except Refused:
        outcome = "refused"
    except DoesNotApply as reason:
        outcome, words = "does not apply", str(reason)
    except ProtocolError as error:  # in the aggregator's own hands: what it got does not fit together
        outcome = "refused" if len(attacked.refusals) > before else "harmless"
        words = f"the aggregator cannot use what it got: {type(error).__name__}: {error}"
    refusals = "; then ".join(dict.fromkeys(said(each) for each in attacked.refusals[before:]))
    what = "; ".join(part for part in (refusals or "every silo answered", words) if part)
    end = _End(outcome, what, attacked.asked > asked)
    return replace(end, outcome="learnt", words=learnt) if (learnt := _learnt(attacked, found)) else end


def _learnt(attacked: AttackedSum, found: Sequence[Vector]) -> str:
    """Return in words what the aggregator has of the victim; empty if it has nothing."""
    if _among(found, attacked.secret, attacked.tolerance):
        return "what the aggregator computed is the victim's vector"
    if attacked.change is not None and _among(found, attacked.change, attacked.tolerance):
        return "what the aggregator computed is how the victim's vector has changed since the session before"
    if any(attacked.stands_in(message) for message in attacked.heard):
        return "the victim's vector stands in a message, for all to read"
    return ""


def _among(found: Sequence[Vector], target: Vector, tolerance: float) -> bool:
    alike = [vector for vector in found if vector.shape == target.shape]
    return any(bool(np.abs(vector - target).max() <= tolerance) for vector in alike)


def _together(ends: Sequence[_End]) -> str:
    """Return the words of all ways, the same ones once."""
    counts = Counter(end.words for end in ends)
    if len(counts) == 1:
        return ends[0].words
    return " | ".join(f"{count} of {len(ends)} ways: {words}" for words, count in counts.items())


def _cheat(cheat: Cheat) -> Callable[[AttackedSum], Iterator[Way]]:
    match cheat:
        case "reads_uploads":
            return reads_uploads
        case "solves_for_key":
            return solves_for_key
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
        case "two_sessions":
            return two_sessions
        case "malformed_c1":
            return malformed_c1
        case "copies_upload":
            return copies_upload
        case "cancels_upload":
            return cancels_upload
        case "constant_upload":
            return constant_upload
        case "malformed_key":
            return malformed_key
        case "two_lists_with_a_silo":
            return two_lists_with_a_silo
        case _:
            assert_never(cheat)
