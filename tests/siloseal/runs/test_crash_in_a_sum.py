"""A run whose sums hide, which dies at any of their messages and goes on with every contribution counted once."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from siloseal.aggregator import dispatcher as dispatcher
from siloseal.federation.job.job import Job
from siloseal.federation.job.sections.data import Digits
from siloseal.federation.privacy.mechanisms.gaussian import GaussianAtSilo
from siloseal.federation.randomness import SecureRandomness
from siloseal.federation.run_events.stream import unheard
from siloseal.federation.sums.driving import drive
from siloseal.federation.sums.secure_sum import Sum
from siloseal.federation.sums.session import Session
from siloseal.federation.transport.engine import Accept, LocalEngine
from siloseal.runs.simulation import deal, federate, open_silos
from siloseal.silo.data.loading import load
from siloseal.silo.state import Checkpoint, SiloState
from siloseal.silo.training.work import SiloTraining

# Requests of the job below: enrol, begin, nonces, kernel mean, the rounds of a sum, train, the rounds of a sum, finish.
FIRST_SUM = 5
ROUNDS = {"ckks": 5, "secagg": 5, "additive": 3, "ring": 5}
"""On the ring, one silo after the other."""


def every_round(kind: str) -> list[tuple[str, int]]:
    """Both sums."""
    rounds = ROUNDS[kind]
    return [(kind, first + number) for first in (FIRST_SUM, FIRST_SUM + rounds + 1) for number in range(rounds)]


CASES = [
    *every_round("ckks"),
    *[("secagg", request) for request in (5, 6, 7, 8, 9, 13)],
    *[("additive", request) for request in (6, 11)],
    *[("ring", request) for request in (7, 15)],
]
OTHERS = [case for kind in ROUNDS for case in every_round(kind) if case not in CASES]


class Killed(BaseException):
    """No error that anything handles."""


class DyingEngine(LocalEngine):
    """Dies at one request: when some silos have answered it, or when all have and nobody has noted it yet."""

    dies_at, answered_first = 0, 0
    asked = 0

    def ask(
        self, requests: Mapping[str, bytes], *, deadline_seconds: float, fewest: int, largest: int, accept: Accept
    ) -> None:
        DyingEngine.asked += 1
        if self.dies_at == DyingEngine.asked:
            first = dict(list(requests.items())[: self.answered_first])
            super().ask(first, deadline_seconds=0, fewest=0, largest=largest, accept=lambda *_: None)
            raise Killed
        super().ask(requests, deadline_seconds=deadline_seconds, fewest=fewest, largest=largest, accept=accept)


@pytest.fixture
def sums(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Sum, dict[str, np.ndarray]]]:
    """Every sum that a run ends with, and what the silos put into it last."""
    given, ended = dict[str, np.ndarray](), list[tuple[Sum, dict[str, np.ndarray]]]()
    vector = SiloTraining.vector

    def remember(self: SiloTraining, at: Checkpoint) -> np.ndarray:
        given[self.silo] = vector(self, at)
        return given[self.silo]

    def without_noise(self: GaussianAtSilo, values: np.ndarray, session: Session, randomness: Any) -> np.ndarray:
        return values  # so that sums can be compared; the ledger is charged all the same

    def watch(*arguments: Any) -> Sum:
        result = drive(*arguments)
        ended.append((result, dict(given)))
        return result

    monkeypatch.setattr(SiloTraining, "vector", remember)
    monkeypatch.setattr(GaussianAtSilo, "encode", without_noise)
    monkeypatch.setattr(dispatcher, "drive", watch)
    monkeypatch.setattr("siloseal.runs.simulation.LocalEngine", DyingEngine)
    return ended


def federated(job: Job, folder: Path, *, dies_at: int, answered_first: int) -> None:
    DyingEngine.dies_at, DyingEngine.answered_first, DyingEngine.asked = dies_at, answered_first, 0
    parts = deal(job, load(Digits())[0])
    with open_silos(job, parts, folder, lambda _: SecureRandomness(), lambda *_: None) as silos:
        federate(job, silos, folder, unheard, workers=1)


@pytest.mark.parametrize(
    ("kind", "dies_at"), [*CASES, *(pytest.param(*case, marks=pytest.mark.slow) for case in OTHERS)]
)
def test_a_run_that_dies_in_a_sum_goes_on_and_counts_everyone_once(
    small_job: Callable[..., Job],
    tmp_path: Path,
    sums: list[tuple[Sum, dict[str, np.ndarray]]],
    kind: str,
    dies_at: int,
) -> None:
    job = small_job(
        secure_sum={"kind": kind},
        warm_start={"kind": "kernel_mean", "epsilon": 4, "frequencies": 20, "length_scale": 1.0, "fit_steps": 2},
        schedule={"kind": "two_phase", "batch": 48, "local_steps": 2, "tuning_rounds": 0},
    )
    with pytest.raises(Killed):
        federated(job, tmp_path, dies_at=dies_at, answered_first=3 if dies_at % 2 else 1)
    kept = {name: SiloState(tmp_path / "silos" / name).load_reply() for name in job.silos.names}
    assert any(last.side for last in kept.values()), "it died in a sum"
    federated(job, tmp_path, dies_at=0, answered_first=0)
    assert all(result.contributors == tuple(sorted(job.silos.names)) for result, _ in sums)
    compared = [
        np.abs(result.total - sum(given.values())).max() / result.error_bound
        for result, given in sums
        if len(given) == 3 and result.total.size == given["north"].size
    ]
    in_the_first = dies_at < FIRST_SUM + ROUNDS[kind]
    assert len(compared) >= (2 if in_the_first else 1), "a sum that was replayed whole has nothing to compare"
    assert max(compared) <= 1
    for name in job.silos.names:
        ledger = (tmp_path / "silos" / name / "ledger.jsonl").read_text()
        assert ledger.count("warm_start") == 1, "one release of the kernel mean, one charge"
        last = SiloState(tmp_path / "silos" / name).load_reply()
        assert not last.side, "nothing of a sum stays on the disk when it is over"
