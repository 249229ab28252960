"""Whole runs whose sums are noised by each mechanism: what leaves is clipped, noised and paid for, and nothing else."""

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from siloseal.aggregator import dispatcher as dispatcher
from siloseal.federation.job.job import Job
from siloseal.federation.job.planning import plan_silo
from siloseal.federation.job.releases import Release
from siloseal.federation.job.sections.data import Digits
from siloseal.federation.privacy.mechanisms.clipping import QuantileRule
from siloseal.federation.randomness import SecureRandomness
from siloseal.federation.run_events.stream import unheard
from siloseal.federation.sums.driving import drive
from siloseal.federation.sums.secure_sum import Sum
from siloseal.federation.transport.engine import LocalEngine
from siloseal.models.building import vector_lengths
from siloseal.runs import simulation
from siloseal.runs.simulation import deal, federate, open_silos
from siloseal.silo.data.loading import load
from siloseal.silo.ledger import Ledger, open_ledger
from siloseal.silo.state import Checkpoint
from siloseal.silo.training.work import SiloTraining

SECAGG = {"kind": "secagg"}
SHORT = {
    "kind": "two_phase",
    "batch": 48,
    "local_steps": 3,
    "tuning_rounds": 2,
    "tuning_steps": 2,
    "tuning_sum": SECAGG,
}
SILO_LEVEL = {"kind": "silo_level", "epsilon": 12, "delta": 1e-4, "clip_norm": 0.5}
QUANTILE = {"kind": "quantile", "quantile": 0.5, "learning_rate": 0.5}

UPDATES: dict[str, dict[str, Any]] = {
    **{kind: {"kind": kind} for kind in ("ddg", "skellam", "binomial", "pbm", "gaussian_local", "gaussian_central")},
    "pbm_kashin": {"kind": "pbm_kashin"},
    "ddg, few bits": {"kind": "ddg", "bits": 14},
    "skellam, quantile": {"kind": "skellam", "clipping": QUANTILE},
    "pbm, quantile": {"kind": "pbm", "clipping": QUANTILE},
    "gaussian_central, quantile": {"kind": "gaussian_central", "clipping": QUANTILE},
    "gaussian_local, window": {"kind": "gaussian_local", "clipping": {"kind": "window", "factor": 2.0}},
}

Ended = list[tuple[Sum, dict[str, np.ndarray], Release, Checkpoint]]


@pytest.fixture
def ended(monkeypatch: pytest.MonkeyPatch) -> Ended:
    """Every sum of a run: the total, what the silos put into it before noise, what it should be, where a silo stood."""
    given, sums, vector = dict[str, tuple[Release, Checkpoint, np.ndarray]](), list[Any](), SiloTraining.vector

    def remember(self: SiloTraining, at: Checkpoint) -> np.ndarray:
        given[self.silo] = self.release(at), at, vector(self, at)
        return given[self.silo][2]

    def watch(*arguments: Any) -> Sum:
        result = drive(*arguments)
        release, at, _ = given[result.contributors[0]]
        sums.append((result, {silo: values for silo, (_, _, values) in given.items()}, release, at))
        return result

    monkeypatch.setattr(SiloTraining, "vector", remember)
    monkeypatch.setattr(dispatcher, "drive", watch)
    return sums


def run(job: Job, folder: Path) -> np.ndarray:
    parts = deal(job, load(Digits())[0])
    with open_silos(job, parts, folder, lambda _: SecureRandomness(), lambda *_: None) as silos:
        return federate(job, silos, folder, unheard, workers=1).result.model


def ledger(job: Job, folder: Path, silo: str) -> Ledger:
    opened = open_ledger(job, silo, folder / "silos" / silo, worked_before=True)
    assert opened is not None
    return opened


def silo_level(small_job: Callable[..., Job], mechanism: dict[str, Any]) -> Job:
    return small_job(privacy=SILO_LEVEL, mechanism=mechanism, secure_sum=SECAGG, schedule=SHORT)


