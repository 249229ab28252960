"""A silo answers what the job says, once, and refuses the rest."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from federation.accounting import GaussianRelease, SampledGaussianSteps
from federation.config.data import Digits
from federation.config.job import Job, KernelMeanStart
from federation.contributions import model_domain, sketch_domain, sketch_scheme
from federation.errors import DataError, LedgerDamaged
from federation.randomness import SeededRandomness
from federation.session import RealDomain, Session
from federation.wire import messages_pb2 as pb
from federation.wire.codec import decode, from_array, to_array, unwrap, wrap
from models.building import feature_map, initial_model
from silo.data.labelled_images import LabelledImages
from silo.data.loading import load
from silo.runtime import Silo

ROSTER = ("north", "east", "south")
SKETCH = {"kind": "kernel_mean", "epsilon": 3, "frequencies": 50, "length_scale": 1.0}
SHORT = {"kind": "two_phase", "batch": 48, "local_steps": 8, "tuning_rounds": 2, "tuning_steps": 3}


@pytest.fixture(scope="module")
def data() -> LabelledImages:
    return load(Digits())[0].select(torch.arange(400))


class Bench:
    """A silo with the aggregator's end of the wire in the test's hand."""

    def __init__(self, job: Job, data: LabelledImages, folder: Path) -> None:
        self.job, self.data, self.folder = job, data, folder
        self.model = initial_model(job, data.image_shape, data.classes)
        self.silo = self.start()
        self.ask(0, enrol=pb.Enrol())

    def start(self, seed: int = 1) -> Silo:
        silo = Silo(
            "north",
            self.job,
            self.data,
            self.folder,
            labels=range(10),
            randomness=SeededRandomness(seed),
            on_progress=lambda *_: None,
        )
        silo.resume()
        return silo

    def restart(self) -> None:
        self.silo.close()
        self.silo = self.start(seed=2)

    def ask(self, number: int, **body: Any) -> pb.Reply:
        return decode(pb.Reply, self.silo.answer(self.request(number, **body)))

    def request(self, number: int, **body: Any) -> bytes:
        """Tests number what follows the enrolment, which has number 1 on the wire."""
        return pb.Request(number=number + 1, job_digest=self.job.digest, **body).SerializeToString()

    def train(self, number: int, phase: str = "phase_1", round: int = 0) -> pb.Reply:
        return self.ask(number, train=pb.Train(phase=phase, round=round, model=to_array(self.model)))

    def session(self, **changes: Any) -> Session:
        session = Session(bytes(32), ROSTER, model_domain(self.job, self.model.size), "plain", 3)
        return replace(session, **changes)

    def sum(self, number: int, session: Session) -> pb.Reply:
        message = wrap(session, round=0, body=b"")
        return self.ask(number, sum=pb.Sum(session=session.to_wire(), message=message))


@pytest.fixture
def bench(small_job: Callable[..., Job], data: LabelledImages, tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(small_job(schedule=SHORT), data, tmp_path)
    yield bench
    bench.silo.close()


def test_a_request_that_comes_again_gets_the_same_bytes_and_costs_nothing(bench: Bench) -> None:
    request = bench.request(1, train=pb.Train(phase="phase_1", model=to_array(bench.model)))
    first = bench.silo.answer(request)
    assert bench.silo.ledger is not None
    spent = bench.silo.ledger.epsilon
    assert bench.silo.answer(request) == first
    bench.restart()
    assert bench.silo.answer(request) == first
    assert bench.silo.ledger.epsilon == spent > 0


def test_the_upload_is_the_weighted_model_and_survives_a_restart(bench: Bench) -> None:
    bench.train(1)
    bench.restart()
    session = bench.session()
    upload = decode(pb.Array, unwrap(session, round=1, data=bench.sum(2, session).sum))
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
        {"roster": ("north",), "quorum": 1},
        {"quorum": 1},
    ],
)
def test_a_sum_that_is_not_the_jobs_is_refused(bench: Bench, changes: dict[str, Any]) -> None:
    bench.train(1)
    if "roster" in changes:
        changes = {"quorum": len(changes["roster"]), **changes}
    assert bench.sum(2, bench.session(**changes)).refusal.error == "SessionMismatch"


def test_what_was_prepared_is_summed_once(bench: Bench) -> None:
    """Two sums over different crowds would differ by one silo's contribution."""
    bench.train(1)
    assert bench.sum(2, bench.session()).sum
    second = bench.session(id=b"\1" * 32)
    assert bench.sum(3, second).refusal.error == "WrongRound"
    bench.restart()
    assert bench.sum(3, second).refusal.error == "WrongRound"


