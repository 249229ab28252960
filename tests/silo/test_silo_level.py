"""A silo whose whole contribution is protected: paid for with every sum, and clipped to what everyone knows."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from siloseal.federation.errors import LedgerDamaged
from siloseal.federation.job.phases import Phase
from siloseal.federation.job.releases import Lengths, release_of
from siloseal.federation.privacy.events import GaussianRelease
from siloseal.federation.sums.envelope import wrap
from siloseal.federation.transport.wire import messages_pb2 as pb
from siloseal.federation.transport.wire.codec import decode, to_array
from siloseal.federation.transport.wire.errors_pb2 import ErrorCode
from tests.silo.conftest import ROSTER, Bench

SILO_LEVEL = {"kind": "silo_level", "epsilon": 8, "delta": 1e-4, "clip_norm": 0.5}
QUANTILE = {"kind": "gaussian_local", "clipping": {"kind": "quantile"}}


@pytest.fixture
def bench(bench_of: Callable[..., Bench]) -> Bench:
    return bench_of(privacy=SILO_LEVEL, mechanism={"kind": "gaussian_local"})


def noised_sum(bench: Bench, prepared: int, phase: str, **changes: Any) -> bytes:
    """The request that opens the sum over what request `prepared` trained."""
    release = release_of(bench.job, Lengths(0, bench.model.size), Phase(phase), int(phase == "phase_2"))
    session = replace(release.session(bench.run, bench.started_from), **changes)
    assert release.mechanism is not None
    inner = replace(session, domain=release.mechanism.domain(release.domain, 3))
    return bench.request(prepared + 1, sum=pb.Sum(session=session.to_wire(), message=wrap(inner, round=0, body=b"")))


def test_nothing_leaves_when_the_budget_is_spent(bench: Bench) -> None:
    bench.train(1)
    bench.silo.ledger.charge(GaussianRelease(0.62), phase="phase_1")
    reply = decode(pb.Reply, bench.silo.answer(noised_sum(bench, 1, "phase_1")))
    assert reply.refusal.code == ErrorCode.BUDGET_EXCEEDED


def test_training_itself_costs_nothing_and_adds_no_noise(bench: Bench) -> None:
    bench.train(1)
    assert bench.silo.ledger.charges == []
    assert bench.silo.work.plan.step_noise is None


@pytest.mark.parametrize(
    "changes",
    [
        {"quorum": 2},
        {"scheme": "plain"},
        {"scheme": "gaussian_at_silo(sensitivity=0.5, noise_multiplier=0.1) over plain"},
    ],
    ids=["fewer silos", "no noise", "less noise"],
)
def test_a_sum_with_less_noise_or_fewer_silos_is_refused(bench: Bench, changes: dict[str, Any]) -> None:
    bench.train(1)
    reply = decode(pb.Reply, bench.silo.answer(noised_sum(bench, 1, "phase_1", **changes)))
    assert reply.refusal.code == ErrorCode.SESSION_MISMATCH
    assert bench.silo.ledger.charges == []


def train_with(bench: Bench, norm: float) -> pb.Reply:
    model = to_array(bench.model)
    return bench.ask(1, train=pb.Train(phase="phase_1", round=0, model=model, clip_norm=norm))


def test_a_clip_norm_that_the_job_does_not_move_is_refused(bench: Bench) -> None:
    assert train_with(bench, 2.0).refusal.code == ErrorCode.MESSAGE_ERROR


@pytest.mark.parametrize("norm", [-1.0, math.nan, math.inf, 1e7, 1e-9])
def test_a_clip_norm_that_is_no_length_is_refused(bench_of: Callable[..., Bench], norm: float) -> None:
    assert train_with(bench_of(privacy=SILO_LEVEL, mechanism=QUANTILE), norm).refusal.code == ErrorCode.MESSAGE_ERROR


def test_a_silo_remembers_its_start_and_its_clip_norm(bench_of: Callable[..., Bench]) -> None:
    bench = bench_of(privacy=SILO_LEVEL, mechanism=QUANTILE)
    assert train_with(bench, 0.25).WhichOneof("body") == "prepared"
    before = bench.silo.work.vector(bench.silo.at)
    bench.restart()
    assert bench.silo.at.clip_norm == 0.25
    assert (bench.silo.work.vector(bench.silo.at) == before).all()
    assert before.size == bench.model.size + 1


def test_a_silo_that_lost_its_ledger_does_not_go_on(bench: Bench) -> None:
    bench.train(1)
    bench.silo.answer(noised_sum(bench, 1, "phase_1"))
    bench.silo.close()
    (bench.folder / "ledger.jsonl").unlink()
    with pytest.raises(LedgerDamaged, match=r"ledger\.jsonl"):
        bench.start()


def test_what_is_charged_is_what_the_release_costs(bench_of: Callable[..., Bench]) -> None:
    """The one that the session's quorum stands for: two of the three may remain."""
    bench = bench_of(
        privacy=SILO_LEVEL, mechanism={"kind": "gaussian_local"}, silos={"names": list(ROSTER), "fewest": 2}
    )
    bench.train(1)
    reply = decode(pb.Reply, bench.silo.answer(noised_sum(bench, 1, "phase_1")))
    assert reply.WhichOneof("body") == "sum", reply.refusal.message
    release = release_of(bench.job, Lengths(0, bench.model.size), Phase.PHASE_1, 0)
    assert release.quorum == 2
    assert bench.silo.ledger is not None
    assert [charge.event for charge in bench.silo.ledger.charges] == [release.event]
