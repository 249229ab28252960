"""The names of all cheats. Reports read them, and need nothing of what plays them."""

from typing import Literal, get_args

CheatAlone = Literal[
    "reads_uploads",
    "solves_for_key",
    "opens_one",
    "swaps_keys",
    "two_lists",
    "opens_twice",
    "replays_session",
    "two_sessions",
]
"""Cheats that the aggregator plays alone."""
CheatWithASilo = Literal[
    "malformed_c1",
    "copies_upload",
    "cancels_upload",
    "constant_upload",
    "malformed_key",
    "two_lists_with_a_silo",
]
"""Cheats that a silo plays together with the aggregator."""
Cheat = CheatAlone | CheatWithASilo

WITH_A_SILO: tuple[CheatWithASilo, ...] = get_args(CheatWithASilo)
CHEATS: tuple[Cheat, ...] = (*get_args(CheatAlone), *WITH_A_SILO)
