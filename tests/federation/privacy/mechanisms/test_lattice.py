"""Clip, rotate, round, noise and back, without a secure sum: integers are added modulo 2^bits and decoded."""

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from siloseal.federation.privacy.mechanisms.integer_noise import Binomial, DiscreteGaussian, IntegerNoise, Skellam
from siloseal.federation.privacy.mechanisms.lattice import LatticeNoise
from siloseal.federation.privacy.mechanisms.rotation import rotate
from siloseal.federation.privacy.mechanisms.rounding import round_freely
from siloseal.federation.randomness import SecureRandomness, SeededRandomness
from siloseal.federation.sums.secure_sum import Sum
from siloseal.federation.sums.session import RealDomain, Session

from .recorded import Row, rows
from .without_a_sum import session, total_of


def clipped_vectors(silos: int, length: int, norm: float) -> NDArray[np.float64]:
    drawn = np.random.default_rng(9).normal(size=(silos, length))
    return np.asarray(0.99 * norm * drawn / np.linalg.norm(drawn, axis=1, keepdims=True))


@pytest.mark.parametrize("row", rows("skellam.end_to_end_mean_mse"))
def test_the_error_of_a_skellam_mean_is_the_recorded_one(row: Row) -> None:
    """Twenty means of a thousand entries: 5 % are five deviations of the error, by chance once in a million runs."""
    inputs, silos = row["inputs"], row["inputs"]["n"]
    noise = Skellam((inputs["sigma_local"] / inputs["gamma"]) ** 2)
    mechanism = LatticeNoise(inputs["l2_clip"], True, inputs["gamma"], inputs["bits"], noise)
    agreed, vectors = session(silos, inputs["d0"]), clipped_vectors(silos, inputs["d0"], inputs["l2_clip"])
    errors = [
        np.sum((total_of(mechanism, vectors, agreed, SecureRandomness()) - vectors.sum(axis=0)) ** 2) / silos**2
        for _ in range(20)
    ]
    assert np.mean(errors) == pytest.approx(row["expected"]["formula"], rel=row["tolerance"]["rel"])


@pytest.mark.parametrize(
    "noise", [DiscreteGaussian(30.0), Skellam(30.0), Binomial(120, 1e-6)], ids=lambda noise: noise.name
)
def test_the_error_of_a_mean_is_that_of_noise_and_rounding(noise: IntegerNoise) -> None:
    """60,000 entries: 5 % are more than eight deviations of the error, which never happens by chance."""
    length, silos, step = 60_000, 5, 0.001
    mechanism = LatticeNoise(1.0, True, step, 20, noise)
    vectors = clipped_vectors(silos, length, 1.0)
    error = total_of(mechanism, vectors, session(silos, length), SecureRandomness()) - vectors.sum(axis=0)
    formula = length * step**2 * (noise.variance + 1 / 6) / silos
    assert np.sum((error / silos) ** 2) == pytest.approx(formula, rel=0.05)
    assert error.std() <= mechanism.deviation(RealDomain(length, 1.0), silos) * 1.02


@pytest.mark.parametrize("bits", [3, 6])
def test_too_few_bits_harm_accuracy_only(bits: int) -> None:
    """The same draws: what comes out differs by whole ranges of the modulus, and the release costs the same."""
    many = LatticeNoise(1.0, True, 0.01, 30, Skellam(900.0))
    few = replace(many, bits=bits)
    agreed, vectors = session(4, 500), clipped_vectors(4, 500, 1.0)
    wide, narrow = (rotated_total(mechanism, vectors, agreed) for mechanism in (many, few))
    apart = (wide - narrow) / 2**bits
    np.testing.assert_array_equal(apart, np.rint(apart))
    assert np.any(apart != 0)
    assert narrow.min() >= -(2 ** (bits - 1))
    assert narrow.max() < 2 ** (bits - 1)
    outer = RealDomain(500, 1.0)
    assert few.event(outer, 3) == many.event(outer, 3)


def rotated_total(mechanism: LatticeNoise, vectors: NDArray[np.float64], agreed: Session) -> NDArray[np.float64]:
    """The decoded integers."""
    points = rotate(total_of(mechanism, vectors, agreed, SeededRandomness(5)), agreed.bind("rotation")) / mechanism.step
    np.testing.assert_allclose(points, np.rint(points), atol=1e-6)
    return np.rint(points)


@pytest.mark.parametrize("bits", [2, 5, 16, 32])
def test_centring_is_the_modular_clip_of_the_papers(bits: int) -> None:
    """The formula is checked on recorded values first, whose range is no power of two."""

    def modular_clip(values: NDArray[np.int64], lower: int, upper: int) -> NDArray[np.int64]:
        return np.asarray((values - lower) % (upper - lower) + lower)

    (row,) = rows("modular_clip")
    inputs = row["inputs"]
    assert modular_clip(np.array(inputs["values"]), inputs["lower"], inputs["upper"]).tolist() == row["expected"]
    values = np.array([0, 1, 2 ** (bits - 1) - 1, 2 ** (bits - 1), 2**bits - 1, 2**bits - 2, 1, 0])
    mechanism, agreed = LatticeNoise(1.0, True, 1.0, bits, Skellam(1.0)), session(2, 8)
    decoded = mechanism.decode(Sum(values, agreed.roster, 0.0), agreed, SecureRandomness()).total
    centred = rotate(np.asarray(decoded, dtype=np.float64), agreed.bind("rotation"))
    np.testing.assert_allclose(
        centred, modular_clip(values, -(2 ** (bits - 1)), 2 ** (bits - 1)), rtol=1e-12, atol=1e-5
    )


