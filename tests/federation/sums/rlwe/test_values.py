"""What encrypted sums carry as values, and the domains that they refuse; both CKKS sums derive their sizes from it."""

import math

import pytest

from siloseal.federation.errors import DomainError
from siloseal.federation.sums.rlwe.values import WIDEST, require_values
from siloseal.federation.sums.session import Domain, IntegerDomain, RealDomain


@pytest.mark.parametrize(
    "domain",
    [
        RealDomain(10, math.nan),
        RealDomain(10, math.inf),
        RealDomain(10, -math.inf),
        RealDomain(10, 0.0),
        RealDomain(10, -1.0),
        RealDomain(10, 1e308),
        RealDomain(10, 1e-300),
        RealDomain(10, 5e-324),
        RealDomain(10, 2.0**-933),
        IntegerDomain(10, 2**62),
        IntegerDomain(10, 1),
        IntegerDomain(10, 0),
        IntegerDomain(10, -5),
    ],
    ids=str,
)
def test_a_domain_that_no_sum_can_carry_is_refused(domain: Domain) -> None:
    with pytest.raises(DomainError, match="cannot carry"):
        require_values(domain, 4, 28)


@pytest.mark.parametrize("domain", [RealDomain(0, 8.0), RealDomain(-1, 8.0), IntegerDomain(0, 2**20)], ids=str)
def test_an_empty_vector_is_refused(domain: Domain) -> None:
    with pytest.raises(DomainError, match="entry"):
        require_values(domain, 4, 28)


@pytest.mark.parametrize("bits", [0, -1, 16.5, None, True, 52, 53, 62])
def test_a_precision_that_is_no_number_of_bits_is_refused(bits: int) -> None:
    with pytest.raises(DomainError):
        require_values(RealDomain(5, 1.0), 3, bits)


def test_the_widest_total_of_values_has_62_bits() -> None:
    assert require_values(IntegerDomain(10, 2**60 - 1), 4, 28) == 2**60 - 2
    assert (4 * (2**60 - 2)).bit_length() == WIDEST == 62
    with pytest.raises(DomainError, match="63 bits"):
        require_values(IntegerDomain(10, 2**60 + 1), 4, 28)


def test_a_precision_whose_totals_are_too_wide_is_refused() -> None:
    assert require_values(RealDomain(10, 8.0), 2**10, 51) == 2**52 - 1
    with pytest.raises(DomainError, match="precision"):
        require_values(RealDomain(10, 8.0), 2**10 + 1, 51)
