"""The kernel mean leaves a silo once, noised, and paid for before that."""

from collections.abc import Callable

import numpy as np
import pytest

from siloseal.federation.errors import LedgerDamaged, RunError
from siloseal.federation.privacy.events import GaussianRelease
from siloseal.federation.privacy.mechanisms.gaussian import GaussianAtSilo
from siloseal.federation.randomness import SeededRandomness
from siloseal.federation.sums.envelope import unwrap
from siloseal.federation.sums.session import RealDomain, Session
from siloseal.federation.transport.wire import messages_pb2 as pb
from siloseal.federation.transport.wire import sums_pb2
from siloseal.federation.transport.wire.codec import decode, from_array
from siloseal.federation.transport.wire.errors_pb2 import ErrorCode

from .conftest import Bench

KERNEL_MEAN = {"kind": "kernel_mean", "epsilon": 3, "frequencies": 50, "length_scale": 1.0}


@pytest.fixture
def bench(bench_of: Callable[..., Bench]) -> Bench:
    return bench_of(warm_start=KERNEL_MEAN)


def test_it_is_noised_with_the_noise_that_was_charged(bench: Bench) -> None:
    bench.ask(1, kernel_mean=pb.KernelMean())
    assert bench.silo.ledger.charges == []
    reply = decode(pb.Reply, bench.silo.answer(bench.kernel_mean_sum(2)))
    features, (_, inner) = bench.features(), bench.kernel_mean_session()
    upload = from_array(
        decode(sums_pb2.Array, unwrap(inner, round=1, data=reply.sum)), dtype="<f4", length=features.length
    )
    noise = upload - features.labelled_sum(bench.data.inputs, bench.data.labels).numpy()
    assert np.std(noise) == pytest.approx(
        bench.silo.work.plan.releases["warm_start"][0].noise_multiplier, rel=0.2
    )  # 1,010 draws: 9 standard errors
    assert 2.9 < bench.silo.ledger.epsilon <= 3.0


def test_nothing_is_noised_before_it_is_charged(bench: Bench) -> None:
    """A ledger that refuses: the silo draws no noise for the release, so nothing can have left."""
    bench.ask(1, kernel_mean=pb.KernelMean())
    bench.silo.ledger.charge(GaussianRelease(0.5), phase="phase_1")
    drawn = bench.silo._randomness._draws
    reply = decode(pb.Reply, bench.silo.answer(bench.kernel_mean_sum(2)))
    assert reply.refusal.code == ErrorCode.BUDGET_EXCEEDED
    assert bench.silo._randomness._draws == drawn


def test_a_reply_that_a_crash_lost_is_paid_for_once(bench_of: Callable[..., Bench]) -> None:
    """The charge is there, the reply never left: fresh noise under the same charge is the first release."""
    bench = bench_of(warm_start={**KERNEL_MEAN, "epsilon": 9})
    bench.ask(1, kernel_mean=pb.KernelMean())

    bench.killed_before_the_reply(bench.kernel_mean_sum(2))
    assert decode(pb.Reply, bench.silo.answer(bench.kernel_mean_sum(2))).sum
    assert len(bench.silo.ledger.charges) == 1


def test_it_leaves_once_whatever_the_aggregator_tries(bench: Bench) -> None:
    """The same sum again, after a restart too, gets nothing; a second kernel mean would be a second release: refused."""
    bench.ask(1, kernel_mean=pb.KernelMean())
    assert decode(pb.Reply, bench.silo.answer(bench.kernel_mean_sum(2))).sum
    for _ in range(2):
        again = decode(pb.Reply, bench.silo.answer(bench.kernel_mean_sum(3)))
        assert again.refusal.code == ErrorCode.WRONG_ROUND
        bench.restart()
    assert bench.ask(4, kernel_mean=pb.KernelMean()).refusal.code == ErrorCode.WRONG_ROUND
    assert (
        decode(pb.Reply, bench.silo.answer(bench.kernel_mean_sum(5, b"\1" * 32))).refusal.code
        == ErrorCode.SESSION_MISMATCH
    )
    assert len(bench.silo.ledger.charges) == 1


@pytest.mark.parametrize("lost", [["reply.bin"], ["reply.bin", "checkpoint.safetensors"], ["checkpoint.safetensors"]])
def test_a_silo_that_lost_part_of_its_memory_releases_nothing_more(bench: Bench, lost: list[str]) -> None:
    """It would noise the same sum afresh, under a charge that paid for the first release."""
    bench.ask(1, kernel_mean=pb.KernelMean())
    assert decode(pb.Reply, bench.silo.answer(bench.kernel_mean_sum(2))).sum
    bench.silo.close()
    for file in lost:
        (bench.folder / file).unlink()
    with pytest.raises(RunError, match=str(bench.folder)):
        bench.start()


def test_another_sum_of_an_older_checkpoint_is_charged_again(bench: Bench) -> None:
    """The charge that is there paid for another release."""
    bench.ask(1, kernel_mean=pb.KernelMean())
    kept = {name: (bench.folder / name).read_bytes() for name in ("reply.bin", "answered", "checkpoint.safetensors")}
    assert decode(pb.Reply, bench.silo.answer(bench.kernel_mean_sum(2))).sum
    bench.silo.close()
    for name, content in kept.items():
        (bench.folder / name).write_bytes(content)
    (bench.folder / "checkpoint.json").unlink()  # there was none at that time
    bench.silo = bench.start()
    assert decode(pb.Reply, bench.silo.answer(bench.kernel_mean_sum(2))).sum
    assert len(bench.silo.ledger.charges) == 2


def test_a_ledger_that_lost_its_charge_is_noticed(bench: Bench) -> None:
    bench.ask(1, kernel_mean=pb.KernelMean())
    assert decode(pb.Reply, bench.silo.answer(bench.kernel_mean_sum(2))).sum
    bench.silo.close()
    ledger = bench.folder / "ledger.jsonl"
    ledger.write_text(ledger.read_text().splitlines()[0] + "\n")
    with pytest.raises(LedgerDamaged, match=r" 0 charges, .* 1 "):
        bench.start()


def test_bare_noise_does_not_look_different_from_noised_data() -> None:
    """Whoever knew a lattice of the noise alone could tell the entries to which nothing was added."""
    mechanism = GaussianAtSilo(sensitivity=1.0, noise_multiplier=1.2)
    session = Session(bytes(32), ("north",), RealDomain(10_000, 1.0), mechanism.name, 1, (bytes(32),))
    bare, added = (mechanism.encode(np.full(10_000, value), session, SeededRandomness(1)) for value in (0.0, 0.7123))
    grid = 2.0**-12
    for released in (bare, added):
        assert (released / grid == np.rint(released / grid)).all()
    np.testing.assert_allclose(added - bare, 0.7123, atol=grid)
