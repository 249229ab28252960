"""What the three kinds of noise cost: recorded epsilons, and what an event holds of a move."""

import math

import numpy as np
import pytest

from siloseal.federation.errors import UncountableEvent
from siloseal.federation.privacy.accounting import epsilon_of
from siloseal.federation.privacy.curves import discrete_gaussian_curve
from siloseal.federation.privacy.events import BinomialRelease, DiscreteGaussianRelease, SkellamRelease
from siloseal.federation.privacy.mechanisms.integer_noise import Binomial, DiscreteGaussian, Move, Skellam
from siloseal.federation.privacy.mechanisms.rounding import rounded_norm

from .recorded import Row, recorded_orders, rows

SETTINGS = "abc"


def move_of(inputs: dict[str, float]) -> Move:
    return Move.within(rounded_norm(inputs["l2_clip"] / inputs["gamma"], int(inputs["dim"])), int(inputs["dim"]))


@pytest.mark.parametrize("setting", SETTINGS)
def test_the_epsilon_of_discrete_gaussian_noise_equals_the_recorded_one(setting: str) -> None:
    (row,) = rows(f"ddg.epsilon.{setting}")
    inputs, expected, rel = row["inputs"], row["expected"], row["tolerance"]["rel"]
    move, variance = move_of(inputs), (inputs["sigma_local"] / inputs["gamma"]) ** 2
    event = DiscreteGaussianRelease(inputs["n"], variance, move.l2, move.l1, move.coordinates)
    with recorded_orders():
        epsilon = epsilon_of([event] * inputs["steps"], inputs["delta"])
    assert epsilon == pytest.approx(expected["epsilon"], rel=rel)
    whole = discrete_gaussian_curve(
        [2, 8], honest=inputs["n"], local_variance=variance, l2=move.l2, l1=move.l1, coordinates=move.coordinates
    )
    assert whole[0] == pytest.approx(expected["rdp_alpha2_per_step_unsampled"], rel=rel)
    assert whole[1] == pytest.approx(expected["rdp_alpha8_per_step_unsampled"], rel=rel)


@pytest.mark.parametrize("setting", SETTINGS)
def test_the_epsilon_of_skellam_noise_equals_the_recorded_one(setting: str) -> None:
    (row,) = rows(f"skellam.epsilon.{setting}")
    inputs = row["inputs"]
    move, variance = move_of(inputs), (inputs["sigma_local"] / inputs["gamma"]) ** 2
    event = SkellamRelease(inputs["n"] * variance, move.l2, move.l1)
    with recorded_orders():
        epsilon = epsilon_of([event] * inputs["steps"], inputs["delta"])
    assert epsilon == pytest.approx(row["expected"]["epsilon"], rel=row["tolerance"]["rel"])


@pytest.mark.parametrize("row", rows("zcdp_to_epsilon_CKS"), ids=lambda row: str(row["inputs"]))
def test_one_discrete_gaussian_costs_what_its_concentrated_privacy_converts_to(row: Row) -> None:
    """Its curve is rho alpha. The least over finitely many orders lies a little above the least over all."""
    event = DiscreteGaussianRelease(1, 50.0, math.sqrt(2 * row["inputs"]["rho"] * 50.0), 20.0, 100)
    epsilon = epsilon_of([event], row["inputs"]["delta"])
    assert row["expected"] * (1 - 1e-9) <= epsilon <= row["expected"] * 1.001


@pytest.mark.parametrize(
    ("l2", "coordinates", "l1"), [(3.0, 4, 6.0), (3.0, 100, 9.0), (0.5, 100, 0.25), (10.0, 100, 100.0)]
)
def test_a_move_of_integers_has_a_bounded_sum(l2: float, coordinates: int, l1: float) -> None:
    move = Move.within(l2, coordinates)
    assert (move.l2, move.l1, move.linf, move.coordinates) == (l2, l1, l2, coordinates)


def test_no_integer_vector_breaks_the_bounds_of_its_move() -> None:
    drawn = np.random.default_rng(1)
    for _ in range(500):
        size = int(drawn.integers(1, 30))
        vector = np.rint(drawn.normal(scale=drawn.choice([0.3, 1, 20]), size=size))
        move = Move.within(float(np.linalg.norm(vector)), size)
        assert np.abs(vector).sum() <= move.l1 * (1 + 1e-12)
        assert np.abs(vector).max() <= move.linf


def test_each_kind_counts_the_noise_of_the_honest_only() -> None:
    move = Move.within(20.0, 64)
    assert DiscreteGaussian(9.0).event(move, 7) == DiscreteGaussianRelease(7, 9.0, move.l2, move.l1, 64)
    assert Skellam(9.0).event(move, 7) == SkellamRelease(63.0, move.l2, move.l1)
    assert Binomial(2000, 1e-6).event(move, 7) == BinomialRelease(14_000, move.l2, move.l1, move.linf, 64, 1e-6)


@pytest.mark.parametrize(
    "kind", [DiscreteGaussian(900.0), Skellam(900.0), Binomial(3600, 1e-6)], ids=lambda kind: kind.name
)
def test_fewer_honest_silos_cost_more(kind: DiscreteGaussian | Skellam | Binomial) -> None:
    move = Move.within(20.0, 64)
    epsilons = [epsilon_of([kind.event(move, honest)], 1e-5) for honest in (2, 3, 10, 100)]
    assert epsilons == sorted(epsilons, reverse=True)
    assert kind.variance == 900.0


def test_too_little_noise_has_no_event() -> None:
    move = Move.within(20.0, 64)
    with pytest.raises(UncountableEvent):
        DiscreteGaussian(0.49).event(move, 100)
    with pytest.raises(UncountableEvent):
        Binomial(200, 1e-6).event(move, 3)


def test_kinds_and_parameters_have_names_of_their_own() -> None:
    parts = [
        DiscreteGaussian(4.0),
        DiscreteGaussian(4.5),
        Skellam(4.0),
        Binomial(16, 1e-6),
        Binomial(16, 1e-7),
        Binomial(18, 1e-6),
    ]
    assert len({part.name for part in parts}) == len(parts)
