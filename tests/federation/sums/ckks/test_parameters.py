"""Every derived size against what it is derived from, over many sessions."""

import math
from functools import cache
from itertools import product

import pytest

from siloseal.federation.errors import DomainError
from siloseal.federation.sums.ckks.packing import _digits_of_a_value
from siloseal.federation.sums.ckks.parameters import COLUMNS, TAIL_BITS, Parameters, derive
from siloseal.federation.sums.ckks.security import MODULUS_BITS, largest_total
from siloseal.federation.sums.rlwe.values import WIDEST, largest_value
from siloseal.federation.sums.rlwe.wide import fits_residues
from siloseal.federation.sums.session import Domain, IntegerDomain, RealDomain

LENGTHS, SILOS = [1, 8193, 1_199_882, 20_000_000], [2, 3, 10, 250]
PRECISIONS, MODULI = [8, 16, 28, 40], [2, 2**20, 2**52]


@cache
def every() -> list[tuple[Domain, int, Parameters]]:
    """Domain, precision and what follows from them."""
    found = list[tuple[Domain, int, Parameters]]()
    for length, silos in product(LENGTHS, SILOS):
        domains: list[tuple[Domain, int]] = [(RealDomain(length, 8.0), precision) for precision in PRECISIONS]
        domains += [(IntegerDomain(length, modulus), 28) for modulus in MODULI]
        found += [(domain, bits, derive(domain, silos, precision_bits=bits)) for domain, bits in domains]
    return found


def test_the_sum_of_the_largest_values_stays_below_the_radix() -> None:
    for domain, bits, found in every():
        assert found.largest == largest_value(domain, bits)
        assert found.silos * found.largest < found.radix, found
        assert found.radix <= (found.silos * found.largest + 1) * (1 + 2.0**-20), found


def test_every_radix_is_one_that_machine_words_divide_by() -> None:
    for _, _, found in every():
        assert math.prod(found.radices) == found.radix
        assert max(found.radices) <= 2**40, found


def test_a_full_coefficient_leaves_the_topmost_bit_of_the_modulus_free() -> None:
    for _, _, found in every():
        largest = found.floor * found.radix**found.values
        modulus = math.prod(int(prime) for prime in found.ring.primes)
        assert largest < modulus * 0.501, found
        assert found.modulus_bits == sum(found.prime_bits) <= MODULUS_BITS[found.degree]


def test_the_floor_holds_what_the_errors_of_all_silos_add_up_to() -> None:
    for _, _, found in every():
        reach = largest_total(found.silos, found.coefficients, tail_bits=TAIL_BITS)
        assert found.floor // 2 >= reach
        assert found.floor <= 2 * reach + 1


def test_the_key_of_the_sum_does_not_wrap_around() -> None:
    for _, _, found in every():
        assert 2 ** (found.key_bits - 1) > largest_total(found.silos, found.degree, tail_bits=TAIL_BITS), found


def test_key_shares_travel_in_a_bit_less_than_before_for_ten_silos_and_three_for_a_hundred() -> None:
    """SecAgg of key shares took 10 and 14 bits in the prototype."""
    widths = [derive(RealDomain(10**6, 1.0), silos, precision_bits=16).key_bits for silos in (10, 100)]
    assert widths == [9, 11]


def test_all_entries_have_a_place() -> None:
    for domain, _, found in every():
        assert found.coefficients % COLUMNS == 0
        assert (found.coefficients - COLUMNS) * found.values < domain.length <= found.coefficients * found.values
        assert (found.groups - 1) * found.degree < found.coefficients <= found.groups * found.degree


def test_digits_of_packed_values_stay_exact_in_double_precision() -> None:
    for _, _, found in every():
        count, bits = _digits_of_a_value(found)
        assert count * bits >= found.largest.bit_length()
        assert fits_residues(bits, count * found.values), found


def test_no_other_secure_choice_has_a_shorter_upload() -> None:
    assert any(found.values > 100 for _, _, found in every())
    for domain, _, found in every()[::3]:
        for degree in MODULUS_BITS:
            for values in range(1, 270):  # 420 bits have room for 265 values of two silos' single bits
                other = Parameters(found.silos, domain.length, degree, values, found.largest)
                if other.is_secure:
                    assert found.ciphertext_bytes + found.key_bytes <= other.ciphertext_bytes + other.key_bytes


@pytest.mark.parametrize("domain", [RealDomain(5, 1e308), IntegerDomain(0, 2**20), IntegerDomain(5, 2**62)], ids=str)
def test_a_domain_whose_values_no_sum_can_carry_is_refused(domain: Domain) -> None:
    with pytest.raises(DomainError):
        derive(domain, 3, precision_bits=28)


def test_a_vector_too_long_for_the_security_argument_is_refused() -> None:
    with pytest.raises(DomainError, match="vector"):
        derive(RealDomain(10**10, 1.0), 3, precision_bits=28)


def test_the_widest_value_is_carried_and_one_bit_more_is_not() -> None:
    assert derive(IntegerDomain(5, 2 ** (WIDEST - 1)), 2, precision_bits=28).values >= 1
    with pytest.raises(DomainError):
        derive(IntegerDomain(5, 2**WIDEST), 2, precision_bits=28)
