"""How epsilon and delta are written."""

import math

import pytest

from siloseal.federation.privacy.epsilon import MEANINGLESS_EPSILON, delta_text, epsilon_text, protects, weakness


@pytest.mark.parametrize(
    ("epsilon", "text"),
    [(9.99972, "10.00"), (1.0213, "1.03"), (10.0, "10.00"), (0.0039995, "0.0040"), (0.0123, "0.013"), (0.0, "0.00")],
)
def test_epsilon_is_never_shown_smaller_than_it_is(epsilon: float, text: str) -> None:
    assert epsilon_text(epsilon) == text
    assert float(text) >= epsilon


@pytest.mark.parametrize("epsilon", [5e-324, 1e-308, 1e-13, 2e-12, 1e15 + 0.125, 2.0**52 - 0.5, 1e17, 1e308])
def test_no_epsilon_is_too_small_or_too_large_to_be_shown(epsilon: float) -> None:
    """The slack of the rounding is a billionth of the last digit."""
    assert float(epsilon_text(epsilon)) >= epsilon
    assert float(delta_text(epsilon)) == pytest.approx(epsilon, rel=1e-5)


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan, -1e308, -0.0])
def test_what_is_no_epsilon_is_shown_as_what_it_is(value: float) -> None:
    assert float(epsilon_text(value)) == pytest.approx(value, nan_ok=True)
    assert float(delta_text(value)) == pytest.approx(value, nan_ok=True)


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
