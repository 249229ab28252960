import numpy as np
import pytest

from siloseal.federation.whole_numbers import is_whole


@pytest.mark.parametrize("value", [0, -1, 10**30, np.int64(3), np.uint8(3)])
def test_whole_numbers_of_python_and_numpy_are_whole(value: object) -> None:
    assert is_whole(value)


@pytest.mark.parametrize("value", [True, 1.0, "1", None, np.float64(1), np.bool_(True), np.ones(1, dtype=np.int64)])
def test_what_only_looks_like_a_whole_number_is_none(value: object) -> None:
    assert not is_whole(value)
