"""The computed table has every mechanism, with the ratios that are known beforehand."""

import pytest

from siloseal.experiments.noise_by_formula import MECHANISMS, computed_row
from siloseal.federation.privacy.mechanisms.gaussian_noise import ALLOWANCE


def test_a_row_of_the_computed_table_compares_every_mechanism() -> None:
    coarse, fine = (computed_row(1024, 3.0, bits) for bits in (10, 16))
    bits = {"bits", "pbm_bits", "pbm_kashin_bits"}
    assert coarse.keys() == {"entries", "epsilon", "pbm_kashin_add_remove", *bits, *MECHANISMS}
    for name in ("ddg", "skellam", "pbm"):
        assert 1.04 > fine[name] < coarse[name]
    assert coarse["pbm"] < 1.06 < coarse["ddg"]
    allowed = (1 + ALLOWANCE) ** 2  # exact noise is that much wider, for what is rounded before it
    assert fine["gaussian_central"] == pytest.approx(allowed)
    assert fine["gaussian_local"] == pytest.approx(100 * allowed)
    assert fine["pbm_kashin_add_remove"] == pytest.approx(4 * fine["pbm_kashin"])
    assert fine["pbm_kashin_bits"] == coarse["pbm_kashin_bits"] == 7  # one coin of each of 100 silos
    assert [coarse["pbm_bits"], fine["pbm_bits"]] == [10, 14]


def test_too_few_bits_leave_a_gap_in_the_table() -> None:
    assert computed_row(1, 3.0, 8)["ddg"] is None
    assert computed_row(1, 3.0, 8)["pbm"] is None


def test_the_bits_of_a_scalar_under_the_papers_pbm_fall_with_epsilon() -> None:
    assert [computed_row(1, epsilon, 16)["pbm_kashin_bits"] for epsilon in (2.0, 1.0)] == [11, 9]
