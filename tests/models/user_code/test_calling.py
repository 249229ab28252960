"""A call of the user's own code that cannot work says which file and line, and what was expected."""

from collections.abc import Callable

import pytest

from siloseal.federation.errors import ConfigError
from siloseal.federation.job.sections.learner_kind import UserCode
from siloseal.models.user_code.calling import at, call_own, require_parameters
from siloseal.models.user_code.loading import load_code

from .conftest import Write

CODE = UserCode("classifier", "own_net:build", None)
ARGUMENTS = {"shape": (3,), "classes": 2}


def called(write: Write, text: str) -> object:
    write(own_net=text)
    return call_own(CODE, load_code(CODE), ARGUMENTS)


@pytest.mark.parametrize(
    "text",
    [
        "def build(shape, classes):\n    return shape, classes\n",
        "def build(form, number, more=3):\n    return form, number\n",
        "def build(*both):\n    return both\n",
        "class build(tuple):\n    def __new__(cls, shape, classes):\n        return shape, classes\n",
    ],
)
def test_arguments_come_in_their_order_whatever_they_are_called(write: Write, text: str) -> None:
    assert called(write, text) == ((3,), 2)


@pytest.mark.parametrize(
    "text",
    [
        "\ndef build(shape):\n    return shape\n",
        "\ndef build():\n    return 3\n",
        "\ndef build(shape, classes, options):\n    return 3\n",
        "\ndef build(shape, *, classes):\n    return 3\n",
        "\nclass build:\n    def __init__(self, shape): ...\n",
    ],
)
def test_other_parameters_are_refused_with_the_line_and_those_that_are_expected(write: Write, text: str) -> None:
    with pytest.raises(ConfigError) as refused:
        called(write, text)
    assert "own_net.py:2" in str(refused.value)
    assert "build(shape, classes)" in str(refused.value)


def test_what_the_function_raises_names_its_line(write: Write) -> None:
    with pytest.raises(ConfigError) as refused:
        called(write, "def build(shape, classes):\n    return shape[7]\n")
    assert "own_net.py:2" in str(refused.value)


@pytest.mark.parametrize("function", [min, type("Made", (), {"__init__": dict.__init__})])
def test_what_has_no_source_has_no_place(function: Callable[..., object]) -> None:
    assert at(function) == ""
    require_parameters(function, ("shape", "classes"), name="own_net:build")