def test_nothing_is_summed_before_something_is_prepared(bench: Bench) -> None:
    assert bench.sum(1, bench.session()).refusal.error == "WrongRound"


@pytest.mark.parametrize(
    ("phase", "round"), [("phase_1", 1), ("phase_2", 0), ("phase_2", 3), ("warm_start", 0), ("fedavg", 1), ("other", 0)]
)
def test_training_that_the_job_does_not_have_is_refused_and_not_charged(bench: Bench, phase: str, round: int) -> None:
    assert bench.train(1, phase, round).refusal.error == "WrongRound"
    assert bench.silo.ledger is not None
    assert bench.silo.ledger.charges == []


def test_a_request_of_another_job_is_refused(bench: Bench, small_job: Callable[..., Job]) -> None:
    other = pb.Request(number=2, job_digest=small_job(seed=4).digest, enrol=pb.Enrol()).SerializeToString()
    assert decode(pb.Reply, bench.silo.answer(other)).refusal.error == "SessionMismatch"


def test_an_older_request_is_refused(bench: Bench) -> None:
    bench.ask(5, enrol=pb.Enrol())
    assert bench.ask(4, enrol=pb.Enrol()).refusal.error == "WrongRound"


def test_an_empty_request_is_refused(bench: Bench) -> None:
    assert bench.ask(1).refusal.error == "MessageError"


def test_a_model_of_the_wrong_size_is_refused(bench: Bench) -> None:
    bench.model = bench.model[:-1]
    assert bench.train(1).refusal.error == "MessageError"


def test_enrolment_tells_the_shape_and_not_the_size(bench: Bench) -> None:
    reply = bench.ask(1, enrol=pb.Enrol())
    assert (list(reply.enrolled.image_shape), reply.enrolled.classes) == ([1, 8, 8], 10)
    assert {field.name for field, _ in reply.enrolled.ListFields()} == {"image_shape", "classes"}


def test_only_the_silo_may_read_its_state(bench: Bench) -> None:
    bench.train(1)
    files = [file for file in bench.folder.iterdir() if file.is_file()]
    assert {file.name for file in files} >= {"checkpoint.safetensors", "reply.bin", "ledger.jsonl"}
    assert all(file.stat().st_mode & 0o077 == 0 for file in files)


def test_training_that_a_crash_interrupted_goes_on_from_its_checkpoint(
    small_job: Callable[..., Job], data: LabelledImages, tmp_path: Path
) -> None:
    """The first chunk is kept; the second, charged and lost, stays charged: over-counted, never under-counted."""
    bench = Bench(small_job(schedule={**SHORT, "local_steps": 80, "tuning_rounds": 30}), data, tmp_path)

    class Killed(BaseException):
        pass

    def die_in_the_second_chunk(*_: object) -> None:
        learner = bench.silo._learner
        learner.public_step = lambda: (_ for _ in ()).throw(Killed)  # type: ignore[method-assign]

    bench.silo._on_progress = die_in_the_second_chunk
    with pytest.raises(Killed):
        bench.train(1)
    bench.restart()
    prepared = bench.train(1).prepared
    assert bench.silo.ledger is not None
    charged = [charge.event.steps for charge in bench.silo.ledger.charges]  # type: ignore[union-attr]
    bench.silo.close()
    assert (prepared.steps_done, prepared.stopped_by_budget) == (80, False)
    assert charged == [50, 30, 30]


def test_a_silo_whose_budget_is_spent_stops_in_the_middle_and_says_so(
    small_job: Callable[..., Job], data: LabelledImages, tmp_path: Path
) -> None:
    """What a lost chunk cost is missing at the end: the silo stops early, within its budget."""
    bench = Bench(small_job(schedule={**SHORT, "local_steps": 120}), data, tmp_path)
    assert bench.silo.ledger is not None
    noise = bench.silo._plan.step_noise
    assert noise is not None
    bench.silo.ledger.charge(SampledGaussianSteps(bench.silo._plan.sampling_rate, noise, 40), phase="phase_1")
    prepared = bench.train(1).prepared
    epsilon = bench.silo.ledger.epsilon
    bench.silo.close()
    assert prepared.stopped_by_budget
    assert 80 <= prepared.steps_done < 120
    assert 0.98 * 10 < epsilon <= 10


