"""Every derived size against what it is derived from, over many sessions."""

import math
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pytest

from siloseal.federation.errors import DomainError
from siloseal.federation.randomness import SeededRandomness
from siloseal.federation.sums.joint_key.encryption import encrypt
from siloseal.federation.sums.joint_key.keys import SecretShare
from siloseal.federation.sums.joint_key.moduli import DIVISORS, PRIME_BITS, PRIMES, ring_of
from siloseal.federation.sums.joint_key.parameters import Parameters, derive
from siloseal.federation.sums.joint_key.wire import to_bytes
from siloseal.federation.sums.rlwe.uniform import expand_uniform
from siloseal.federation.sums.rlwe.values import WIDEST, largest_value
from siloseal.federation.sums.session import Domain, IntegerDomain, RealDomain

LENGTHS, SILOS, DISTANCES = [1, 8193, 1_199_882, 20_000_000], [2, 3, 10, 250], [40, 60]
PRECISIONS, MODULI = [8, 28, 40], [2**20, 2**52]
FLOODINGS = range(PRIME_BITS, 2 * PRIME_BITS)


@cache
def every() -> list[tuple[Domain, int, int, Parameters]]:
    """Domain, precision, wanted distance and what follows from them."""
    found = list[tuple[Domain, int, int, Parameters]]()
    for length, silos, distance_bits in product(LENGTHS, SILOS, DISTANCES):
        domains: list[tuple[Domain, int]] = [(RealDomain(length, 8.0), precision) for precision in PRECISIONS]
        domains += [(IntegerDomain(length, modulus), 28) for modulus in MODULI]
        for domain, precision in domains:
            sizes = derive(domain, silos, precision_bits=precision, distance_bits=distance_bits)
            found.append((domain, precision, distance_bits, sizes))
    return found


def noise_variance(found: Parameters) -> float:
    """n ciphertexts, each with e u and e1 s of n silos' shares over N terms, and e0: see the derivation."""
    return found.silos * (2 * found.degree * found.silos * (2 / 3) * 10.5 + 10.5)


def distance(found: Parameters) -> float:
    """All coefficients, each E|noise| / 2^(f+1) at most."""
    return found.messages * found.degree * math.sqrt(noise_variance(found)) / 2 ** (found.flooding_bits + 1)


def fits(found: Parameters) -> bool:
    """Floor and values, and one bit more, within the primes that stay after the division."""
    return found.floor_bits + found.values * found.width + 1 <= PRIME_BITS * (PRIMES[found.degree] - 1)


def test_an_opening_keeps_the_wanted_statistical_distance() -> None:
    for _, _, distance_bits, found in every():
        assert distance(found) <= 2.0**-distance_bits, found


def test_the_stated_statistical_distance_is_the_derived_one() -> None:
    for _, _, _, found in every():
        assert found.statistical_distance == pytest.approx(distance(found), rel=1e-12), found
        assert found.statistical_distance_log2 == pytest.approx(math.log2(distance(found)), abs=1e-9), found


def test_a_sum_of_the_largest_values_does_not_reach_the_next_value() -> None:
    for domain, precision_bits, _, found in every():
        assert found.silos * largest_value(domain, precision_bits) < 2**found.width, found


def test_no_value_is_a_bit_wider_than_needed() -> None:
    for domain, precision_bits, _, found in every():
        assert found.silos * largest_value(domain, precision_bits) >= 2 ** (found.width - 1), found


def floors() -> list[Parameters]:
    """The derived ones, and some with so little flooding that roundings count."""
    little = [Parameters(silos, 1, 8192, 20, 1, bits, keys=1) for silos in SILOS for bits in range(60, 66)]
    return [found for *_, found in every()] + little


def test_half_the_floor_holds_all_floodings_all_roundings_and_the_noise() -> None:
    for found in floors():
        flooding = Fraction(found.silos * 2**found.flooding_bits, ring_of(found.degree).divisor)
        noise = Fraction(found.noise_bound) / ring_of(found.degree).divisor
        assert 2 ** (found.floor_bits - 1) > flooding + noise + found.silos, found


def test_the_floor_is_less_than_a_bit_wider_than_needed() -> None:
    for found in floors():
        flooding = Fraction(found.silos * 2**found.flooding_bits, ring_of(found.degree).divisor)
        assert 2 ** (found.floor_bits - 2) <= flooding + found.silos + 2, found


def test_the_noise_bound_is_a_sub_gaussian_tail_over_all_coefficients() -> None:
    """2 M exp(-bound^2 / (2 variance)) is at most 2^-40, for keys whose squared norm is ten deviations above its mean.

    The squared norm of N independent entries deviates by at most sqrt(2 / N) of its mean.
    """
    for _, _, _, found in every():
        variance = noise_variance(found) * (1 + 10 * math.sqrt(2 / found.degree))
        exponent = -(found.noise_bound**2) / (2 * variance)
        assert math.log(2 * found.messages * found.degree) + exponent <= -40 * math.log(2), found


