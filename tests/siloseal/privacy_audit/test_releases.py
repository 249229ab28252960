"""Audits of noised sums: sound mechanisms pass, and those with less noise than their event says do not."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from numpy.typing import NDArray

from siloseal.federation.analytics.noisy_bits import NoisyBits
from siloseal.federation.privacy.events import GaussianRelease
from siloseal.federation.privacy.mechanism import Mechanism
from siloseal.federation.privacy.mechanisms.calibration import Demand
from siloseal.federation.privacy.mechanisms.counts import NoisyCounts
from siloseal.federation.privacy.mechanisms.gaussian import GaussianAtAggregator, GaussianAtSilo
from siloseal.federation.privacy.mechanisms.integer_noise import DiscreteGaussian, Move, Skellam
from siloseal.federation.privacy.mechanisms.lattice_calibration import calibrated_lattice
from siloseal.federation.privacy.mechanisms.pbm import PoissonBinomial
from siloseal.federation.randomness import Randomness
from siloseal.federation.sums.secure_sum import Sum
from siloseal.federation.sums.session import RealDomain, Session
from siloseal.privacy_audit.attackers import LOW_BITS
from siloseal.privacy_audit.guesses import ALPHA
from siloseal.privacy_audit.releases import ReleaseSubject, audit_release

LENGTH, HONEST, STRONG = 24, 3, 0.6
DELTA = 1e-5
DOMAIN = RealDomain(LENGTH, 100.0)
ONE = Move(l2=2.0, l1=4.0, linf=1.0, coordinates=LENGTH)
"""A move of four counts by one."""
DEMAND = Demand(epsilon=8.0, delta=DELTA, releases=1, silos=HONEST, honest=HONEST, length=LENGTH)


def subject(mechanism: Mechanism, *, moved: int = LENGTH, distance: float = 1.0) -> ReleaseSubject:
    move = np.zeros(LENGTH)
    move[:moved] = np.float32(distance / np.sqrt(moved))  # as it travels in clear
    return ReleaseSubject(
        mechanism, DOMAIN, mechanism.event(DOMAIN, HONEST), 1, DELTA, HONEST, without=np.zeros(LENGTH), move=move
    )


def counts(factor: float = 1.0) -> ReleaseSubject:
    """Counts whose noise is smaller by a factor than the event says."""
    booked = subject(NoisyCounts(ONE, Skellam(variance=0.5)), moved=4, distance=2.0)
    return replace(booked, mechanism=NoisyCounts(ONE, Skellam(variance=0.5 * factor**2)))


SUBJECTS = {
    "gaussian at silo": subject(GaussianAtSilo(1.0, STRONG)),
    "gaussian at aggregator": subject(GaussianAtAggregator(None, 1.0, STRONG)),
    "skellam counts": counts(),
    "ddg counts": subject(NoisyCounts(ONE, DiscreteGaussian(variance=0.5)), moved=4, distance=2.0),
    "skellam lattice": subject(calibrated_lattice("skellam", DEMAND, bits=None, sensitivity=1.0)),
    "ddg lattice": subject(calibrated_lattice("ddg", DEMAND, bits=None, sensitivity=1.0)),
    "bits": subject(NoisyBits(0.93, HONEST), moved=1),
    "poisson binomial": subject(PoissonBinomial(1.0, 0.6, 4, 0.25)),
}


@pytest.mark.parametrize("name", SUBJECTS)
def test_a_sound_mechanism_passes_and_its_low_bits_give_nothing_away(name: str) -> None:
    """Guesses by low bits are coins then: 105 or more of 120 are right once in 1e17 audits."""
    found = audit_release(SUBJECTS[name], part=name, trials=120)
    assert found.verdict == "sound"
    by_low_bits = next(count for count in found.guesses.counts if count.attacker == LOW_BITS)
    assert by_low_bits.right < 105


BROKEN = {
    "gaussian at silo": replace(SUBJECTS["gaussian at silo"], mechanism=GaussianAtSilo(1.0, STRONG / 2)),
    "gaussian at aggregator": replace(
        SUBJECTS["gaussian at aggregator"], mechanism=GaussianAtAggregator(None, 1.0, STRONG / 2)
    ),
    "skellam counts": counts(0.5),
}


@pytest.mark.parametrize("name", BROKEN)
def test_half_the_noise_is_found_by_guesses_alone(name: str) -> None:
    """At 600 trials 94 % of the guesses are right instead of 80 %, and 525 mean broken: missed once in 7e9 audits."""
    found = audit_release(BROKEN[name], part=name, trials=600)
    assert found.guesses.p_value < ALPHA
    assert found.noise is not None
    assert found.noise.share < 0.7


def test_noise_that_is_a_tenth_too_small_is_found_by_its_size() -> None:
    """300 totals of 24 entries: the deviation is known to 0.9 %."""
    short = replace(SUBJECTS["gaussian at silo"], mechanism=GaussianAtSilo(1.0, 0.9 * STRONG))
    assert audit_release(short, part="short", trials=300).verdict == "broken"


def test_a_record_that_moves_more_than_is_booked_is_found() -> None:
    """A unit that moves counts by twice what the event says has 95 % of its guesses right instead of 80 %: 441 of 500 mean broken, missed once in 1e10."""
    wide = replace(SUBJECTS["gaussian at silo"], move=2 * SUBJECTS["gaussian at silo"].move)
    assert audit_release(wide, part="wide", trials=500).verdict == "broken"


@dataclass(frozen=True)
class FloatNoise(GaussianAtAggregator):
    """Noise that is added to the total in floating point, as large as it should be."""

    def decode(self, total: Sum, session: Session, randomness: Randomness) -> Sum:
        noise = randomness.normals(session.domain.length).astype(np.float64)
        exact: NDArray[np.float64] = np.asarray(total.total, dtype=np.float64)
        return Sum(exact + self.deviation(DOMAIN, 1) * noise, total.contributors, total.error_bound)


def test_the_low_bits_of_noise_in_floating_point_give_a_record_away() -> None:
    """Every guess is right: the control without which the low-bit attacker's failures would mean nothing."""
    mechanism = FloatNoise(None, 1.0, 8.0)
    found = audit_release(subject(mechanism), part="float", trials=100)
    by_low_bits = next(count for count in found.guesses.counts if count.attacker == LOW_BITS)
    assert by_low_bits.right == by_low_bits.guesses == 100
    assert found.verdict == "broken"


def test_a_release_without_a_size_of_noise_proves_what_any_release_would() -> None:
    bits = SUBJECTS["bits"]
    assert bits.noise_size is None
    assert 0 < bits.proven(0.8) < bits.proven(0.9)
    assert SUBJECTS["gaussian at silo"].proven(0.5) == 0
    assert isinstance(SUBJECTS["gaussian at silo"].event, GaussianRelease)
