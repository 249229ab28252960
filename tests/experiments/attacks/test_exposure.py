"""What schemes say about who learns what, held to what cheats find out."""

import pytest

from siloseal.experiments.attacks.attacked_sum import ROSTER
from siloseal.experiments.attacks.cheat_names import CHEATS, WITH_A_SILO
from siloseal.experiments.attacks.cheating import SUMS
from siloseal.federation.sums.config import SumKind, exposures

from .conftest import Played

WITHOUT_A_LIE = ("reads_uploads", "solves_for_key")
ACROSS_SESSIONS = "two_sessions"
"""No sum knows of another session: the silo's runtime refuses it."""


def learnt(played: Played, kind: SumKind, cheats: tuple[str, ...]) -> set[str]:
    return {cheat for cheat in CHEATS if cheat in cheats and played[kind, cheat].outcome == "learnt"}


@pytest.mark.parametrize("kind", SUMS)
class TestEverySum:
    def test_hides_contributions_if_nothing_is_learnt_without_a_lie(self, played: Played, kind: SumKind) -> None:
        assert exposures()[kind].hides_contributions == (not learnt(played, kind, WITHOUT_A_LIE))

    def test_a_lie_of_the_aggregators_works_where_the_sum_says_so(self, played: Played, kind: SumKind) -> None:
        lies = tuple(set(CHEATS) - set(WITHOUT_A_LIE) - set(WITH_A_SILO) - {ACROSS_SESSIONS})
        exposure = exposures()[kind]
        assert bool(learnt(played, kind, lies)) == (exposure.opens_what_it_is_given or not exposure.hides_contributions)

    def test_one_silo_helps_where_none_may_collude_or_silos_must_follow_the_protocol(
        self, played: Played, kind: SumKind
    ) -> None:
        exposure = exposures()[kind]
        withstands = exposure.may_collude(len(ROSTER)) >= 1 and not exposure.assumes
        assert withstands == (not learnt(played, kind, tuple(WITH_A_SILO)))
