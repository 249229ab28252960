"""The Poisson-binomial mechanism over a frame: unbiased, never wrapping, and chances that never leave their interval."""

import itertools
import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from siloseal.federation.privacy.accounting import epsilon_of
from siloseal.federation.privacy.events import PoissonBinomialRelease
from siloseal.federation.privacy.mechanisms.calibration import Demand
from siloseal.federation.privacy.mechanisms.kashin import LEVEL, synthesise
from siloseal.federation.privacy.mechanisms.pbm_calibration import calibrated_pbm_kashin
from siloseal.federation.privacy.mechanisms.pbm_kashin import KashinPoissonBinomial, coefficients
from siloseal.federation.randomness import SecureRandomness, SeededRandomness
from siloseal.federation.sums.session import RealDomain, Session

from .recorded import Row, rows
from .without_a_sum import session, total_of


@pytest.mark.parametrize("row", rows("pbm.mse_scalar_upper"))
def test_the_largest_error_of_a_scalar_mean_equals_the_recorded_one(row: Row) -> None:
    inputs = row["inputs"]
    deviation = KashinPoissonBinomial(inputs["c"], inputs["m"], inputs["theta"]).deviation(
        RealDomain(1, 1.0), inputs["n"]
    )
    assert (deviation / inputs["n"]) ** 2 == pytest.approx(row["expected"], rel=row["tolerance"]["rel"])


@pytest.mark.parametrize("row", rows("pbm.vector_mse"))
def test_the_error_of_a_vector_mean_equals_the_recorded_formula(row: Row) -> None:
    inputs = row["inputs"]
    mechanism = KashinPoissonBinomial(inputs["c"], inputs["m"], inputs["theta"])
    deviation = mechanism.deviation(RealDomain(inputs["d"], 1.0), inputs["n"])
    assert coefficients(inputs["d"]) == inputs["frame_N"]
    assert inputs["d"] * (deviation / inputs["n"]) ** 2 == pytest.approx(row["expected"]["formula"], rel=1e-10)


def test_the_measured_error_of_a_vector_mean_is_the_formula() -> None:
    """20,000 entries: 6 % are six deviations of the error; coins off one half make it up to a hundredth smaller."""
    length, silos = 20_000, 4
    mechanism, drawn = KashinPoissonBinomial(1.0, 16, 0.1), np.random.default_rng(1).normal(size=(silos, length))
    vectors = 0.9 * drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    error = total_of(mechanism, vectors, session(silos, length), SecureRandomness()) - vectors.sum(axis=0)
    formula = length * LEVEL**2 / (4 * coefficients(length) * silos * 16 * 0.1**2)
    assert np.sum((error / silos) ** 2) == pytest.approx(formula, rel=0.06)


@pytest.mark.parametrize("value", [-1.0, -0.37, 0.0, 0.8, 1.0])
def test_a_scalar_is_unbiased(value: float) -> None:
    """|z| < 4, with a seed, so that it does not fail by chance; an error of the mean by 3 % of the range would show."""
    silos = 4000
    mechanism = KashinPoissonBinomial(1.0, 8, 0.2)
    total = total_of(mechanism, np.full((silos, 1), value), session(silos, 1), SeededRandomness(7))[0]
    held = value * (1 - 1e-6) if abs(value) == 1 else value  # clipping stops a little before the bound
    assert abs(total - silos * held) < 4 * mechanism.deviation(RealDomain(1, 1.0), silos)


def test_every_entry_of_a_vector_is_unbiased() -> None:
    """|z| < 4 for each of fifty, and their squares add up as they should; with a seed."""
    vector = np.linspace(-1, 1, 50) / 5
    mechanism, agreed = KashinPoissonBinomial(1.5, 4, 0.25), session(800, 50)
    total = total_of(mechanism, np.tile(vector, (800, 1)), agreed, SeededRandomness(7))
    z = (total - 800 * vector) / mechanism.deviation(RealDomain(50, 1.0), 800)
    assert np.abs(z).max() < 4
    assert np.sum(z**2) < stats.chi2.isf(1e-3, 50)


