"""From epsilon and bits to a mechanism: within epsilon, with no more noise than it takes, or refused with advice."""

import math
import re
from dataclasses import replace
from typing import get_args

import pytest

from siloseal.federation.errors import ConfigError
from siloseal.federation.privacy.accounting import Accountant, epsilon_of
from siloseal.federation.privacy.events import Event, GaussianRelease
from siloseal.federation.privacy.mechanisms import lattice_calibration
from siloseal.federation.privacy.mechanisms.calibration import (
    Demand,
    gaussian_multiplier,
    renyi_gaussian_multiplier,
)
from siloseal.federation.privacy.mechanisms.integer_noise import Binomial, DiscreteGaussian, IntegerNoise, Skellam
from siloseal.federation.privacy.mechanisms.lattice import LatticeNoise
from siloseal.federation.privacy.mechanisms.lattice_calibration import RANGE_DEVIATIONS, LatticeKind, calibrated_lattice
from siloseal.federation.sums.session import RealDomain

from .recorded import Row, recorded_orders, rows

KINDS: tuple[LatticeKind, ...] = get_args(LatticeKind)

DEMANDS = [
    Demand(3.0, 1e-5, 1, 100, 80, 1000),
    Demand(2.0, 1e-5, 20, 5, 3, 10_000),
    Demand(8.0, 1e-5, 100, 10, 8, 100_000),
    Demand(0.7, 1e-6, 3, 4, 1, 37),
]


def events(mechanism: LatticeNoise, demand: Demand) -> list[Event]:
    return [mechanism.event(RealDomain(demand.length, 1.0), demand.honest)] * demand.releases


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("demand", DEMANDS, ids=str)
@pytest.mark.parametrize("whole", [True, False], ids=["whole", "part"])
def test_lattices_stay_within_epsilon_and_waste_no_noise(kind: LatticeKind, demand: Demand, whole: bool) -> None:
    mechanism = calibrated_lattice(kind, demand, bits=26, sensitivity=2.5, whole=whole)
    assert (mechanism.sensitivity, mechanism.whole, mechanism.bits) == (2.5, whole, 26)
    assert epsilon_of(events(mechanism, demand), demand.delta) <= demand.epsilon
    one_by_one = Accountant()
    for event in events(mechanism, demand):
        one_by_one.add(event)
    assert one_by_one.epsilon(demand.delta) <= demand.epsilon  # as a ledger counts
    less = replace(mechanism, noise=quieter(mechanism.noise))
    assert epsilon_of(events(less, demand), demand.delta) > demand.epsilon


def quieter(noise: IntegerNoise) -> IntegerNoise:
    """0.998 of the variance: a thousandth less noise."""
    match noise:
        case DiscreteGaussian(variance=variance):
            return DiscreteGaussian(0.998 * variance)
        case Skellam(variance=variance):
            return Skellam(0.998 * variance)
        case Binomial(trials=trials, delta=delta):
            return Binomial(math.floor(0.998 * trials / 2) * 2, delta)
    raise AssertionError(noise)


@pytest.mark.parametrize("kind", KINDS)
def test_totals_fit_the_bits_and_a_finer_grid_would_not(kind: LatticeKind) -> None:
    demand, bits = DEMANDS[0], 18
    mechanism = calibrated_lattice(kind, demand, bits=bits, sensitivity=1.0)
    signal = demand.silos / (mechanism.step * math.sqrt(demand.length))
    spread = math.sqrt(signal**2 + demand.silos * (mechanism.noise.variance + 0.25))
    assert 2 * RANGE_DEVIATIONS * spread == pytest.approx(2**bits, rel=1e-5)


@pytest.mark.parametrize("kind", ["ddg", "skellam"])
def test_the_choice_of_parameters_equals_the_recorded_one(kind: LatticeKind, monkeypatch: pytest.MonkeyPatch) -> None:
    for row in rows(f"{kind}.parameter_choice"):
        inputs, expected, rel = row["inputs"], row["expected"], row["tolerance"]["rel"]
        demand = Demand(inputs["epsilon"], inputs["delta"], inputs["steps"], inputs["n"], inputs["n"], inputs["dim"])
        monkeypatch.setattr(lattice_calibration, "RANGE_DEVIATIONS", inputs["k"])
        with recorded_orders():
            mechanism = calibrated_lattice(kind, demand, bits=inputs["bits"], sensitivity=inputs["l2_clip"])
        assert mechanism.step == pytest.approx(expected["gamma"], rel=rel)
        assert mechanism.step * math.sqrt(mechanism.noise.variance) == pytest.approx(expected["sigma_local"], rel=rel)


def scale_factor(sigma: float, clip: float, bits: int, silos: int, length: int, deviations: float) -> float:
    """Steps in a unit, where the noise is given in real units."""
    spread = math.sqrt(clip**2 * silos**2 / length + silos * sigma**2)
    return math.sqrt(4**bits - silos * deviations**2) / (2 * deviations * spread)


@pytest.mark.parametrize("row", rows("ddg.heuristic_scale_factor"), ids=lambda row: str(row["inputs"]))
def test_the_recorded_scale_factor_is_the_formulas(row: Row) -> None:
    inputs = row["inputs"]
    names = ("sigma_local", "l2_clip", "bits", "n", "dim", "k")
    assert scale_factor(*(inputs[name] for name in names)) == pytest.approx(
        row["expected"], rel=row["tolerance"]["rel"]
    )


