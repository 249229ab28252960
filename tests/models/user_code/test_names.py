"""Whether a module has the function that is asked for is told from its text, and nothing of it runs."""

import sys

import pytest

from siloseal.federation.errors import ConfigError
from siloseal.models.user_code.names import require_name
from siloseal.models.user_code.source import source_of

from .conftest import Write


@pytest.mark.parametrize(
    "text",
    [
        "def build(shape, classes): ...\n",
        "class build: ...\n",
        "async def build(): ...\n",
        "build = lambda shape, classes: 3\n",
        "build: int = 3\n",
        "first, (build, last) = 1, (2, 3)\n",
        "import json as build\n",
        "from json import loads as build\n",
        "try:\n    import json\nexcept ImportError:\n    def build(): ...\n",
        "from json import *\n",
        "def __getattr__(name): ...\n",
    ],
)
def test_a_name_that_the_text_gives_is_found(write: Write, text: str) -> None:
    write(own_net=text)
    require_name(source_of("own_net:build"), "own_net:build")
    assert "own_net" not in sys.modules


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("def other(): ...\n", "other"),
        ("", "own_net.py"),
        ("def other():\n    def build(): ...\n", "other"),
        ("def other():\n    build = 3\n", "other"),
        ("class Other:\n    def build(self): ...\n", "Other"),
        ("print(build)\n", "own_net.py"),
        ("\ndef build(:\n", "own_net.py:2"),
    ],
)
def test_a_name_that_it_does_not_give_is_refused_with_those_that_it_does(write: Write, text: str, says: str) -> None:
    write(own_net=text)
    with pytest.raises(ConfigError) as refused:
        require_name(source_of("own_net:build"), "own_net:build")
    assert says in str(refused.value)


def test_a_module_inside_a_package_is_read_itself(write: Write) -> None:
    write(own_lab__in____init__="build = 3\n", own_lab__in__nets="def make(): ...\n")
    require_name(source_of("own_lab.nets:make"), "own_lab.nets:make")
    with pytest.raises(ConfigError):
        require_name(source_of("own_lab.nets:build"), "own_lab.nets:build")