@pytest.mark.parametrize(("silos", "trials"), [(1, 1), (3, 5), (4, 4), (16, 16), (100, 7), (5, 51)])
def test_the_modulus_is_above_the_heads_of_all_silos(silos: int, trials: int) -> None:
    domain = KashinPoissonBinomial(1.0, trials, 0.25).domain(RealDomain(10, 1.0), silos)
    assert domain.modulus > silos * trials >= domain.modulus // 2
    assert domain.length == coefficients(10) == 32


@pytest.mark.parametrize("value", [-1e12, 1e12])
def test_extreme_inputs_never_wrap(value: float) -> None:
    """All heads or none, as the source of randomness has it: the most and the least that a total can be."""
    mechanism, agreed = KashinPoissonBinomial(1.0, 5, 0.25), session(3, 1)
    for word, heads in ((0, 15), (2**32 - 1, 0)):
        total = total_of(mechanism, np.full((3, 1), value), agreed, OneWord(word))[0]
        assert total == pytest.approx((heads - 7.5) / (5 * 0.25))


class OneWord:
    """Every 32-bit word is the same."""

    def __init__(self, word: int) -> None:
        self._word = word

    def bits(self, count: int) -> bytes:
        return self._word.to_bytes(4, "little") * (count // 4)

    def begin(self, stretch: str) -> None: ...

    uniforms = normals = None  # type: ignore[assignment]


@pytest.mark.parametrize("theta", [0.25, 0.1, 0.2493336, 1e-6])
@pytest.mark.parametrize("length", [1, 2, 3, 100, 1024])
def test_chances_stay_in_their_interval_for_hostile_vectors(theta: float, length: int) -> None:
    """A word just below the least chance is heads for every coefficient, one at the largest is for none."""
    mechanism, agreed = KashinPoissonBinomial(1.0, 3, theta), session(2, length)
    below, above = math.ceil((0.5 - theta) * 2**32) - 1, math.floor((0.5 + theta) * 2**32)
    for vector in hostile(length, agreed):
        assert np.all(mechanism.encode(vector, agreed, OneWord(below)) == 3)
        assert np.all(mechanism.encode(vector, agreed, OneWord(above)) == 0)


def hostile(length: int, agreed: Session) -> list[NDArray[np.float64]]:
    """All in one entry, constant, and in the direction of one row of the frame, which no representation can spread."""
    found = [np.eye(1, length)[0] * 1e9, np.full(length, -1e150), np.full(length, 1e-300), np.zeros(length)]
    if length > 1:
        for row in range(4):
            aligned = synthesise(np.eye(1, coefficients(length), row)[0], agreed.bind("frame"), length)
            found += [aligned * 1e6, -aligned / np.linalg.norm(aligned)]
    return found


def test_a_vector_along_a_row_of_the_frame_is_cut_and_still_points_there() -> None:
    """No representation can spread it; then accuracy pays, and not privacy. Many deviations: never by chance."""
    agreed, mechanism = session(100, 1024), KashinPoissonBinomial(1.0, 16, 0.25)
    aligned = synthesise(np.eye(1, 2048, 3)[0], agreed.bind("frame"), 1024)
    aligned /= np.linalg.norm(aligned)
    total = total_of(mechanism, np.tile(aligned, (100, 1)), agreed, SecureRandomness())
    assert 0.5 < total @ aligned / 100 < 1.1


@pytest.mark.parametrize("length", [1, 20])
def test_the_event_counts_every_coefficient_of_the_honest(length: int) -> None:
    event = KashinPoissonBinomial(1.0, 6, 0.2).event(RealDomain(length, 1.0), 4)
    assert event == PoissonBinomialRelease(4, 6, 0.2, coefficients(length))


def test_bits_fall_with_epsilon() -> None:
    bits = []
    for epsilon in (0.1, 0.3, 1.0, 3.0, 6.0):
        mechanism = calibrated_pbm_kashin(Demand(epsilon, 1e-5, 1, 20, 20, 1), bits=16, clip_norm=1.0)
        bits.append(mechanism.domain(RealDomain(1, 1.0), 20).modulus.bit_length() - 1)
        assert epsilon_of([mechanism.event(RealDomain(1, 1.0), 20)], 1e-5) <= epsilon
    assert bits == sorted(bits)
    assert bits[0] < bits[-1]


def test_every_parameter_is_in_the_name() -> None:
    names = {KashinPoissonBinomial(*parts).name for parts in itertools.product((1.0, 2.0), (4, 5), (0.1, 0.2))}
    assert len(names) == 8
