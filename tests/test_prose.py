"""Tests tell errors apart by type, so that the words of a message can improve without a test that fails.

Prose is three plain words in a row: "must be even", but neither `silos.fewest`, nor "line 3", nor a command in backticks.
It counts wherever a test expects it of a message: as `match=`, or beside `str(error)`. A name is followed to the strings
that it may stand for: a parametrization, a loop, an assignment, or the arguments that a helper of the file is called with.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
PROSE = re.compile(r"(?<![\w.-])[A-Za-z]+( [A-Za-z]+){2}")


def is_prose(pattern: str) -> bool:
    return PROSE.search(re.sub(r"`[^`]*`", "", pattern.replace("\\", ""))) is not None


def callee(call: ast.AST) -> str:
    """Name of the function that is called, without what it is an attribute of; empty if there is no call."""
    function = call.func if isinstance(call, ast.Call) else None
    return getattr(function, "attr", getattr(function, "id", ""))


def names_in(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


class TestFile:
    """One file of tests, and what its names may stand for."""

    __test__ = False

    def __init__(self, text: str) -> None:
        self.module = ast.parse(text)
        self.functions = [node for node in ast.walk(self.module) if isinstance(node, ast.FunctionDef)]

    def around(self, node: ast.AST) -> list[ast.AST]:
        """The functions and classes that a node stands in, and the module."""
        inside = (ast.FunctionDef, ast.ClassDef, ast.Module)
        return [place for place in ast.walk(self.module) if isinstance(place, inside) and node in ast.walk(place)]

    def values(self, name: str, places: Iterable[ast.AST]) -> Iterator[ast.expr]:
        """Expressions that the name may stand for in these places."""
        for place in places:
            for mark in getattr(place, "decorator_list", []):
                if callee(mark) == "parametrize" and name in re.findall(r"\w+", ast.unparse(mark.args[0])):
                    yield mark.args[1]
            if isinstance(place, ast.FunctionDef) and name in (taken := [each.arg for each in place.args.args]):
                for node in ast.walk(self.module):
                    if callee(node) == place.name:
                        given = dict(zip([each for each in taken if each != "self"], node.args, strict=False))
                        given |= {keyword.arg: keyword.value for keyword in node.keywords}
                        yield from [given[name]] if name in given else []
            for node in place.body if isinstance(place, ast.Module) else ast.walk(place):
                if isinstance(node, ast.Assign | ast.AnnAssign | ast.For | ast.comprehension):
                    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                    if name in set[str]().union(*map(names_in, targets)):
                        yield from filter(None, [getattr(node, "value", None) or getattr(node, "iter", None)])

    def strings(self, expression: ast.expr, places: Iterable[ast.AST]) -> set[str]:
        """Strings in an expression and in what its names may stand for, however often they have to be followed."""
        left, seen = [expression], list[ast.expr]()
        while left:
            each = left.pop()
            if each not in seen:
                seen.append(each)
                left += [value for name in names_in(each) for value in self.values(name, places)]
        constants = [node.value for each in seen for node in ast.walk(each) if isinstance(node, ast.Constant)]
        return {value for value in constants if isinstance(value, str)}

    def is_message(self, expression: ast.AST) -> bool:
        """Whether an expression is the text of an error: `str(error)`, or a function of the file that returns it."""
        match expression:
            case ast.Call(func=ast.Name(id="str"), args=[ast.Name() | ast.Attribute(attr="value")]):
                return True
            case ast.Call(func=ast.Name(id=name)):
                bodies = [each for each in self.functions if each.name == name and name != "str"]
                returned = [node.value for each in bodies for node in ast.walk(each) if isinstance(node, ast.Return)]
                return any(isinstance(value, ast.Call) and callee(value) == "str" for value in returned)
        return False

    def expectations(self) -> Iterator[ast.expr]:
        """Expressions that messages of errors are held against."""
        texts = {
            target.id
            for node in ast.walk(self.module)
            if isinstance(node, ast.Assign) and self.is_message(node.value)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for node in ast.walk(self.module):
            parts = list(ast.iter_child_nodes(node))
            if isinstance(node, ast.keyword) and node.arg == "match":
                yield node.value
            elif isinstance(node, ast.Compare | ast.Call) and callee(node) != "raises":
                inner = [*parts, *(ast.iter_child_nodes(node.func) if isinstance(node, ast.Call) else [])]
                messages = [each for each in inner if self.is_message(each) or getattr(each, "id", "") in texts]
                if messages:
                    yield from (each for each in parts if isinstance(each, ast.expr) and each not in messages)


def matched_prose(text: str) -> Iterator[tuple[int, str]]:
    """Line and text of every prose that a test file expects of an error."""
    file = TestFile(text)
    for expression in file.expectations():
        found = file.strings(expression, file.around(expression))
        yield from ((expression.lineno, part) for part in sorted(found) if is_prose(part))


def test_prose_is_told_from_names_numbers_and_commands() -> None:
    assert is_prose("a threshold must be even")
    assert is_prose(r"request 1 .* is not there\; begin again")
    for name in (r"silos\.fewest is 3", r"job\.yaml, line 3", "`siloseal provision renew east`", "north.*revoked"):
        assert not is_prose(name)


RAISES = "with pytest.raises(RunError"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f'{RAISES}, match=f"{{path}} can not be read"): pass', " can not be read"),
        (
            f'@mark.parametrize("a, b", [(1, "is not there")])\ndef test(a, b):\n  {RAISES}, match=b): pass',
            "is not there",
        ),
        (f'WORDS = {{1: "is not there"}}\ndef test(a):\n  {RAISES}, match=WORDS[a]): pass', "is not there"),
        (f'for words in ["is not there"]:\n  {RAISES}, match=words): pass', "is not there"),
        (f'def ask(words):\n  {RAISES}, match=words): pass\nask("is not there")', "is not there"),
        ('assert "is not there" in str(caught.value)', "is not there"),
        ('assert str(error).startswith("is not there")', "is not there"),
        ('said = str(error.value)\nassert re.search("is not there", said)', "is not there"),
        ('def say():\n  return str(error.value)\nassert say() == "is not there"', "is not there"),
    ],
)
def test_prose_is_found_wherever_a_test_expects_it(text: str, found: str) -> None:
    assert [words for _, words in matched_prose(text)] == [found]


def test_messages_are_matched_by_type_and_names_and_not_by_their_sentences() -> None:
    found = [
        f"{path.relative_to(TESTS)}:{line}: {words!r}"
        for path in sorted(TESTS.rglob("*.py"))
        for line, words in matched_prose(path.read_text(encoding="utf-8"))
    ]
    assert found == [], "match the error's type and what the test put in: a config key, a file, a silo, a number"
