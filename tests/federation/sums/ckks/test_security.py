"""What security rests on: the widths after the hints, and the costs of attacks on every session that can be derived."""

import json
import math
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from tenseal import sealapi

from siloseal.federation.exact_noise import discrete_gaussian
from siloseal.federation.randomness import SeededRandomness
from siloseal.federation.sums.ckks.parameters import derive
from siloseal.federation.sums.ckks.security import (
    HARDNESS_DEVIATION,
    HINT_BITS,
    MODULUS_BITS,
    VARIANCE,
    largest_total,
    smoothing_deviation,
)
from siloseal.federation.sums.session import Domain, IntegerDomain, RealDomain
from tests.federation.table_chances import chances_of

COSTS = json.loads((Path(__file__).parents[3] / "vectors" / "rlwe_costs.json").read_text())["rows"]
SECURITY_BITS = 128

DOMAINS: list[Domain] = [RealDomain(length, 8.0) for length in (1, 5_000, 100_000, 1_000_000, 50_000_000)]
DOMAINS += [IntegerDomain(length, modulus) for length in (1, 300_000) for modulus in (2, 2**20, 2**52)]


def cost_of(degree: int, modulus_bits: int, deviation: float) -> float:
    """Of the cheapest attack on anything at most as hard: by the estimator's default model."""
    rows = [
        row["least"]
        for row in COSTS
        if row["model"] == "MATZOV"
        and row["degree"] == degree
        and row["modulus_bits"] >= modulus_bits
        and row["deviation"] <= deviation
    ]
    return max(rows, default=0.0)


def test_every_session_that_can_be_derived_costs_an_attacker_2_to_the_128() -> None:
    for domain, silos, bits in product(DOMAINS, (2, 3, 10, 100, 250), (8, 16, 28, 40)):
        found = derive(domain, silos, precision_bits=bits)
        assert cost_of(found.degree, found.modulus_bits, HARDNESS_DEVIATION) >= SECURITY_BITS, found


def test_the_largest_modulus_of_every_degree_costs_an_attacker_2_to_the_132() -> None:
    for degree, bits in MODULUS_BITS.items():
        assert cost_of(degree, bits, HARDNESS_DEVIATION) >= 132, degree


def test_a_modulus_at_seals_own_limit_would_not_be_enough() -> None:
    """So the table can say no."""
    assert cost_of(8192, 218, HARDNESS_DEVIATION) < SECURITY_BITS
    assert cost_of(16384, 438, HARDNESS_DEVIATION) < SECURITY_BITS
    assert cost_of(8192, 200, 1.0) == 0


def test_seals_own_check_passes_with_the_prime_that_it_reserves() -> None:
    for degree, bits in MODULUS_BITS.items():
        assert bits + 18 == sealapi.CoeffModulus.MaxBitCount(degree, sealapi.SEC_LEVEL_TYPE.TC128)


def test_the_width_after_the_hints_is_the_theorems() -> None:
    assert pytest.approx(2 * (1 / VARIANCE + 1 / VARIANCE)) == 1 / HARDNESS_DEVIATION**2


def test_the_width_after_the_hints_is_above_what_smooths_the_integers() -> None:
    """sqrt(2) times the smoothing parameter's bound, sqrt(ln(2 n (1 + 1/eps)) / pi), as a standard deviation."""
    for coordinates in (2 * 4096, 2**20, 2**27):
        parameter = math.sqrt(2) * math.sqrt(math.log(2 * coordinates * (1 + 2.0**HINT_BITS)) / math.pi)
        assert smoothing_deviation(coordinates) == pytest.approx(parameter / math.sqrt(2 * math.pi))
        assert smoothing_deviation(coordinates) <= HARDNESS_DEVIATION
    assert smoothing_deviation(2**30) > HARDNESS_DEVIATION


def test_what_a_sum_of_two_keys_leaves_of_one_has_half_the_variance() -> None:
    """The step of the reduction that can be seen: given s + t = z, s is a discrete Gaussian around z / 2."""
    table = discrete_gaussian(float(VARIANCE))
    chances = {table.lowest + place: float(chance) for place, chance in enumerate(chances_of(table))}
    for z in (0, 1, 7):
        joint = {s: chances[s] * chances.get(z - s, 0.0) for s in chances}
        total = sum(joint.values())
        mean = sum(s * weight for s, weight in joint.items()) / total
        variance = sum((s - mean) ** 2 * weight for s, weight in joint.items()) / total
        assert mean == pytest.approx(z / 2, abs=1e-9)
        assert variance == pytest.approx(VARIANCE / 2, rel=1e-9)


@pytest.mark.parametrize("silos", [2, 10, 100])
def test_no_total_of_short_entries_comes_near_its_bound(silos: int) -> None:
    """The bound fails with probability 2^-40; of a million totals the largest is at 0.45 to 0.75 of it."""
    entries, randomness = 2**20, SeededRandomness(3)
    table = discrete_gaussian(float(VARIANCE))
    totals = np.sum([table.draw(entries, randomness) for _ in range(silos)], axis=0)
    assert totals.var() == pytest.approx(silos * VARIANCE, rel=0.02)  # 14 standard deviations
    bound = largest_total(silos, entries, tail_bits=40)
    assert 0.45 * bound < np.abs(totals).max() < 0.75 * bound