@pytest.mark.parametrize("kind", ["ddg", "skellam"])
def test_the_step_is_that_of_the_recorded_scale_factors_formula(kind: LatticeKind) -> None:
    demand = Demand(3.0, 1e-5, 1, 100, 100, 1024)
    mechanism = calibrated_lattice(kind, demand, bits=14, sensitivity=1.0)
    sigma = mechanism.step * math.sqrt(mechanism.noise.variance)
    assert 1 / mechanism.step == pytest.approx(scale_factor(sigma, 1.0, 14, 100, 1024, RANGE_DEVIATIONS), rel=1e-5)


@pytest.mark.parametrize("kind", ["ddg", "skellam"])
def test_with_many_bits_the_noise_is_nearly_that_of_a_continuous_gaussian(kind: LatticeKind) -> None:
    demand = DEMANDS[0]
    mechanism = calibrated_lattice(kind, demand, bits=20, sensitivity=1.0)
    deviation = mechanism.step * math.sqrt(demand.honest * mechanism.noise.variance)
    assert deviation == pytest.approx(renyi_gaussian_multiplier(demand), rel=2e-3)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("whole", [True, False], ids=["whole", "part"])
def test_too_few_bits_are_refused_with_the_number_that_works(kind: LatticeKind, whole: bool) -> None:
    demand = Demand(3.0, 1e-5, 2, 20, 15, 1000)
    with pytest.raises(ConfigError, match="with 4 bits") as caught:
        calibrated_lattice(kind, demand, bits=4, sensitivity=1.0, whole=whole)
    found = re.search(r"with 4 bits .* (\d+) bits", str(caught.value))
    assert found is not None
    enough = int(found[1])
    calibrated_lattice(kind, demand, bits=enough, sensitivity=1.0, whole=whole)
    if enough > 5:
        with pytest.raises(ConfigError, match=rf"with {enough - 1} bits .* {enough} bits"):
            calibrated_lattice(kind, demand, bits=enough - 1, sensitivity=1.0, whole=whole)


@pytest.mark.parametrize("kind", KINDS)
def test_without_bits_it_takes_as_many_as_are_worth_it(kind: LatticeKind) -> None:
    demand = Demand(3.0, 1e-5, 2, 20, 15, 1000)
    chosen = calibrated_lattice(kind, demand, bits=None, sensitivity=1.0)
    more = calibrated_lattice(kind, demand, bits=chosen.bits + 1, sensitivity=1.0)
    outer = RealDomain(1000, 1.0)
    assert chosen.deviation(outer, 20) <= 1.0101 * more.deviation(outer, 20)
    assert epsilon_of(events(chosen, demand), demand.delta) <= demand.epsilon


def test_a_sensitivity_scales_the_step_only() -> None:
    demand = DEMANDS[0]
    one, ten = (calibrated_lattice("skellam", demand, bits=18, sensitivity=norm) for norm in (1.0, 10.0))
    assert ten.step == pytest.approx(10 * one.step, rel=1e-12)
    assert ten.noise == one.noise


def test_a_longer_reach_takes_a_coarser_grid() -> None:
    near, far = (calibrated_lattice("ddg", DEMANDS[0], bits=18, sensitivity=1.0, reach=reach) for reach in (10.0, 1e4))
    assert far.step > near.step


@pytest.mark.parametrize(("silos", "honest"), [(5, 0), (5, -1), (3, 4)])
def test_noise_of_no_honest_silo_is_refused(silos: int, honest: int) -> None:
    with pytest.raises(ConfigError, match="honest"):
        Demand(1.0, 1e-5, 1, silos, honest, 10)


@pytest.mark.parametrize("demand", DEMANDS, ids=str)
def test_the_gaussian_multiplier_stays_within_epsilon_and_wastes_little(demand: Demand) -> None:
    noise = gaussian_multiplier(demand)
    assert epsilon_of([GaussianRelease(noise)] * demand.releases, demand.delta) <= demand.epsilon
    assert epsilon_of([GaussianRelease((1 - 1e-6) * noise)] * demand.releases, demand.delta) > demand.epsilon


def test_the_gaussian_multiplier_is_the_exact_one_and_renyi_accounting_asks_for_more() -> None:
    demand = Demand(4.0, 1e-5, 1, 3, 3, 100)
    assert gaussian_multiplier(demand) == pytest.approx(1.081, abs=5e-4)
    assert renyi_gaussian_multiplier(demand) == pytest.approx(1.158, abs=5e-4)
    assert gaussian_multiplier(replace(demand, releases=9)) == pytest.approx(3 * gaussian_multiplier(demand), rel=1e-6)


@pytest.mark.parametrize(
    "changes",
    [{"epsilon": 0.0}, {"epsilon": -1.0}, {"delta": 0.0}, {"delta": 1.0}, {"releases": 0}, {"length": 0}],
    ids=str,
)
def test_a_demand_that_nothing_can_meet_is_refused(changes: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match=r"^Demand"):
        replace(DEMANDS[0], **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize("sensitivity", [0.0, -1.0, math.inf, math.nan])
def test_a_sensitivity_that_is_no_length_is_refused(sensitivity: float) -> None:
    with pytest.raises(ConfigError, match=f"sensitivity of {sensitivity:g} "):
        calibrated_lattice("ddg", DEMANDS[0], bits=16, sensitivity=sensitivity)