def test_what_is_sent_is_in_the_domain() -> None:
    for bits in (1, 4, 24):
        mechanism, agreed = LatticeNoise(1.0, True, 0.01, bits, DiscreteGaussian(900.0)), session(3, 77)
        domain = mechanism.domain(RealDomain(77, 1.0), 3)
        domain.check(np.asarray(mechanism.encode(np.ones(77), agreed, SecureRandomness())))
        assert (domain.length, domain.modulus) == (77, 2**bits)


def test_a_vector_of_any_length_is_clipped() -> None:
    """Noise of a deviation of 0.005 on a vector of a million: what comes out is as long as agreed."""
    mechanism, agreed = LatticeNoise(2.0, True, 0.001, 24, Skellam(25.0)), session(1, 64)
    vector = np.random.default_rng(3).normal(size=64) * 1e6
    decoded = total_of(mechanism, vector[np.newaxis], agreed, SeededRandomness(2))
    assert np.linalg.norm(decoded) == pytest.approx(2.0, abs=0.1)
    assert decoded @ vector / np.linalg.norm(vector) == pytest.approx(2.0, abs=0.1)


def test_two_encodings_of_one_vector_differ() -> None:
    mechanism, agreed = LatticeNoise(1.0, True, 0.01, 16, Skellam(900.0)), session(3, 100)
    first, second = (mechanism.encode(np.ones(100), agreed, SecureRandomness()) for _ in range(2))
    assert np.mean(first == second) < 0.5


class TestAPartOfAVector:
    """The unit is a part: both vectors are rounded with the same uniform numbers."""

    @pytest.mark.parametrize("length", [1, 5, 64, 700])
    @pytest.mark.parametrize("step", [0.01, 0.3, 5.0])
    def test_neighbours_round_to_points_within_the_move(self, length: int, step: float) -> None:
        mechanism, drawn = LatticeNoise(1.0, False, step, 16, Skellam(1.0)), np.random.default_rng(length)
        move, seed = mechanism.move(length), bytes(32)
        for trial in range(60):
            vector, change = drawn.normal(scale=drawn.choice([0.1, 10, 1e6]), size=length), drawn.normal(size=length)
            if trial % 3 == 0:
                change = np.eye(1, length, trial % length)[0]
            change *= drawn.uniform(0.5, 1) / np.linalg.norm(change)
            one, other = (
                round_freely(rotate(part, seed) / step, SeededRandomness(trial)) for part in (vector, vector + change)
            )
            assert np.linalg.norm(one - other) <= move.l2
            assert np.abs(one - other).sum() <= move.l1
            assert np.abs(one - other).max() <= move.linf

    def test_the_bound_is_nearly_reached(self) -> None:
        """A change of a hair in each entry may round every one of them to the next point."""
        at = 7 - np.frombuffer(SeededRandomness(1).bits(4 * 64), dtype="<u4") * 2.0**-32
        one, other = (round_freely(part, SeededRandomness(1)) for part in (at, at - 1e-9))
        assert np.linalg.norm(one - other) == 8.0
        mechanism = LatticeNoise(1.0, False, 1.0, 16, Skellam(1.0))
        assert mechanism.move(64).l2 == 9.0

    def test_it_is_not_clipped_and_costs_more_than_a_whole_vector(self) -> None:
        part = LatticeNoise(1.0, False, 0.01, 24, Skellam(100.0))
        agreed, vector = session(1, 64), np.full(64, 50.0)
        decoded = total_of(part, vector[np.newaxis], agreed, SecureRandomness())
        np.testing.assert_allclose(decoded, vector, atol=10 * part.deviation(RealDomain(64, 1.0), 1))
        assert part.move(64).l2 > replace(part, whole=True).move(64).l2


def test_the_error_bound_covers_rounding() -> None:
    """Against the same draws of noise on a vector that needs no rounding."""
    mechanism, agreed = LatticeNoise(5.0, True, 0.1, 24, Skellam(4.0)), session(3, 100)
    vectors = clipped_vectors(3, 100, 5.0)
    added = Sum(
        np.asarray(sum(mechanism.encode(vector, agreed, SeededRandomness(4)) for vector in vectors)) % 2**24,
        agreed.roster,
        0.0,
    )
    decoded = mechanism.decode(added, agreed, SecureRandomness())
    assert decoded.error_bound == pytest.approx(3 * 0.1 * math.sqrt(100))
    assert decoded.contributors == agreed.roster


def test_every_parameter_is_in_the_name() -> None:
    first = LatticeNoise(1.0, True, 0.1, 16, Skellam(1.0))
    others = [
        replace(first, sensitivity=2.0),
        replace(first, whole=False),
        replace(first, step=0.2),
        replace(first, bits=17),
        replace(first, noise=Skellam(2.0)),
    ]
    assert len({mechanism.name for mechanism in (first, *others)}) == 6


def test_a_part_is_of_a_vector_that_is_no_longer_than_agreed() -> None:
    """Else an entry that travels in full could be larger than the domain holds."""
    mechanism = LatticeNoise(1.0, False, 0.01, 20, Skellam(100.0), wraps=False)
    session = Session(bytes(32), ("a",), RealDomain(4, 3.0), mechanism.name, 1, (bytes(32),))
    domain = mechanism.domain(session.domain, 1)
    encoded = mechanism.encode(np.full(4, 3.0), session, SeededRandomness(0))  # twice as long as the bound
    assert domain.check(encoded) is not None
    decoded = mechanism.decode(Sum(encoded, ("a",), 0.0), session, SeededRandomness(1)).total
    assert float(np.linalg.norm(decoded)) < 3.0 + 1.0
