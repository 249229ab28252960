"""Tests tell errors apart by type, so that the words of a message can improve without a test that fails.

Prose is three plain words in a row: "must be even", but neither `silos.fewest`, nor "line 3", nor a command in backticks.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parent
MOST_MATCHED = 2
"""Number of `match=` arguments in all tests that may be prose. Lower it where you can."""
PROSE = re.compile(r"(?<![\w.-])[A-Za-z]+( [A-Za-z]+){2}")


def is_prose(pattern: str) -> bool:
    return PROSE.search(re.sub(r"`[^`]*`", "", pattern.replace("\\", ""))) is not None


def matched_prose(text: str) -> Iterator[tuple[int, str]]:
    """Line and text of every `match=` argument of a test file that is, or holds, prose."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.keyword) and node.arg == "match":
            parts = [part.value for part in ast.walk(node.value) if isinstance(part, ast.Constant)]
            yield from ((node.value.lineno, part) for part in parts if isinstance(part, str) and is_prose(part))


def test_prose_is_told_from_names_numbers_and_commands() -> None:
    assert is_prose("a threshold must be even")
    assert is_prose(r"request 1 .* is not there\; begin again")
    for name in (r"silos\.fewest is 3", r"job\.yaml, line 3", "`siloseal provision renew east`", "north.*revoked"):
        assert not is_prose(name)
    assert list(matched_prose('raises(RunError, match=f"{path} can not be read")')) == [(1, " can not be read")]


def test_messages_are_matched_by_type_and_names_and_not_by_their_sentences() -> None:
    found = [
        f"{path.relative_to(TESTS)}:{line}: {words!r}"
        for path in sorted(TESTS.rglob("test_*.py"))
        for line, words in matched_prose(path.read_text(encoding="utf-8"))
    ]
    advice = "match the error's type and what the test put in: a config key, a file, a silo, a number"
    assert len(found) <= MOST_MATCHED, f"{len(found)} matches of prose, {MOST_MATCHED} may be; {advice}:\n" + "\n".join(
        found
    )