def test_the_kernel_mean_is_noised_and_charged_before_it_leaves(
    small_job: Callable[..., Job], data: LabelledImages, tmp_path: Path
) -> None:
    job = small_job(warm_start=SKETCH, schedule=SHORT)
    bench = Bench(job, data, tmp_path)
    assert isinstance(job.warm_start, KernelMeanStart)
    assert bench.silo.ledger is not None
    bench.ask(1, sketch=pb.Sketch())
    assert bench.silo.ledger.charges == []
    features = feature_map(job, job.warm_start, data.image_shape, data.classes)
    scheme = sketch_scheme(job)
    session = Session(bytes(32), ROSTER, sketch_domain(job, features.length), scheme.name, 3)
    inner = replace(session, domain=scheme.mechanism.domain(session.domain))  # type: ignore[attr-defined]
    reply = bench.ask(2, sum=pb.Sum(session=session.to_wire(), message=wrap(inner, round=0, body=b"")))
    upload = from_array(decode(pb.Array, unwrap(inner, round=1, data=reply.sum)), dtype="<f4", length=features.length)
    noise = upload - features.labelled_sum(data.images, data.labels).numpy()
    deviation = bench.silo._plan.release_noise
    epsilon = bench.silo.ledger.epsilon
    bench.silo.close()
    assert deviation is not None
    assert np.std(noise) == pytest.approx(deviation, rel=0.2)  # 1,010 draws: 9 standard errors
    assert 2.9 < epsilon <= 3.0


def test_without_privacy_there_is_no_ledger_and_no_noise(
    small_job: Callable[..., Job], data: LabelledImages, tmp_path: Path
) -> None:
    bench = Bench(small_job(privacy={"kind": "none"}, schedule=SHORT), data, tmp_path)
    assert bench.train(1).prepared.steps_done == 8
    assert bench.silo.ledger is None


def test_a_silo_that_lost_its_ledger_or_its_memory_does_not_go_on(bench: Bench) -> None:
    """What it spent would be forgotten."""
    bench.train(1)
    bench.silo.close()
    (bench.folder / "ledger.jsonl").unlink()
    with pytest.raises(LedgerDamaged, match="what it spent is not known"):
        bench.start()
    for file in bench.folder.iterdir():
        file.unlink()
    bench.silo = bench.start()
    assert "no memory of this run" in bench.train(2).refusal.message


def test_what_a_silo_says_of_its_data_stays_in_the_silo(bench: Bench) -> None:
    """The number of examples and the largest entry are in the error; the aggregator hears its name only."""
    assert bench.train(1).prepared.steps_done == 8
    with torch.no_grad():
        for parameter in bench.silo._learner.averaged_generator.parameters():
            parameter.fill_(7e8)
    refusal = bench.sum(2, bench.session()).refusal
    assert refusal.error == "DomainError"
    assert "refusals.log" in refusal.message
    assert "e+0" not in refusal.message
    assert "DomainError: a contribution reaches" in (bench.folder / "refusals.log").read_text()
    assert (bench.folder / "refusals.log").stat().st_mode & 0o077 == 0


def test_a_model_with_huge_weights_is_refused(bench: Bench) -> None:
    bench.model = bench.model * 1e10
    assert bench.train(1).refusal.error == "MessageError"


def test_a_class_that_a_silo_holds_but_does_not_declare_is_refused(
    small_job: Callable[..., Job], data: LabelledImages, tmp_path: Path
) -> None:
    with pytest.raises(DataError, match="does not declare"):
        Silo(
            "north",
            small_job(schedule=SHORT),
            data,
            tmp_path,
            labels=range(5),
            randomness=SeededRandomness(1),
            on_progress=lambda *_: None,
        )


def test_bytes_that_are_no_request_get_a_refusal(bench: Bench) -> None:
    assert decode(pb.Reply, bench.silo.answer(b"\xff\xff\xff")).refusal.error == "MessageError"
    zero = pb.Request(number=0, job_digest=bench.job.digest, enrol=pb.Enrol()).SerializeToString()
    assert decode(pb.Reply, bench.silo.answer(zero)).refusal.error == "WrongRound"


