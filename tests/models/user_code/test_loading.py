"""The digest is compared before anything runs, and what fails in the user's code names the line."""

import sys

import pytest

from siloseal.federation.errors import CodeMismatch, ConfigError
from siloseal.federation.job.sections.learner_kind import UserCode
from siloseal.models.process_randomness import RandomStates
from siloseal.models.user_code.loading import found_code, load_code, run_own
from siloseal.models.user_code.source import source_of

from .conftest import Write


def code(target: str, source: str | None = None) -> UserCode:
    return UserCode("classifier", target, source)


def test_a_pinned_function_is_loaded(write: Write) -> None:
    write(own_net="def build(shape, classes):\n    return shape, classes\n")
    assert load_code(code("own_net:build", source_of("own_net:build").digest))((3,), 2) == ((3,), 2)


def test_a_module_that_seeds_torch_leaves_its_generator_as_it_was(write: Write) -> None:
    write(own_net="import torch\ntorch.manual_seed(0)\ndef build(): ...\n")
    before = RandomStates.now()
    load_code(code("own_net:build"))
    assert before.equals(RandomStates.now())


def test_another_source_is_refused_before_it_is_imported(write: Write) -> None:
    write(own_net="def build(): ...\n")
    digest = source_of("own_net:build").digest
    write(own_net="raise AssertionError\n")
    found = source_of("own_net:build").digest
    with pytest.raises(CodeMismatch) as refused:
        load_code(code("own_net:build", digest))
    assert all(word in str(refused.value) for word in ("own_net.py", digest, found))
    assert "own_net" not in sys.modules


def test_code_that_is_not_pinned_gets_the_digest_of_what_is_here(write: Write) -> None:
    write(own_net="")
    assert found_code(code("own_net:build")) == code("own_net:build", source_of("own_net:build").digest)
    with pytest.raises(CodeMismatch):
        found_code(code("own_net:build", f"sha256:{'0' * 64}"))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("build = 3\n", "int"),
        ("def other(): ...\n", "other"),
        ("import nowhere_to_be_found\n", r"own_net\.py:1"),
        ("\ndef build(:\n", r"own_net\.py:2"),
        ("x = 1\nraise SystemExit\n", r"own_net\.py:2"),
        ("import json\n\njson.loads('{')\n", r"own_net\.py:3"),
        ("x = '\0'\n", "own_net"),
    ],
)
def test_a_module_that_does_not_give_a_function_is_refused(write: Write, text: str, says: str) -> None:
    write(own_net=text)
    with pytest.raises(ConfigError, match=says):
        load_code(code("own_net:build"))


def test_whatever_the_users_function_raises_names_its_line(write: Write) -> None:
    write(own_net="def build():\n    return int('one')\n")
    build = load_code(code("own_net:build"))
    with pytest.raises(ConfigError, match=r"own_net\.py:2"):
        run_own(code("own_net:build"), build)


def test_a_refusal_of_our_own_stays_as_it_is(write: Write) -> None:
    write(own_net="import siloseal\nraise siloseal.DataError('ours')\n")
    from siloseal.federation.errors import DataError

    with pytest.raises(DataError):
        load_code(code("own_net:build"))
