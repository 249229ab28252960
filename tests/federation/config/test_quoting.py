"""Values in error messages, which stay short whatever was given."""

import pytest

from siloseal.federation.config.quoting import quoted


@pytest.mark.parametrize("value", ["3", 3, None, "a b", ["x"]])
def test_a_small_value_is_written_as_python_writes_it(value: object) -> None:
    assert quoted(value) == repr(value)


@pytest.mark.parametrize("most", [12, 80, 81])
def test_a_long_value_keeps_both_ends(most: int) -> None:
    text = quoted("b" + "a" * 5000 + "c", most)
    assert len(text) == most
    assert (text[:3], text[-3:]) == ("'ba", "ac'")
