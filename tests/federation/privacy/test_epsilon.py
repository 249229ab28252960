"""How epsilon and delta are written."""

import pytest

from siloseal.federation.privacy.epsilon import MEANINGLESS_EPSILON, delta_text, epsilon_text, protects, weakness


@pytest.mark.parametrize(
    ("epsilon", "text"),
    [(9.99972, "10.00"), (1.0213, "1.03"), (10.0, "10.00"), (0.0039995, "0.0040"), (0.0123, "0.013"), (0.0, "0.00")],
)
def test_epsilon_is_never_shown_smaller_than_it_is(epsilon: float, text: str) -> None:
    assert epsilon_text(epsilon) == text
    assert float(text) >= epsilon


@pytest.mark.parametrize(
    ("delta", "text"),
    [(1e-5, "1e-5"), (3e-4, "3e-4"), (2.5e-6, "2.5e-6"), (1.23456e-7, "1.23456e-7"), (0.001, "0.001"), (0.0, "0")],
)
def test_delta_is_written_as_the_field_writes_it(delta: float, text: str) -> None:
    assert delta_text(delta) == text
    assert float(text) == delta


def test_an_epsilon_at_the_limit_still_protects() -> None:
    assert protects(MEANINGLESS_EPSILON)
    assert weakness(MEANINGLESS_EPSILON) == ""
    assert not protects(MEANINGLESS_EPSILON + 0.01)
    assert weakness(MEANINGLESS_EPSILON + 0.01)
