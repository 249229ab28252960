"""Every error of the tree has a code of its own, and every code an error."""

import pytest

from siloseal.federation import errors
from siloseal.federation.transport.wire.error_codes import CODES, code_of, error_of
from siloseal.federation.transport.wire.errors_pb2 import ErrorCode

TREE = [found for found in vars(errors).values() if isinstance(found, type) and issubclass(found, Exception)]


def test_the_codes_cover_the_tree_and_nothing_else() -> None:
    assert list(CODES) == TREE
    assert sorted(CODES.values()) == sorted(ErrorCode.values())


@pytest.mark.parametrize("error", TREE, ids=lambda error: error.__name__)
def test_an_error_survives_the_way_to_its_code_and_back(error: type[errors.SiloSealError]) -> None:
    assert error_of(code_of(error("words"))) is error


def test_an_error_without_a_code_takes_that_of_the_nearest_one_above_it() -> None:
    class LateReply(errors.WrongRound):
        pass

    assert code_of(LateReply()) == ErrorCode.WRONG_ROUND
    assert code_of(RuntimeError("a bug")) == ErrorCode.OTHER_ERROR


def test_a_code_of_a_newer_peer_is_an_error_all_the_same() -> None:
    assert error_of(999_999) is errors.SiloSealError
