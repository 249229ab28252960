"""The one sentence that states a guarantee."""

import pytest

from siloseal.federation.privacy.guarantee import Guarantee

RECORD = Guarantee("one record", "noise of the silos", public="", over="all queries")


def test_a_statement_says_epsilon_delta_unit_relation_noise_and_accounting() -> None:
    stated = Guarantee("one example", "Gaussian noise").statement(1.234, 1e-5, accounting="Renyi accounting")
    for part in ("(1.24, 1e-5)", "one example", "(add/remove)", "all phases", "Gaussian noise", "Renyi", "public"):
        assert part in stated


def test_what_is_public_is_left_out_where_nothing_is() -> None:
    assert "public" not in RECORD.statement(1.0, 1e-5, accounting="exact")


@pytest.mark.parametrize(("epsilon", "weak"), [(1.0, False), (20.0, False), (20.5, True)])
def test_an_epsilon_that_protects_nobody_is_called_so(epsilon: float, weak: bool) -> None:
    assert ("no meaningful guarantee" in RECORD.statement(epsilon, 1e-5, accounting="exact")) == weak


def test_a_planned_epsilon_is_stated_though_less_was_charged() -> None:
    planned = Guarantee("one record", "noise", planned=2.0)
    assert "(2.00, " in planned.statement(0.5, 1e-5, accounting="exact")
    assert "(3.00, " in planned.statement(3.0, 1e-5, accounting="exact")