def test_everything_fits_below_the_modulus_with_a_zero_on_top() -> None:
    for _, _, _, found in every():
        top = found.floor_bits + found.values * found.width
        assert found.fits
        assert 2 ** (top + 1) <= 2 ** (PRIME_BITS * (PRIMES[found.degree] - 1)), found
        kept = math.prod(int(prime) for prime in ring_of(found.degree).primes[:-1])
        assert 2**top < 3 * kept // 4, found  # where the decoder still tells a wrap


def test_one_more_value_a_coefficient_would_not_fit() -> None:
    for _, _, distance_bits, found in every():
        fuller = [replace(found, values=found.values + 1, flooding_bits=bits) for bits in FLOODINGS]
        assert not any(fits(each) and distance(each) <= 2.0**-distance_bits for each in fuller), found


def test_bits_that_no_value_could_use_go_to_the_flooding() -> None:
    for _, _, _, found in every():
        more = replace(found, flooding_bits=found.flooding_bits + 1)
        assert more.flooding_bits not in FLOODINGS or not fits(more), found


def test_the_messages_hold_the_vector_and_none_is_empty() -> None:
    for domain, _, _, found in every():
        capacity = found.degree * found.values
        assert (found.messages - 1) * capacity < domain.length <= found.messages * capacity, found
        assert (found.groups - 1) * found.keys < found.messages <= found.groups * found.keys, found


def test_the_degree_is_the_one_with_the_least_traffic(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = set[int]()
    for length, silos in product(LENGTHS, SILOS):
        alone = list[float]()
        for degree in list(PRIMES):
            with monkeypatch.context() as only:
                for other in set(PRIMES) - {degree}:
                    only.delitem(PRIMES, other)
                found = derive(RealDomain(length, 8.0), silos, precision_bits=28, distance_bits=40)
                assert found.degree == degree
                alone.append(found.polynomials * degree)
        found = derive(RealDomain(length, 8.0), silos, precision_bits=28, distance_bits=40)
        assert found.polynomials * found.degree == min(alone)
        chosen.add(found.degree)
    assert chosen == set(PRIMES)


@pytest.mark.parametrize("values", [1, 2])
def test_the_counted_traffic_is_what_a_silo_sends_and_receives(values: int) -> None:
    found = Parameters(3, 5 * 8192 * values - 7, 8192, 20, values, 70, keys=2)
    ring, randomness, share = ring_of(8192), SeededRandomness(1), SecretShare(bytes(64))
    common = expand_uniform(ring, b"public")
    public = share.public_share(found, common, randomness)
    upload = encrypt(found, public, common, np.zeros(found.length, dtype=np.int64), randomness)
    c1 = np.repeat(common[None], found.groups, axis=0)
    opened = to_bytes(share.partial_decrypt(found, c1, randomness))
    sent = len(to_bytes(public)) + len(upload.c0) + len(upload.c1) + len(opened)
    received = found.silos * (len(to_bytes(public)) + len(upload.c1))
    assert sent + received == 7.5 * found.degree * found.polynomials


@pytest.mark.parametrize(
    ("domain", "silos", "recorded"),
    [
        (RealDomain(300, 8.0), 3, Parameters(3, 300, 8192, 31, 3, 83, keys=1)),
        (RealDomain(1_199_882, 8.0), 10, Parameters(10, 1_199_882, 8192, 33, 3, 75, keys=7)),
        (IntegerDomain(20_000_000, 2**52), 250, Parameters(250, 20_000_000, 8192, 60, 1, 110, keys=49)),
    ],
)
def test_the_recorded_parameters_of_a_session_have_not_changed(
    domain: Domain, silos: int, recorded: Parameters
) -> None:
    """Everyone derives them alone, in any version, and must come to the same."""
    assert derive(domain, silos, precision_bits=28, distance_bits=40) == recorded


@pytest.mark.parametrize("distance_bits", [40, 60])
def test_more_silos_never_cost_statistical_distance(distance_bits: int) -> None:
    for silos in (2, 3, 5, 17, 64, 333, 1000, 4096):
        found = derive(RealDomain(1_199_882, 8.0), silos, precision_bits=28, distance_bits=distance_bits)
        assert distance(found) <= 2.0**-distance_bits, found


@pytest.mark.parametrize("domain", [RealDomain(10, 1e308), IntegerDomain(0, 2**20), IntegerDomain(10, 2**62)], ids=str)
def test_a_domain_whose_values_no_sum_can_carry_is_refused(domain: Domain) -> None:
    with pytest.raises(DomainError):
        derive(domain, 4, precision_bits=28, distance_bits=40)


def test_a_vector_too_long_for_the_wanted_distance_is_refused() -> None:
    with pytest.raises(DomainError, match="flooding"):
        derive(IntegerDomain(10**30, 2**50), 4, precision_bits=28, distance_bits=60)


def test_the_widest_value_is_carried() -> None:
    assert derive(IntegerDomain(10, 2**60 - 1), 4, precision_bits=28, distance_bits=40).width == WIDEST


@pytest.mark.parametrize("degree", PRIMES)
def test_the_divisor_that_sizes_follow_from_is_seals(degree: int) -> None:
    assert DIVISORS[degree] == ring_of(degree).divisor
