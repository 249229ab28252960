"""The one sentence that states a guarantee."""

import pytest

from siloseal.federation.privacy.guarantee import Guarantee, in_short

RECORD = Guarantee("one record", "noise of the silos", public="", over="all queries")


def test_a_statement_says_epsilon_delta_unit_relation_noise_and_accounting() -> None:
    stated = Guarantee("one example", "Gaussian noise").statement(1.234, 1e-5)
    for part in ("(1.24, 1e-5)", "one example", "(zero-out)", "all phases", "Gaussian noise", "Renyi", "public"):
        assert part in stated


def test_what_is_public_is_left_out_where_nothing_is() -> None:
    assert "public" not in RECORD.statement(1.0, 1e-5)


@pytest.mark.parametrize(("epsilon", "weak"), [(1.0, False), (20.0, False), (20.5, True)])
def test_an_epsilon_that_protects_nobody_is_called_so(epsilon: float, weak: bool) -> None:
    assert ("no meaningful guarantee" in RECORD.statement(epsilon, 1e-5)) == weak


def test_a_planned_epsilon_is_stated_though_less_was_charged() -> None:
    planned = Guarantee("one record", "noise", planned=2.0)
    assert "(2.00, " in planned.statement(0.5, 1e-5)
    assert "(3.00, " in planned.statement(3.0, 1e-5)


def test_another_accounting_is_named() -> None:
    assert "pairs of numbers" in RECORD.statement(1.0, 1e-5, accounting="pairs of numbers")


def test_the_relation_says_whether_the_number_of_units_is_public() -> None:
    assert Guarantee("one example", "noise").relation == "zero-out"
    assert RECORD.relation == "add/remove"


def test_a_relation_goes_by_the_names_of_earlier_versions_and_no_others() -> None:
    names = ("zero-out", "add/remove", "there or zeros", "replace one", "", None)
    assert [name for name in names if Guarantee("one example", "noise").goes_by(name)] == list(names[:3])
    assert [name for name in names if RECORD.goes_by(name)] == ["add/remove"]


def test_the_short_statement_has_the_same_numbers() -> None:
    assert in_short(1.234, 1e-5, protected="one record") == "epsilon 1.24 at delta 1e-5 for one record"
    assert in_short(1.234, None) == "epsilon 1.24"
    assert "no meaningful guarantee" in in_short(25.0, 1e-5)
