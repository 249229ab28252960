"""How an epsilon is written."""

import pytest

from siloseal.federation.privacy.epsilon import epsilon_text


@pytest.mark.parametrize(
    ("epsilon", "text"),
    [(9.99972, "10.00"), (1.0213, "1.03"), (10.0, "10.00"), (0.0039995, "0.0040"), (0.0123, "0.013"), (0.0, "0.00")],
)
def test_epsilon_is_never_shown_smaller_than_it_is(epsilon: float, text: str) -> None:
    assert epsilon_text(epsilon) == text
    assert float(text) >= epsilon
