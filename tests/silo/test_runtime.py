"""A silo answers what the job says, once, and refuses the rest."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from siloseal.federation.errors import DataError, LedgerDamaged, RunError, UncountableEvent
from siloseal.federation.job.job import Job
from siloseal.federation.privacy.events import SampledGaussianSteps
from siloseal.federation.randomness import SeededRandomness
from siloseal.federation.records.identity import Identity
from siloseal.federation.sums.envelope import unwrap
from siloseal.federation.sums.session import RealDomain
from siloseal.federation.transport.wire import messages_pb2 as pb
from siloseal.federation.transport.wire import sums_pb2
from siloseal.federation.transport.wire.codec import decode, from_array, to_array
from siloseal.federation.transport.wire.errors_pb2 import ErrorCode
from siloseal.federation.transport.wire.version import PROTOCOL_VERSION
from siloseal.models.building import vector_lengths
from siloseal.silo.opening import open_training_silo

from .conftest import Bench

SHORT = {"kind": "two_phase", "batch": 48, "local_steps": 8, "tuning_rounds": 2, "tuning_steps": 3}


def test_a_request_that_comes_again_gets_the_same_bytes_and_costs_nothing(bench: Bench) -> None:
    request = bench.request(1, train=pb.Train(phase="phase_1", model=to_array(bench.model)))
    first = bench.silo.answer(request)
    assert bench.silo.ledger is not None
    spent = bench.silo.ledger.epsilon
    assert bench.silo.answer(request) == first
    bench.restart()
    assert bench.silo.answer(request) == first
    assert bench.silo.ledger.epsilon == spent > 0


def test_a_second_different_request_of_the_same_number_is_refused(bench: Bench) -> None:
    """Only the request that was answered gets its reply again: another must not pass for it."""
    first = bench.train(1)
    assert first.WhichOneof("body") == "prepared"
    again = bench.train(1, round=1)
    assert again.refusal.code == ErrorCode.WRONG_ROUND
    assert bench.train(1) == first


def test_the_upload_is_the_weighted_model_and_survives_a_restart(bench: Bench) -> None:
    bench.train(1)
    bench.restart()
    session = bench.session()
    upload = decode(sums_pb2.Array, unwrap(session, round=1, data=bench.sum(2, session).sum))
    vector = from_array(upload, dtype="<f4", length=bench.model.size + 1)
    assert vector[-1] == pytest.approx(len(bench.data) / bench.job.largest_silo)
    moved = np.abs(vector[:-1] / vector[-1] - bench.model).max()
    assert 1e-6 < moved < 1


@pytest.mark.parametrize(
    "changes",
    [
        {"scheme": "gaussian over plain"},
        {"domain": RealDomain(7, 1.0)},
        {"roster": ("north", "east")},
        {"roster": ("north",)},
        {"identities": (bytes(32),) * 3},
        {"quorum": 1},
        {"start": b""},
        {"start": bytes(32)},
    ],
)
def test_a_sum_that_is_not_the_jobs_is_refused(bench: Bench, changes: dict[str, Any]) -> None:
    bench.train(1)
    if "roster" in changes:
        roster = changes["roster"]
        changes = {"quorum": len(roster), "identities": tuple(bench.keys[silo] for silo in roster), **changes}
    assert bench.sum(2, bench.session(**changes)).refusal.code == ErrorCode.SESSION_MISMATCH


def test_silos_that_were_given_different_models_to_train_are_in_no_sum_together(bench: Bench) -> None:
    """Each signs and masks for the session of the model that it was given: theirs do not fit together."""
    bench.train(1)
    bench.restart()
    refusal = bench.sum(2, bench.session(start=hashlib.sha256(b"the others' model").digest())).refusal
    assert (refusal.code, "start" in refusal.message) == (ErrorCode.SESSION_MISMATCH, True)
    bench.restart()
    assert bench.sum(2, bench.session()).sum, "it still takes part in the sum of its own"


def test_what_was_prepared_is_summed_once(bench: Bench) -> None:
    """Two sums over different participants would differ by one silo's contribution."""
    bench.train(1)
    assert bench.sum(2, bench.session()).sum
    for second in (bench.session(), bench.session("phase_2", 1), bench.session(id=b"\1" * 32)):
        assert bench.sum(3, second).refusal.code in (ErrorCode.WRONG_ROUND, ErrorCode.SESSION_MISMATCH)
        bench.restart()
        assert bench.sum(3, second).refusal.code in (ErrorCode.WRONG_ROUND, ErrorCode.SESSION_MISMATCH)


