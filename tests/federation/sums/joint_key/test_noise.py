"""The measured noise of encrypted sums against what the parameters derive, and what flooding leaves of it."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from siloseal.federation.randomness import SecureRandomness
from siloseal.federation.sums.joint_key import keys, parameters
from siloseal.federation.sums.joint_key.encryption import encrypt
from siloseal.federation.sums.joint_key.keys import SecretShare
from siloseal.federation.sums.joint_key.moduli import PRIMES, ring_of
from siloseal.federation.sums.joint_key.parameters import Parameters, derive
from siloseal.federation.sums.joint_key.sampling import expand_ternary
from siloseal.federation.sums.joint_key.wire import from_bytes
from siloseal.federation.sums.rlwe.polynomial_ring import Ring
from siloseal.federation.sums.rlwe.uniform import expand_uniform
from siloseal.federation.sums.secure_sum import Sum
from siloseal.federation.sums.session import RealDomain

from .conftest import Parties


def noise_of_a_sum(sizes: Parameters, monkeypatch: pytest.MonkeyPatch) -> np.ndarray:
    """The coefficients of c0 - c1 s for a sum of encrypted zeros, before the division that would round them away."""
    ring, randomness = ring_of(sizes.degree), SecureRandomness()
    multiply_add = Ring.multiply_add

    def undivided(self: Ring, factors: Any, by: Any, plus: Any, *, divide: bool = False) -> Any:
        return multiply_add(self, factors, by, plus, divide=False)

    common = expand_uniform(ring, randomness.bits(32))
    shares = [SecretShare.draw(randomness) for _ in range(sizes.silos)]
    joint_key = np.zeros((sizes.keys, len(ring.primes), ring.degree), dtype=np.uint64)
    for share in shares:
        ring.add(joint_key, share.public_share(sizes, common, randomness))
    total = {"c0": np.zeros((sizes.messages, len(ring.primes), ring.degree), dtype=np.uint64)}
    total["c1"] = np.zeros((sizes.groups, len(ring.primes), ring.degree), dtype=np.uint64)
    with monkeypatch.context() as patch:
        patch.setattr(Ring, "multiply_add", undivided)
        for _ in range(sizes.silos):
            upload = encrypt(sizes, joint_key, common, np.zeros(sizes.length, dtype=np.int64), randomness)
            for half, polynomials in total.items():
                ring.add(polynomials, from_bytes(ring, getattr(upload, half)))
        for share in shares:
            for message in range(sizes.messages):
                group, key = divmod(message, sizes.keys)
                label = f"secret polynomial {key}".encode()
                minus = ring.evaluate(ring.small(-expand_ternary(share.seed, label, ring.degree)[None]))[0]
                product = multiply_add(ring, total["c1"][group][None], minus, None)
                ring.add(total["c0"][message], product[0])
    # Noise is far below any prime, so its residue modulo the first, centred, is the noise itself.
    ones = np.ones(len(ring.primes) - 1, dtype=np.uint64)
    residues = ring.interpolate(total["c0"][:, :-1], ones, divided=True)[:, 0].astype(object)
    prime = int(ring.primes[0])
    return np.array(np.where(residues > prime // 2, residues - prime, residues), dtype=np.float64).reshape(-1)


@pytest.mark.parametrize(("silos", "length", "runs"), [(2, 60_000, 5), (6, 60_000, 3), (12, 1_000, 3)])
def test_measured_noise_is_below_its_bound_and_not_far_below(
    silos: int, length: int, runs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """False alarms: 2^-40 for the bound. The deviation is measured over at least 24,576 coefficients to 5 %."""
    sizes = derive(RealDomain(length, 1.0), silos, precision_bits=16, distance_bits=40)
    noise = np.stack([noise_of_a_sum(sizes, monkeypatch) for _ in range(runs)])
    assert noise.size == runs * sizes.coefficients
    assert np.abs(noise).max() < sizes.noise_bound < 2**6 * np.abs(noise).max()
    assert noise.std() == pytest.approx(sizes.noise_deviation, rel=0.05)
    assert abs(noise.mean()) < 6 * sizes.noise_deviation / math.sqrt(noise.size)


def test_noise_grows_with_the_silos_twice() -> None:
    few, many = (
        derive(RealDomain(1000, 1.0), silos, precision_bits=16, distance_bits=40).noise_deviation for silos in (3, 30)
    )
    assert many / few == pytest.approx(10, rel=1e-3)


def test_flooding_is_as_wide_as_the_statistical_distance_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Over all coefficients together; what is measured as noise stays that far below the flooding."""
    sizes = derive(RealDomain(60_000, 1.0), 4, precision_bits=16, distance_bits=40)
    noise = noise_of_a_sum(sizes, monkeypatch)
    assert np.abs(noise).sum() / 2.0 ** (sizes.flooding_bits + 1) < sizes.statistical_distance <= 2**-40


def test_an_opening_without_the_flooding_would_show_the_noise(
    parties: Parties, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So the flooding is really added: what all silos open together reaches half of what it should, at least."""
    opened = list[np.ndarray]()
    draw = keys.draw_flooding

    def keep(sizes: Parameters, randomness: Any, count: int) -> Any:
        opened.append(draw(sizes, randomness, count))
        return opened[-1]

    monkeypatch.setattr(keys, "draw_flooding", keep)
    assert isinstance(parties.run(), Sum)
    sizes = parties.scheme.parameters(parties.session.domain, 4)
    assert len(opened) == 4
    first, second = (int(prime) for prime in ring_of(sizes.degree).primes[:2])
    for flooding in opened:
        low, high = (flooding[0, row].astype(object) for row in (0, 1))
        value = (low + first * ((high - low) * pow(first, -1, second) % second)) % (first * second)
        centred = np.where(value > first * second // 2, value - first * second, value)
        assert 2 ** (sizes.flooding_bits - 1) < max(abs(int(entry)) for entry in centred) <= 2**sizes.flooding_bits


@pytest.mark.parametrize("degree", sorted(PRIMES))
@pytest.mark.parametrize("worst", [-1, 1])
def test_the_floor_swallows_the_worst_flooding_noise_and_rounding(
    degree: int, worst: int, parties: Parties, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All silos flood with the extreme value in every coefficient, and the sum still comes out exactly."""
    monkeypatch.setattr(parameters, "PRIMES", {degree: PRIMES[degree]})

    def extreme(sizes: Parameters, randomness: Any, count: int) -> Any:
        ring = ring_of(sizes.degree)
        value = (worst * 2**sizes.flooding_bits) if worst < 0 else 2**sizes.flooding_bits - 1
        row = np.array([value % int(prime) for prime in ring.primes], dtype=np.uint64)
        return np.repeat(np.repeat(row[None, :, None], count, axis=0), ring.degree, axis=2)

    monkeypatch.setattr(keys, "draw_flooding", extreme)
    result = parties.run()
    assert parties.scheme.parameters(parties.session.domain, 4).degree == degree
    assert np.abs(result.total - parties.total(*parties.roster)).max() <= result.error_bound


def test_the_error_stays_within_its_bound_and_the_bound_is_half_a_step_each(parties_of: Callable[..., Parties]) -> None:
    parties = parties_of(6)
    result = parties.run()
    error = np.abs(result.total - parties.total(*parties.roster)).max()
    assert result.error_bound == pytest.approx(6 * 4.0 * 2.0**-21, rel=2e-6)
    assert result.error_bound / 2**6 < error <= result.error_bound
