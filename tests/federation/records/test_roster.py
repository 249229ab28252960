"""The roster: whose keys are on it, and who could sign in their names."""

from pathlib import Path

import pytest

from siloseal.federation.errors import ConfigError
from siloseal.federation.records.roster import Roster, read_roster

KEYS = {"north": "00" * 32, "east": "11" * 32, "south": "22" * 32}


def roster(made: tuple[str, ...] | None) -> Roster:
    return Roster(consortium="three", identities=KEYS, keys_made_by_authority=made)


@pytest.mark.parametrize(
    ("made", "words"),
    [
        ((), ""),
        (("east",), "of east: whoever holds the authority can pose as each of them"),
        (("south", "north", "east"), "of all silos: whoever holds the authority can pose as every silo"),
        (None, "does not say who made"),
    ],
)
def test_it_says_whom_the_authority_can_pose_as(made: tuple[str, ...] | None, words: str) -> None:
    warning = roster(made).warning
    assert words in warning
    assert bool(warning) == bool(words)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("keys_made_by_authority: [west]", "keys_made_by_authority .*west"),
        (f'identities: {{north: "{"00" * 32}", east: "{"00" * 32}"}}', "identity key"),
    ],
)
def test_one_that_cannot_be_meant_is_refused(tmp_path: Path, line: str, words: str) -> None:
    identities = "" if line.startswith("identities") else f'identities: {{north: "{"00" * 32}"}}\n'
    (tmp_path / "roster.yaml").write_text(f"consortium: three\n{identities}{line}\n")
    with pytest.raises(ConfigError, match=words):
        read_roster(tmp_path / "roster.yaml")