def test_each_sum_has_a_session_of_its_own_so_that_nothing_of_an_earlier_one_fits(bench: Bench) -> None:
    """An aggregator that could give two sums one session would have the signatures of both for either."""
    bench.train(1)
    first = bench.session()
    assert bench.sum(2, first).sum
    bench.train(3, "phase_2", 1)
    refusal = bench.sum(4, first).refusal
    assert (refusal.code, " id " in refusal.message) == (ErrorCode.SESSION_MISMATCH, True)
    assert bench.sum(5, bench.session("phase_2", 1)).sum


def test_nothing_is_summed_before_something_is_prepared(bench: Bench) -> None:
    assert bench.sum(1, bench.session()).refusal.code == ErrorCode.WRONG_ROUND


@pytest.mark.parametrize(
    ("phase", "round"), [("phase_1", 1), ("phase_2", 0), ("phase_2", 3), ("warm_start", 0), ("fedavg", 1), ("other", 0)]
)
def test_training_that_the_job_does_not_have_is_refused_and_not_charged(bench: Bench, phase: str, round: int) -> None:
    assert bench.train(1, phase, round).refusal.code == ErrorCode.WRONG_ROUND
    assert bench.silo.ledger is not None
    assert bench.silo.ledger.charges == []


@pytest.mark.parametrize(("phase", "round"), [("phase_1", 0), ("phase_2", 1), ("phase_2", 2)])
def test_no_round_is_trained_a_second_time_or_after_a_later_one(bench: Bench, phase: str, round: int) -> None:
    """A sum is named after its round: with a second one of that name, what was signed in one would fit the other."""
    assert bench.train(1).WhichOneof("body") == "prepared"
    assert bench.train(2, "phase_2", 2).WhichOneof("body") == "prepared"
    assert bench.silo.ledger is not None
    spent = bench.silo.ledger.charges[:]
    for _ in range(2):
        assert bench.train(3, phase, round).refusal.code == ErrorCode.WRONG_ROUND
        bench.restart()
    assert bench.silo.ledger.charges == spent


def test_rounds_may_be_left_out(bench_of: Callable[..., Bench]) -> None:
    """A silo that was silent in one takes part in the next."""
    bench = bench_of(warm_start={"kind": "leader", "silo": "north", "steps": 3})
    for number, (phase, turn) in enumerate([("warm_start", 0), ("phase_1", 0), ("phase_2", 2)], start=1):
        assert bench.train(number, phase, turn).WhichOneof("body") == "prepared"


def test_a_request_of_another_job_is_refused(bench: Bench, small_job: Callable[..., Job]) -> None:
    other = pb.Request(
        number=2, job_digest=small_job(seed=4).digest, protocol_version=PROTOCOL_VERSION, enrol=pb.Enrol()
    ).SerializeToString()
    assert decode(pb.Reply, bench.silo.answer(other)).refusal.code == ErrorCode.SESSION_MISMATCH


def test_an_older_request_is_refused(bench: Bench) -> None:
    bench.train(5)
    refusal = bench.train(4).refusal
    assert refusal.code == ErrorCode.WRONG_ROUND
    assert "request 7 came after request 8" in refusal.message


@pytest.mark.parametrize("kind", ["enrol", "begin", "nonces"])
def test_a_run_is_enrolled_in_and_begun_once(bench: Bench, kind: str) -> None:
    body = {"enrol": pb.Enrol(), "begin": bench.everyone(), "nonces": bench.nonces()}[kind]
    assert bench.ask(1, **{kind: body}).refusal.code == ErrorCode.WRONG_ROUND


@pytest.mark.parametrize("enrolments", [(5,), (1, 2), (2,), (1, 3)], ids=str)
def test_no_numbers_lead_past_the_agreement_of_all(bench: Bench, tmp_path: Path, enrolments: tuple[int, ...]) -> None:
    bench.silo.close()
    bench.folder = tmp_path / "another"
    bench.silo = bench.start()
    for number in enrolments:
        bench.ask(number - 3, enrol=pb.Enrol())
    for number in range(2, 8):
        assert bench.train(number - 3).refusal.code == ErrorCode.WRONG_ROUND
    assert bench.silo.ledger is not None
    assert bench.silo.ledger.charges == []