BY_HAND = ("skellam", "binomial", "pbm_kashin", "ddg, few bits", "pbm, quantile", "gaussian_central, quantile")


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * (name in BY_HAND)) for name in UPDATES])
def test_updates_are_clipped_noised_and_paid_for(
    small_job: Callable[..., Job], tmp_path: Path, ended: Ended, name: str
) -> None:
    """False alarms below 1e-6: the mean square of 1,500 entries or more is within 25 % of its expectation."""
    job = silo_level(small_job, UPDATES[name])
    model = run(job, tmp_path)
    assert len(ended) == 3
    for summed, given, release, _ in ended:
        assert release.mechanism is not None
        deviation = release.mechanism.deviation(release.domain, len(summed.contributors))
        assert max(np.linalg.norm(vector) for vector in given.values()) <= release.domain.bound * (1 + 1e-9)
        noise = summed.total - sum(given.values())
        assert noise.size > 1500
        assert np.mean(noise**2) == pytest.approx(deviation**2, rel=0.25)
    last, _, _, at = ended[-1]
    assert at.start_model is not None
    mean = at.start_model.numpy() + last.total[: model.size] / 3
    np.testing.assert_allclose(model, mean, rtol=1e-5, atol=1e-6)
    for silo in job.silos.names:
        with ledger(job, tmp_path, silo) as paid:
            assert [charge.phase for charge in paid.charges] == ["phase_1", "phase_2", "phase_2"]
            assert 11.5 < paid.epsilon <= 12 or UPDATES[name]["kind"] == "binomial"
            assert paid.epsilon <= 12
            assert "one silo's whole contribution (zero-out)" in paid.statement()


def test_the_clip_norm_moves_by_what_was_released(small_job: Callable[..., Job], tmp_path: Path, ended: Ended) -> None:
    run(silo_level(small_job, UPDATES["skellam, quantile"]), tmp_path)
    norms = [at.clip_norm for *_, at in ended]
    assert norms[0] == SILO_LEVEL["clip_norm"]
    for (summed, *_), (before, after) in zip(ended, pairwise(norms), strict=False):
        rule = QuantileRule(0.5, 0.5, 0.05)
        assert after == pytest.approx(rule.following(before, float(summed.total[-1]), 3), rel=1e-6)


def test_noise_that_is_split_over_the_silos_leaves_less_on_the_kernel_mean(
    small_job: Callable[..., Job], tmp_path: Path, ended: Ended
) -> None:
    """Three silos that noise alone leave three times the variance; two that are honest, of three, leave 3/2 of it.

    Integer noise takes a sixth more variance, because it is counted by its Renyi curve. Measured variances of 1,000 entries are
    five deviations within a quarter.
    """
    start = {"kind": "kernel_mean", "epsilon": 4, "frequencies": 50, "length_scale": 1.0, "fit_steps": 2}
    schedule = {"kind": "two_phase", "batch": 48, "local_steps": 3, "tuning_rounds": 0}
    variances = dict[str, float]()
    for kind in ("gaussian_local", "skellam"):
        job = small_job(warm_start=start, mechanism={"kind": kind}, secure_sum=SECAGG, schedule=schedule)
        del ended[:]
        run(job, tmp_path / kind)
        summed, given, release, _ = ended[0]  # the second sum is not noised
        assert release.mechanism is not None
        deviation = release.mechanism.deviation(release.domain, 3)
        variances[kind] = deviation**2
        assert float(np.mean((summed.total - sum(given.values())) ** 2)) == pytest.approx(deviation**2, rel=0.25)
        with ledger(job, tmp_path / kind, "north") as paid:
            assert [charge.phase for charge in paid.charges] == ["warm_start", "phase_1"]
            assert paid.epsilon <= 10
    assert variances["skellam"] == pytest.approx(7 / 6 * variances["gaussian_local"] / 2, rel=0.02)


@pytest.mark.parametrize("kind", ["ddg", "gaussian_central"])
def test_a_plan_counts_what_the_ledger_will(small_job: Callable[..., Job], tmp_path: Path, kind: str) -> None:
    job = silo_level(small_job, {"kind": kind})
    parts = deal(job, load(Digits())[0])
    plan = plan_silo(job, "north", len(parts["north"]), vector_lengths(job, (1, 8, 8), 10))
    run(job, tmp_path)
    with ledger(job, tmp_path, "north") as paid:
        assert [charge.event for charge in paid.charges] == [
            event for events in plan.events().values() for event in events
        ]


class Killed(BaseException):
    """No error that anything handles."""


def test_an_aggregator_that_adds_the_noise_adds_the_same_after_a_crash(
    small_job: Callable[..., Job], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two totals with different noise would average it away; so a replayed sum must give the model that was sent."""
    sent = list[bytes]()

    class Dying(LocalEngine):
        def ask(self, requests: Any, **options: Any) -> None:
            super().ask(requests, **options)
            sent.append(next(iter(requests.values())))
            if len(sent) == 10:  # enrol, begin, nonces, train, five rounds of SecAgg, training on the noised average
                raise Killed

    monkeypatch.setattr(simulation, "LocalEngine", Dying)
    job = silo_level(small_job, {"kind": "gaussian_central"})
    with pytest.raises(Killed):
        run(job, tmp_path)
    began = sent[9]
    run(job, tmp_path)  # the journal refuses a request that differs from the one it knows
    assert began not in sent[10:], "it was replayed, and not asked again"
