"""The computed table has every mechanism, with the ratios that are known beforehand."""

import pytest

from siloseal.experiments.noise_by_formula import MECHANISMS, computed_row


def test_a_row_of_the_computed_table_compares_every_mechanism() -> None:
    coarse, fine = (computed_row(1024, 3.0, bits) for bits in (10, 16))
    assert coarse.keys() == {"entries", "epsilon", "bits", "pbm_add_remove", "pbm_bits", *MECHANISMS}
    for name in ("ddg", "skellam"):
        assert 1.02 > fine[name] < coarse[name]
    assert fine["gaussian_central"] == pytest.approx(1.0)
    assert fine["gaussian_local"] == pytest.approx(100.0)
    assert fine["pbm_add_remove"] == pytest.approx(4 * fine["pbm"])
    assert fine["pbm_bits"] == coarse["pbm_bits"] == 7  # one coin of each of 100 silos


def test_too_few_bits_leave_a_gap_in_the_table() -> None:
    assert computed_row(1, 3.0, 8)["ddg"] is None


def test_the_bits_of_a_scalar_under_pbm_fall_with_epsilon() -> None:
    assert [computed_row(1, epsilon, 16)["pbm_bits"] for epsilon in (2.0, 1.0)] == [11, 9]