def test_a_kernel_mean_whose_reply_a_crash_lost_is_paid_for_once(
    small_job: Callable[..., Job], data: LabelledImages, tmp_path: Path
) -> None:
    """The charge is there, the reply never left: fresh noise under the same charge is the first release."""
    job = small_job(warm_start={**SKETCH, "epsilon": 9}, schedule=SHORT)
    bench = Bench(job, data, tmp_path)
    assert isinstance(job.warm_start, KernelMeanStart)
    bench.ask(1, sketch=pb.Sketch())
    features = feature_map(job, job.warm_start, data.image_shape, data.classes)
    scheme = sketch_scheme(job)
    session = Session(bytes(32), ROSTER, sketch_domain(job, features.length), scheme.name, 3)
    inner = replace(session, domain=scheme.mechanism.domain(session.domain))  # type: ignore[attr-defined]
    request = bench.request(2, sum=pb.Sum(session=session.to_wire(), message=wrap(inner, round=0, body=b"")))

    class Killed(BaseException):
        pass

    def die(*_: object) -> None:
        raise Killed

    bench.silo._state.save_reply = die  # type: ignore[method-assign]
    with pytest.raises(Killed):
        bench.silo.answer(request)
    bench.restart()
    reply = decode(pb.Reply, bench.silo.answer(request))
    assert bench.silo.ledger is not None
    charges = len(bench.silo.ledger.charges)
    bench.silo.close()
    assert reply.sum
    assert charges == 1


def test_every_release_of_the_kernel_mean_is_paid_for_whatever_the_aggregator_tries(
    small_job: Callable[..., Job], data: LabelledImages, tmp_path: Path
) -> None:
    """The same sum again, after a restart too, gets nothing; a second sketch would be a second release: refused."""
    job = small_job(warm_start=SKETCH, schedule=SHORT)
    bench = Bench(job, data, tmp_path)
    assert isinstance(job.warm_start, KernelMeanStart)
    features = feature_map(job, job.warm_start, data.image_shape, data.classes)
    scheme = sketch_scheme(job)

    def ask(number: int, id: bytes) -> pb.Reply:
        session = Session(id, ROSTER, sketch_domain(job, features.length), scheme.name, 3)
        inner = replace(session, domain=scheme.mechanism.domain(session.domain))  # type: ignore[attr-defined]
        return bench.ask(number, sum=pb.Sum(session=session.to_wire(), message=wrap(inner, round=0, body=b"")))

    bench.ask(1, sketch=pb.Sketch())
    assert ask(2, bytes(32)).sum
    assert ask(3, bytes(32)).refusal.error == "WrongRound"
    bench.restart()
    assert ask(3, bytes(32)).refusal.error == "WrongRound"
    assert bench.silo.ledger is not None
    assert len(bench.silo.ledger.charges) == 1
    assert bench.ask(4, sketch=pb.Sketch()).refusal.error == "WrongRound"
    assert ask(5, b"\1" * 32).refusal.error == "WrongRound"
    charges = len(bench.silo.ledger.charges)
    bench.silo.close()
    assert charges == 1


def test_nothing_is_noised_before_it_is_charged(
    small_job: Callable[..., Job], data: LabelledImages, tmp_path: Path
) -> None:
    """A ledger that refuses: the silo draws no noise for the release, so nothing can have left."""
    job = small_job(warm_start=SKETCH, schedule=SHORT)
    bench = Bench(job, data, tmp_path)
    assert isinstance(job.warm_start, KernelMeanStart)
    assert bench.silo.ledger is not None
    bench.ask(1, sketch=pb.Sketch())
    bench.silo.ledger.charge(GaussianRelease(0.56), phase="phase_1")
    drawn = bench.silo._randomness._draws  # type: ignore[attr-defined]
    features = feature_map(job, job.warm_start, data.image_shape, data.classes)
    scheme = sketch_scheme(job)
    session = Session(bytes(32), ROSTER, sketch_domain(job, features.length), scheme.name, 3)
    reply = bench.ask(2, sum=pb.Sum(session=session.to_wire(), message=b""))
    after = bench.silo._randomness._draws  # type: ignore[attr-defined]
    bench.silo.close()
    assert reply.refusal.error == "BudgetExceeded"
    assert after == drawn