def test_an_empty_request_is_refused(bench: Bench) -> None:
    assert bench.ask(1).refusal.code == ErrorCode.MESSAGE_ERROR


def test_a_model_of_the_wrong_size_is_refused(bench: Bench) -> None:
    bench.model = bench.model[:-1]
    assert bench.train(1).refusal.code == ErrorCode.MESSAGE_ERROR


def test_enrolment_tells_the_shape_and_not_the_size(bench: Bench) -> None:
    bench.silo.close()
    bench.folder = bench.folder / "another"
    bench.silo = bench.start()
    reply = bench.ask(-2, enrol=pb.Enrol())
    assert (list(reply.enrolled.shape), reply.enrolled.classes) == ([1, 8, 8], 10)
    assert {field.name for field, _ in reply.enrolled.ListFields()} == {
        "shape",
        "classes",
        "identity",
        "agreement",
        "commitment",
    }


def test_only_the_silo_may_read_its_state(bench: Bench) -> None:
    bench.train(1)
    files = [file for file in bench.folder.iterdir() if file.is_file()]
    assert {file.name for file in files} >= {"checkpoint.safetensors", "reply.bin", "ledger.jsonl"}
    assert all(file.stat().st_mode & 0o077 == 0 for file in files)


def test_a_silo_whose_budget_is_spent_stops_in_the_middle_and_says_so(bench_of: Callable[..., Bench]) -> None:
    """What a lost chunk cost is missing at the end: the silo stops early, within its budget."""
    bench = bench_of(schedule={**SHORT, "local_steps": 120})
    assert bench.silo.ledger is not None
    noise = bench.silo.work.plan.step_noise
    assert noise is not None
    bench.silo.ledger.charge(SampledGaussianSteps(bench.silo.work.plan.sampling_rate, noise, 40), phase="phase_1")
    prepared = bench.train(1).prepared
    epsilon = bench.silo.ledger.epsilon
    assert prepared.stopped_by_budget
    assert 80 <= bench.silo.at.steps_done < 120
    assert 0.98 * 10 < epsilon <= 10


def test_without_privacy_there_is_no_ledger_and_no_noise(bench_of: Callable[..., Bench]) -> None:
    bench = bench_of(privacy={"kind": "none"}, schedule=SHORT)
    assert bench.train(1).WhichOneof("body") == "prepared"
    assert bench.silo.at.steps_done == 8
    assert bench.silo.ledger is None


def test_a_silo_that_lost_its_ledger_or_its_memory_does_not_go_on(bench: Bench) -> None:
    """What it spent would be forgotten."""
    bench.train(1)
    bench.silo.close()
    (bench.folder / "ledger.jsonl").unlink()
    with pytest.raises(LedgerDamaged, match=r"ledger\.jsonl"):
        bench.start()
    for file in bench.folder.iterdir():
        file.unlink()
    bench.silo = bench.start()
    refusal = bench.train(2).refusal
    assert (refusal.code, "memory" in refusal.message) == (ErrorCode.WRONG_ROUND, True)


def test_what_a_silo_says_of_its_data_stays_in_the_silo(bench: Bench) -> None:
    """The number of examples and the largest entry are in the error; the aggregator hears its name only."""
    assert bench.train(1).WhichOneof("body") == "prepared"
    assert bench.silo.at.steps_done == 8
    with torch.no_grad():
        for parameter in bench.silo.work._learner.shared_model.parameters():
            parameter.fill_(7e8)
    refusal = bench.sum(2, bench.session()).refusal
    assert refusal.code == ErrorCode.DOMAIN_ERROR
    assert "refusals.log" in refusal.message
    assert "e+0" not in refusal.message
    assert "DomainError: " in (bench.folder / "refusals.log").read_text()
    assert (bench.folder / "refusals.log").stat().st_mode & 0o077 == 0


def test_a_model_with_huge_weights_is_refused(bench: Bench) -> None:
    bench.model = bench.model * 1e10
    assert bench.train(1).refusal.code == ErrorCode.MESSAGE_ERROR


