"""A silo with the aggregator's end of the wire in the test's hand."""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from siloseal.federation.analytics.any_job import AnyJob
from siloseal.federation.analytics.config import AnalyticsJob
from siloseal.federation.errors import SiloSealError
from siloseal.federation.job.agreement import Agreement
from siloseal.federation.job.beacon import commit, join_nonces
from siloseal.federation.job.contributions import start_of
from siloseal.federation.job.job import Job
from siloseal.federation.job.phases import Phase
from siloseal.federation.job.releases import Lengths, Release, Run, release_of, sum_id
from siloseal.federation.job.sections.data import Digits
from siloseal.federation.job.sections.warm_start import KernelMeanStart
from siloseal.federation.job.weighting import weighted_domain
from siloseal.federation.randomness import SeededRandomness
from siloseal.federation.records.identity import Identity
from siloseal.federation.sums.envelope import wrap
from siloseal.federation.sums.session import Session
from siloseal.federation.transport.wire import messages_pb2 as pb
from siloseal.federation.transport.wire import sums_pb2
from siloseal.federation.transport.wire.codec import decode, to_array
from siloseal.federation.transport.wire.version import PROTOCOL_VERSION
from siloseal.models.building import feature_map, initial_model, vector_lengths
from siloseal.models.kernel_mean import FeatureMap
from siloseal.silo.data.examples import Examples
from siloseal.silo.data.loading import load
from siloseal.silo.data.tables import Table
from siloseal.silo.ledger import Charge
from siloseal.silo.opening import open_query_silo, open_training_silo
from siloseal.silo.runtime import Silo

ROSTER = ("north", "east", "south")
IDENTITIES = {silo: Identity.create(silo) for silo in ROSTER}
KEYS = {silo: identity.public for silo, identity in IDENTITIES.items()}
NONCES = {silo: hashlib.sha256(silo.encode()).digest() for silo in ROSTER[1:]}
"""Nonces of the other silos; `north` draws its own."""
RUN = b"run".ljust(32)
SHORT = {"kind": "two_phase", "batch": 48, "local_steps": 8, "tuning_rounds": 2, "tuning_steps": 3}


class Killed(BaseException):
    """No error that anything handles."""


class Enrolled:
    """One silo, `north`, enrolled in a job. It is restarted as after a crash, and closed by the fixture."""

    def __init__(self, job: AnyJob, folder: Path) -> None:
        self.folder, self.keys, self.identities = folder, KEYS, IDENTITIES
        self.agreement = Agreement(RUN, job.digest, KEYS)
        self.silo = self.start()
        self.enrol()

    def enrol(self) -> None:
        self.enrolled = self.ask(-2, enrol=pb.Enrol()).enrolled
        self.nonce = self.ask(-1, begin=self.everyone()).begun.nonce
        assert self.ask(0, nonces=self.nonces()).WhichOneof("body") == "ready"

    def everyone(self, **replaced: bytes) -> pb.Begin:
        """What everyone signs, with the commitments to these nonces in place of some."""
        nonces = NONCES | replaced
        committed = {"north": self.enrolled.commitment}
        committed |= {name: commit(self.agreement, name, nonce) for name, nonce in nonces.items()}
        signed = {name: self.agreement.sign(IDENTITIES[name], committed[name]) for name in ROSTER}
        return pb.Begin(agreements=pieces(signed), commitments=pieces(committed))

    def nonces(self, **replaced: bytes) -> pb.Nonces:
        """What everyone reveals, with some replaced."""
        return pb.Nonces(nonces=pieces({"north": self.nonce, **NONCES, **replaced}))

    @property
    def run(self) -> Run:
        committed = {piece.silo: piece.data for piece in self.everyone().commitments}
        return Run(join_nonces(self.agreement, committed, self.nonces().nonces), KEYS)

    def start(self, seed: int = 1) -> Silo:
        """The silo, with what an earlier process left on its disk."""
        silo = self.open(SeededRandomness(seed))
        try:
            silo.resume()
        except SiloSealError:
            silo.close()
            raise
        return silo

    def open(self, randomness: SeededRandomness) -> Silo:
        raise NotImplementedError

    def restart(self) -> None:
        self.silo.close()
        self.silo = self.start(seed=2)

    def killed_before_the_reply(self, request: bytes) -> None:
        """The silo does its work and dies before it can store the reply, and so before that can leave."""

        def die(*_: object) -> None:
            raise Killed

        self.silo._state.save_reply = die  # type: ignore[method-assign]
        with pytest.raises(Killed):
            self.silo.answer(request)
        self.restart()

    def ask(self, number: int, **body: Any) -> pb.Reply:
        return decode(pb.Reply, self.silo.answer(self.request(number, **body)))

    def request(self, number: int, **body: Any) -> bytes:
        """Tests number what follows enrolment, beginning and nonces, which have numbers 1 to 3 on the wire."""
        return pb.Request(
            number=number + 3,
            job_digest=self.agreement.job_digest,
            run_id=RUN,
            protocol_version=PROTOCOL_VERSION,
            **body,
        ).SerializeToString()

    def sum_request(self, number: int, release: Release, start: bytes = b"") -> bytes:
        """The request that opens the sum of a release."""
        session = release.session(self.run, start)
        message = release.scheme.aggregator(session).open()["north"]
        return self.request(number, sum=pb.Sum(session=session.to_wire(), message=message))

    def charges(self) -> list[Charge]:
        """The lines of the silo's ledger."""
        assert self.silo.ledger is not None
        return self.silo.ledger.charges


