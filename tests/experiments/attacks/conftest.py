"""What comes of every cheat against every sum: played once for all tests."""

from collections.abc import Mapping

import pytest

from siloseal.experiments.attacks.cheating import Attempt, play_all

Played = Mapping[tuple[str, str], Attempt]
"""By sum and cheat."""


@pytest.fixture(scope="session")
def played() -> Played:
    return {(attempt.secure_sum, attempt.cheat): attempt for attempt in play_all()}


def require(attempt: Attempt, outcome: str, *words: str) -> None:
    """The attempt came out like this, and its account has all of these words."""
    assert attempt.outcome == outcome
    assert [each for each in words if each not in attempt.words] == []