def test_a_class_that_a_silo_holds_but_does_not_declare_is_refused(bench: Bench, tmp_path: Path) -> None:
    seeded = SeededRandomness(1)
    with pytest.raises(DataError, match=r"\[5, 6, 7, 8, 9\]"):
        open_training_silo(
            bench.job,
            bench.data,
            tmp_path,
            lengths=vector_lengths(bench.job, bench.data.shape, bench.data.classes),
            labels=range(5),
            identity=Identity.create("a"),
            roster=bench.keys,
            randomness=seeded,
            publish=lambda _: None,
        )


def test_bytes_that_are_no_request_get_a_refusal(bench: Bench) -> None:
    assert decode(pb.Reply, bench.silo.answer(b"\xff\xff\xff")).refusal.code == ErrorCode.MESSAGE_ERROR
    zero = bench.request(-3, enrol=pb.Enrol())
    assert decode(pb.Reply, bench.silo.answer(zero)).refusal.code == ErrorCode.WRONG_ROUND


def test_a_ledger_that_lost_its_last_lines_is_noticed(bench: Bench) -> None:
    bench.train(1)
    bench.silo.close()
    ledger = bench.folder / "ledger.jsonl"
    ledger.write_text(ledger.read_text().splitlines()[0] + "\n")
    with pytest.raises(LedgerDamaged, match=r" 0 charges, .* 1 "):
        bench.start()


def test_a_request_that_comes_again_with_other_training_is_refused(bench_of: Callable[..., Bench]) -> None:
    """Else the model of phase 1 would go into the leader's sum of one."""
    bench = bench_of(warm_start={"kind": "leader", "silo": "north", "steps": 3})
    bench.killed_before_the_reply(bench.train_request(1, "warm_start"))
    assert bench.train(1, "phase_1").refusal.code == ErrorCode.WRONG_ROUND
    assert bench.train(1, "warm_start").WhichOneof("body") == "prepared"
    assert bench.silo.at.steps_done == 3


def test_a_silo_that_no_round_asks_cannot_be_trained_without_noise(bench_of: Callable[..., Bench]) -> None:
    schedule = {"kind": "fedavg", "rounds": 1, "fraction": 0.3, "local_epochs": 0.2, "batch": 48}
    bench = bench_of(schedule=schedule, seed=next(seed for seed in range(99) if not chosen(seed)))
    with pytest.raises(UncountableEvent, match="SampledGaussianSteps"):
        bench.silo.work._trainer.train(1, phase="fedavg")


def chosen(seed: int) -> bool:
    """Whether `north`, the first of three, takes part in a single round of one silo."""
    return int(np.random.default_rng([seed, 1]).choice(3, 1, replace=False)[0]) == 0


def test_a_damaged_reply_is_noticed_at_once(bench: Bench) -> None:
    bench.train(1)
    bench.silo.close()
    content = bytearray((bench.folder / "reply.bin").read_bytes())
    content[-1] ^= 1
    (bench.folder / "reply.bin").write_bytes(content)
    with pytest.raises(RunError, match=r"reply\.bin"):
        bench.start()


def test_a_reply_kept_under_another_version_of_the_protocol_ends_the_run(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as older:
        older.setattr("siloseal.silo.state.PROTOCOL_VERSION", PROTOCOL_VERSION - 1)
        bench.train(1)
    bench.silo.close()
    with pytest.raises(RunError, match=rf"reply\.bin .*version {PROTOCOL_VERSION - 1} "):
        bench.start()


def test_a_request_of_another_version_of_the_protocol_is_refused(bench: Bench) -> None:
    for version in (0, PROTOCOL_VERSION + 1):
        request = decode(pb.Request, bench.train_request(1, "phase_1"))
        request.protocol_version = version
        reply = decode(pb.Reply, bench.silo.answer(request.SerializeToString()))
        assert reply.refusal.code == ErrorCode.VERSION_MISMATCH


def test_a_flipped_bit_in_the_checkpoint_is_noticed(bench: Bench) -> None:
    bench.train(1)
    file = bench.folder / "checkpoint.safetensors"
    content = bytearray(file.read_bytes())
    content[-1000] ^= 1
    file.write_bytes(bytes(content))
    with pytest.raises(RunError, match=r"checkpoint\.safetensors"):
        bench.restart()