class Bench(Enrolled):
    """A silo that trains."""

    def __init__(self, job: Job, data: Examples, folder: Path) -> None:
        self.job, self.data = job, data
        self.model = initial_model(job, data.shape, data.classes)
        super().__init__(job, folder)

    def open(self, randomness: SeededRandomness) -> Silo:
        return open_training_silo(
            self.job,
            self.data,
            self.folder,
            lengths=vector_lengths(self.job, self.data.shape, self.data.classes),
            labels=range(10),
            identity=IDENTITIES["north"],
            roster=KEYS,
            randomness=randomness,
            publish=lambda _: None,
        )

    def train(self, number: int, phase: str = "phase_1", round: int = 0) -> pb.Reply:
        return decode(pb.Reply, self.silo.answer(self.train_request(number, phase, round)))

    def train_request(self, number: int, phase: str, round: int = 0) -> bytes:
        return self.request(number, train=pb.Train(phase=phase, round=round, model=to_array(self.model)))

    def session(self, phase: str = "phase_1", round: int = 0, **changes: Any) -> Session:
        domain, keys = weighted_domain(self.model.size, self.job.largest_weight), tuple(KEYS.values())
        agreed = Session(self.sum_id(phase, round), ROSTER, domain, "plain", 3, keys, self.started_from)
        return replace(agreed, **changes)

    def sum_id(self, phase: str, round: int = 0) -> bytes:
        """The id of the sum over what this round of a phase prepared."""
        return sum_id(self.run.beacon, phase, round)

    @property
    def started_from(self) -> bytes:
        """What names the model that the silo was told to train from."""
        return start_of(pb.Train(model=to_array(self.model)))

    def sum(self, number: int, session: Session) -> pb.Reply:
        message = wrap(session, round=0, body=b"")
        return self.ask(number, sum=pb.Sum(session=session.to_wire(), message=message))

    def features(self) -> FeatureMap:
        assert isinstance(self.job.warm_start, KernelMeanStart)
        return feature_map(self.job, self.job.warm_start, self.data.shape, self.data.classes)

    def kernel_mean_session(self, id: bytes | None = None) -> tuple[Session, Session]:
        """The session as it is agreed, and the inner one that its messages are bound to."""
        release = release_of(self.job, Lengths(self.features().length, self.model.size), Phase.WARM_START, 0)
        session = release.session(self.run)
        session = session if id is None else replace(session, id=id)
        assert release.mechanism is not None
        return session, replace(session, domain=release.mechanism.domain(release.domain, len(ROSTER)))

    def kernel_mean_sum(self, number: int, id: bytes | None = None) -> bytes:
        """The request that opens the sum of kernel means."""
        session, inner = self.kernel_mean_session(id)
        return self.request(number, sum=pb.Sum(session=session.to_wire(), message=wrap(inner, round=0, body=b"")))


class QueryBench(Enrolled):
    """A silo that answers queries."""

    def __init__(self, job: AnalyticsJob, table: Table, folder: Path) -> None:
        self.job, self.table = job, table
        super().__init__(job, folder)

    def open(self, randomness: SeededRandomness) -> Silo:
        return open_query_silo(
            self.job, self.table, self.folder, identity=IDENTITIES["north"], roster=KEYS, randomness=randomness
        )


def pieces(said: dict[str, bytes]) -> list[sums_pb2.Piece]:
    return [sums_pb2.Piece(silo=silo, data=data) for silo, data in said.items()]


@pytest.fixture(scope="session")
def digits() -> Examples:
    return load(Digits())[0].select(torch.arange(400))


@pytest.fixture
def bench_of(small_job: Callable[..., Job], digits: Examples, tmp_path: Path) -> Iterator[Callable[..., Bench]]:
    """A bench for the small job with some sections replaced."""
    benches: list[Bench] = []

    def make(**sections: Any) -> Bench:
        benches.append(Bench(small_job(**{"schedule": SHORT, **sections}), digits, tmp_path))
        return benches[-1]

    yield make
    for bench in benches:
        bench.silo.close()


@pytest.fixture
def bench(bench_of: Callable[..., Bench]) -> Bench:
    return bench_of()
