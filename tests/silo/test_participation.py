"""A silo's part in one run: the job as it was offered, checked, agreed to, and kept."""

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
import yaml

from siloseal.federation.errors import BudgetExceeded, LedgerDamaged, MessageError
from siloseal.federation.job.agreement import Agreement
from siloseal.federation.job.beacon import commit, join_nonces
from siloseal.federation.job.contributions import start_of
from siloseal.federation.job.job import Job
from siloseal.federation.job.phases import Phase
from siloseal.federation.job.releases import Lengths, Run, release_of
from siloseal.federation.privacy.accounting import epsilon_of
from siloseal.federation.privacy.events import SampledGaussianSteps
from siloseal.federation.privacy.guarantee import NO_GUARANTEE
from siloseal.federation.randomness import SeededRandomness
from siloseal.federation.records.identity import Identity
from siloseal.federation.transport.wire import consortium_pb2, masked_pb2, sums_pb2
from siloseal.federation.transport.wire import messages_pb2 as pb
from siloseal.federation.transport.wire.codec import decode, to_array
from siloseal.federation.transport.wire.errors_pb2 import ErrorCode
from siloseal.federation.transport.wire.version import PROTOCOL_VERSION
from siloseal.models.building import initial_model
from siloseal.silo.config import SiloConfig
from siloseal.silo.data.examples import Examples
from siloseal.silo.data.tables import read_table
from siloseal.silo.messages import ReceivedRequest
from siloseal.silo.participation import Participation, require_kept, take_part, unended
from siloseal.silo.state import SiloState

NAMES = ("north", "east", "south")
SILOS = {name: Identity.create(name) for name in NAMES}
ROSTER = {name: identity.public for name, identity in SILOS.items()}
POLICY = {
    "largest_epsilon": 10, "largest_delta": 1e-4, "fewest_silos": 2, "secure_sums": ["plain"],
    "tuning_sums": ["plain"], "privacy": ["example_level", "none"], "learners": ["gan"], "largest_model": 10**6,
}  # fmt: skip
ROOMY = {"largest_epsilon": 1000, "largest_delta": 0.01}
SHORT = {"kind": "two_phase", "batch": 48, "local_steps": 2, "tuning_rounds": 0}
TASKS: dict[str, Any] = {
    "learner": {"kind": "protonet", "filters": 4, "shots": 1, "queries": 3},
    "privacy": {"kind": "task_level", "epsilon": 8, "delta": 1e-4},
    "evaluation": {},
    "schedule": {**SHORT, "batch": 8},
}
TASKS_ALLOWED: dict[str, Any] = {"learners": ["protonet"], "privacy": ["task_level"], "largest_epsilon": 30}
RUN, SECOND_RUN = b"1" * 32, b"2" * 32
NONCE = b"n" * 32
"""Nonce of every silo but north, which draws its own."""


class Desk:
    """Where offers to north arrive."""

    def __init__(self, small_job: Callable[..., Job], data: Examples, state: Path) -> None:
        self._job, self.data, self.state = small_job, data, state
        self.made: list[Participation] = []

    def job(self, **sections: Any) -> Job:
        return self._job(**{"schedule": SHORT, "data": {"kind": "at_silos"}, **sections})

    def offered(
        self, job: Job | str, run: bytes = RUN, *, policy: dict[str, Any] | None = None, **config: Any
    ) -> Participation:
        read = self.config(policy=policy, **config)
        offer = consortium_pb2.JobOffer(run_id=run, job=job if isinstance(job, str) else job.model_dump_json())
        for earlier in self.made:
            earlier.close()
        self.made.append(
            take_part(
                read,
                offer,
                self.data,
                identity=SILOS["north"],
                roster=ROSTER,
                randomness=SeededRandomness(1),
                publish=lambda _: None,
            )
        )
        return self.made[-1]

    def config(self, *, policy: dict[str, Any] | None = None, **config: Any) -> SiloConfig:
        document = {
            "name": "north", "aggregator": {"host": "localhost", "port": 1}, "identity": "identity.key",
            "roster": "roster.yaml", "tls": {"certificate": "c", "key": "k", "authority": "a"}, "state": self.state,
            "data": {"kind": "digits"}, "policy": {**POLICY, **(policy or {})}, **config,
        }  # fmt: skip
        return SiloConfig.model_validate(document)

    def folder(self, run: bytes = RUN) -> Path:
        return self.state / "runs" / run.hex()

    def train(self, part: Participation, job: Job, run: bytes = RUN) -> None:
        """From enrolment through the first training."""
        agreement = Agreement(run, job.digest, ROSTER)
        model = to_array(initial_model(job, self.data.shape, self.data.classes))

        def ask(number: int, **body: Any) -> pb.Reply:
            reply = reply_of(part, request(job, number, run, **body))
            assert reply.WhichOneof("body") != "refusal", reply.refusal
            return reply

        committed = {name: commit(agreement, name, NONCE) for name in NAMES}
        committed["north"] = ask(1, enrol=pb.Enrol()).enrolled.commitment
        signed = {name: agreement.sign(me, committed[name]) for name, me in SILOS.items()}
        begun = ask(2, begin=pb.Begin(agreements=pieces(signed), commitments=pieces(committed))).begun
        nonces = pieces(dict.fromkeys(NAMES, NONCE) | {"north": begun.nonce})
        ask(3, nonces=pb.Nonces(nonces=nonces))
        self.beacon = join_nonces(agreement, committed, nonces)
        ask(4, train=pb.Train(phase="phase_1", model=model))


@pytest.fixture
def desk(small_job: Callable[..., Job], digits: Examples, tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(small_job, digits, tmp_path / "state")
    yield desk
    for part in desk.made:
        part.close()


def pieces(said: dict[str, bytes]) -> list[sums_pb2.Piece]:
    return [sums_pb2.Piece(silo=silo, data=data) for silo, data in said.items()]


def request(job: Job, number: int = 1, run: bytes = RUN, **body: Any) -> ReceivedRequest:
    message = pb.Request(
        number=number,
        job_digest=job.digest,
        run_id=run,
        protocol_version=PROTOCOL_VERSION,
        **(body or {"enrol": pb.Enrol()}),
    )
    return ReceivedRequest.read(message.SerializeToString(deterministic=True), silo="north")


def reply_of(part: Participation, asked: ReceivedRequest) -> pb.Reply:
    return decode(pb.Reply, part.answer(asked).data)


class TestAJobWithinThePolicy:
    def test_is_agreed_to_signed_and_kept_in_the_runs_folder(self, desk: Desk) -> None:
        part = desk.offered(job := desk.job())
        assert part.refused == ""
        enrolled = reply_of(part, request(job)).enrolled
        assert enrolled.agreement == Agreement(RUN, job.digest, ROSTER).sign(SILOS["north"], enrolled.commitment)
        assert Job.model_validate(yaml.safe_load((desk.folder() / "job.yaml").read_text())) == job
        assert (desk.folder() / "job.yaml").stat().st_mode & 0o777 == 0o600
        assert part.epsilon == 0.0
        assert part.statement.startswith("north: (0.00, 1e-5)-differential privacy")
        assert not part.finished

    def test_is_agreed_to_again_after_a_restart_with_the_same_reply(self, desk: Desk) -> None:
        job = desk.job()
        first = desk.offered(job).answer(request(job))
        assert desk.offered(job).answer(request(job)) == first

    def test_may_be_written_otherwise_as_long_as_it_means_the_same(self, desk: Desk) -> None:
        desk.offered(job := desk.job())
        assert desk.offered(json.dumps(job.model_dump(mode="json"), sort_keys=True, indent=3)).refused == ""

    def test_without_privacy_has_no_guarantee_and_says_so(self, desk: Desk) -> None:
        part = desk.offered(desk.job(privacy={"kind": "none"}))
        assert part.epsilon is None
        assert part.statement == f"north: {NO_GUARANTEE}"


class TestAFewShotJob:
    """Its classes are the silo's own; its units are what the silo's ledger counts."""

    def test_is_agreed_to_and_says_what_a_task_pays(self, desk: Desk) -> None:
        part = desk.offered(job := desk.job(**TASKS), policy=TASKS_ALLOWED)
        assert part.refused == ""
        assert "one training task" in part.statement
        assert reply_of(part, request(job)).enrolled.classes == 1  # which ones is nobody's business

    def test_is_refused_where_an_image_would_cost_more_than_the_policy_allows(self, desk: Desk) -> None:
        """A task costs 8; an image changes a task into another, which costs more."""
        refused = desk.offered(desk.job(**TASKS), policy={**TASKS_ALLOWED, "largest_epsilon": 8.5}).refused
        assert re.match(r"PolicyRefused: .* privacy\.epsilon is 8 .* policy\.largest_epsilon is 8.5;", refused)
        assert not desk.folder().exists(), "nothing was written"

    def test_is_refused_where_the_policy_names_other_learners_or_units(self, desk: Desk) -> None:
        part = desk.offered(desk.job(**TASKS))
        assert "learner.kind is protonet" in part.refused
        assert "privacy.kind is task_level" in part.refused

    def test_is_refused_if_its_episodes_are_fresh_though_it_promises_privacy(self, desk: Desk) -> None:
        document = json.loads(desk.job(**TASKS).model_dump_json())
        document["learner"]["episodes"] = "fresh"
        part = desk.offered(json.dumps(document), policy=TASKS_ALLOWED)
        assert "learner.episodes is fresh" in part.refused

    def test_is_refused_by_a_silo_whose_images_count_several_times(self, desk: Desk) -> None:
        turned = {"kind": "omniglot", "folder": "/data/omniglot", "rotations": True}
        part = desk.offered(desk.job(**TASKS), policy=TASKS_ALLOWED, data=turned)
        assert part.refused.startswith("PolicyRefused: north cannot take part in the job small: data.rotations")


class TestAJobOnTables:
    """The job declares columns; the silo has the table, and encodes it by what the job says."""

    DECLARED: ClassVar[dict[str, Any]] = {
        "kind": "at_silos", "columns": [{"name": "age", "kind": "number", "range": [0, 100]}],
        "target": {"name": "ill", "kind": "category", "values": ["no", "yes"]},
    }  # fmt: skip
    SECTIONS: ClassVar[dict[str, Any]] = {"learner": {"kind": "classifier", "model": "logistic"}, "evaluation": {}}
    ALLOWED: ClassVar[dict[str, Any]] = {"learners": ["classifier"]}

    @pytest.fixture
    def clinic(self, desk: Desk, tmp_path: Path) -> Desk:
        """A desk whose silo holds a table."""
        rows = [f"{number % 100},{('no', 'yes')[number % 2]},x" for number in range(200)]
        (tmp_path / "north.csv").write_text("\n".join(["age,ill,name", *rows]) + "\n")
        return Desk(desk._job, read_table(tmp_path / "north.csv"), tmp_path / "clinic")  # type: ignore[arg-type]

    def test_is_agreed_to_and_the_records_are_of_the_declared_shape(self, clinic: Desk) -> None:
        job = clinic.job(data=self.DECLARED, **self.SECTIONS)
        part = clinic.offered(job, policy=self.ALLOWED, data={"kind": "csv", "file": "x.csv"})
        assert part.refused == ""
        enrolled = reply_of(part, request(job)).enrolled
        assert (list(enrolled.shape), enrolled.classes) == ([1], 2)
        part.close()

    def test_is_refused_by_a_silo_with_images(self, desk: Desk) -> None:
        part = desk.offered(desk.job(data=self.DECLARED, **self.SECTIONS), policy=self.ALLOWED)
        assert part.refused.startswith("DataError: ")

    def test_is_refused_without_declared_columns_or_with_columns_that_the_table_lacks(self, clinic: Desk) -> None:
        lacking = {**self.DECLARED, "columns": [{"name": "weight", "kind": "number", "range": [0, 100]}]}
        for data in ({"kind": "at_silos"}, lacking):
            job = clinic.job(data=data, **self.SECTIONS)
            part = clinic.offered(job, policy=self.ALLOWED, data={"kind": "csv", "file": "x.csv"})
            assert part.refused.startswith("DataError: ")
            refused = reply_of(part, request(job)).refusal
            assert "weight" not in refused.message
            assert "columns" not in refused.message, "what a silo's table has stays at the silo"

    @pytest.mark.parametrize("column", ["age", "weight"], ids=["a column it has", "a column it lacks"])
    def test_asks_the_policy_before_a_record_is_looked_at(self, clinic: Desk, column: str) -> None:
        declared = {**self.DECLARED, "columns": [{"name": column, "kind": "number", "range": [0, 100]}]}
        job = clinic.job(data=declared, **self.SECTIONS)
        part = clinic.offered(job, policy={"learners": ["gan"]}, data={"kind": "csv", "file": "x.csv"})
        assert part.refused.startswith("PolicyRefused: ")


class TestAJobOfQueries:
    QUERIES: ClassVar[dict[str, Any]] = {
        "name": "look", "data": {"kind": "at_silos"}, "silos": {"names": list(NAMES)},
        "privacy": {"epsilon": 4, "delta": 1e-5}, "secure_sum": {"kind": "secagg"},
        "queries": [{"kind": "histogram", "column": "label", "values": ["0", "1"]}],
    }  # fmt: skip
    ALLOWED: ClassVar[dict[str, Any]] = {"secure_sums": ["secagg"], "queries": ["histogram"]}

    def test_is_agreed_to_by_a_silo_with_images(self, desk: Desk) -> None:
        part = desk.offered(json.dumps(self.QUERIES), policy=self.ALLOWED)
        assert part.refused == ""
        assert part.statement.startswith("north: (4.00, 1e-5)-differential privacy for one record"), "as planned"
        assert "count as public" not in part.statement, "how many records a silo has stays hidden"

    def test_counts_with_what_training_has_spent(self, desk: Desk) -> None:
        part = desk.offered(job := desk.job())
        desk.train(part, job)
        tight, wide = ({**self.ALLOWED, "largest_delta": 1e-5, "largest_epsilon": most} for most in (10, 13.5))
        asked = json.dumps(self.QUERIES)
        assert desk.offered(asked, SECOND_RUN, policy=tight).refused.startswith("PolicyRefused: ")
        assert desk.offered(asked, SECOND_RUN, policy=wide).refused == "", "together they cost less than 10 + 4"

    def test_is_refused_where_one_image_would_be_several_records(self, desk: Desk) -> None:
        turned = {"data": {"kind": "omniglot", "folder": "x", "rotations": True}}
        assert desk.offered(json.dumps(self.QUERIES), policy=self.ALLOWED, **turned).refused.startswith(
            "PolicyRefused: "
        )

    def test_needs_the_columns_that_it_asks_about(self, desk: Desk) -> None:
        asked = {**self.QUERIES, "queries": [{**self.QUERIES["queries"][0], "column": "ward"}]}
        assert desk.offered(json.dumps(asked), policy=self.ALLOWED).refused.startswith("DataError: ")

    def test_whose_noise_cannot_be_drawn_is_refused_before_anything_is_charged(self, desk: Desk) -> None:
        fine = {"kind": "mean", "column": "brightness", "low": 0, "high": 1, "steps": 2**16}
        asked = {**self.QUERIES, "queries": [fine], "privacy": {"epsilon": 0.001, "delta": 1e-5}}
        part = desk.offered(json.dumps(asked), policy={**self.ALLOWED, "queries": ["mean"]})
        assert part.refused.startswith("ConfigError: ")
        assert not (desk.folder() / "ledger.jsonl").exists()

    def test_is_all_that_a_silo_with_a_table_takes_part_in(self, desk: Desk, tmp_path: Path) -> None:
        (tmp_path / "records.csv").write_text("label\n0\n1\n")
        desk.data = read_table(tmp_path / "records.csv")
        own = {"data": {"kind": "csv", "file": str(tmp_path / "records.csv")}}
        assert desk.offered(json.dumps(self.QUERIES), policy=self.ALLOWED, **own).refused == ""
        assert desk.offered(desk.job(), SECOND_RUN, **own).refused.startswith("DataError: ")


class TestARefusal:
    def test_answers_every_request_with_the_reason_and_leaves_nothing_that_binds(self, desk: Desk) -> None:
        part = desk.offered(job := desk.job(), policy={"largest_epsilon": 9})
        assert part.refused.startswith("PolicyRefused: north's policy does not allow the job small: privacy.epsilon")
        for message in (request(job), request(job, 7, train=pb.Train(phase="phase_1"))):
            reply = reply_of(part, message)
            assert reply.request_digest == message.digest
            assert (reply.silo, reply.number) == ("north", message.message.number)
            assert (reply.refusal.code, f"PolicyRefused: {reply.refusal.message}") == (
                ErrorCode.POLICY_REFUSED,
                part.refused,
            )
        assert "policy.largest_epsilon is 9" in (desk.state / "refusals.log").read_text()
        assert not desk.folder().exists()
        assert part.epsilon is None
        assert not part.finished
        assert desk.offered(desk.job()).refused == ""  # with the policy changed

    def test_of_a_job_that_changed_under_the_same_run(self, desk: Desk) -> None:
        desk.offered(job := desk.job())
        changed = desk.offered(desk.job(seed=job.seed + 1))
        assert changed.refused.startswith("SessionMismatch: ")
        assert desk.offered(job).refused == ""
        assert desk.offered(desk.job(seed=job.seed + 1), SECOND_RUN).refused == ""

    @pytest.mark.parametrize(
        ("names", "words"),
        [
            (["east", "south"], "north is not among the job's silos, east, south"),
            (["north", "west", "mallory"], "the job names mallory, west, whom this silo's roster does not know"),
        ],
    )
    def test_of_a_job_with_others(self, desk: Desk, names: list[str], words: str) -> None:
        part = desk.offered(desk.job(silos={"names": names}))
        assert part.refused.startswith(f"SessionMismatch: {words}")

    def test_of_what_is_no_job(self, desk: Desk) -> None:
        for junk in ("", "{", '{"epsilon": 3}', "\0", "&a [*a, *a]"):
            part = desk.offered(junk)
            assert part.refused.startswith("MessageError: ")
            reply = reply_of(part, request(desk.job()))
            assert reply.refusal.code == ErrorCode.MESSAGE_ERROR

    def test_of_public_data_that_are_the_silos_own(self, desk: Desk) -> None:
        part = desk.offered(desk.job(warm_start={"kind": "public", "data": {"kind": "digits"}}))
        assert part.refused.startswith("ConfigError: warm_start.data ")

    def test_by_the_policy_is_the_same_wherever_the_paths_of_the_job_lead(
        self, desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A stranger who could tell the replies apart would learn what lies at the silo."""
        monkeypatch.setenv("SET_HERE", str(tmp_path))
        (tmp_path / "link.npz").symlink_to(tmp_path / "own.npz")
        own = {"kind": "npz", "path": str(tmp_path / "own.npz")}
        paths = (
            own["path"],
            tmp_path / "link.npz",
            "${SET_HERE}/own.npz",
            "${NOT_SET}/x",
            "~nobody-of-this-name/x",
            "x",
        )
        replies = []
        for path in paths:
            job = desk.job(warm_start={"kind": "public", "data": {"kind": "npz", "path": str(path)}})
            part = desk.offered(job, policy={"learners": ["classifier"]}, data=own)
            replies.append(reply_of(part, request(job)).refusal)
        assert {(reply.code, reply.message) for reply in replies} == {(ErrorCode.POLICY_REFUSED, replies[0].message)}

    def test_is_none_for_a_public_path_wherever_it_leads_at_the_silo(
        self, desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Only the aggregator reads public data; the silo's reply must not depend on what lies at the silo."""
        monkeypatch.setenv("SET_HERE", str(tmp_path))
        monkeypatch.chdir(tmp_path)
        (tmp_path / "secret").mkdir()
        (tmp_path / "own.npz").touch()
        own = str(tmp_path / "own.npz")
        known, unknown = ("~root/x", "${SET_HERE}/own.npz", "secret/../own.npz"), ("~nobody-here/x", "$NOT_SET/x")
        for number, path in enumerate((own, *known, *unknown, "other/../own.npz", "/public.npz")):
            job = desk.job(warm_start={"kind": "public", "data": {"kind": "npz", "path": path}})
            part = desk.offered(job, bytes([number]) * 32, policy=ROOMY, data={"kind": "npz", "path": own})
            assert part.refused == "", path

    def test_for_classes_that_the_silo_has_and_does_not_declare_stays_in_the_silo(self, desk: Desk) -> None:
        part = desk.offered(job := desk.job(), classes=[0, 1, 2])
        assert "[3, 4, 5, 6, 7, 8, 9]" in part.refused
        reply = reply_of(part, request(job))
        assert reply.refusal.message == "DataError; the reason is in the silo's own refusals.log"

    @pytest.mark.parametrize(
        "section",
        [
            {"warm_start": {"kind": "public", "data": {"kind": "npz", "path": "a\0b"}}},
            {"schedule": {**SHORT, "batch": 10**400}},
            {"schedule": {"kind": "fedavg", "rounds": 1, "batch": 48, "local_epochs": 1e308}},
            {"largest_silo": 10**400},
            {"learner": {"kind": "gan", "generator_half_life_steps": 10**400}},
        ],
        ids=lambda section: next(iter(section)),
    )
    def test_of_numbers_and_paths_that_nothing_could_work_with(self, desk: Desk, section: dict[str, Any]) -> None:
        document = {**json.loads(desk.job().model_dump_json()), **section}
        assert desk.offered(json.dumps(document)).refused.startswith(("MessageError: ", "DataError: "))

    def test_of_an_offer_that_makes_a_library_fail_leaves_the_silo_alive(
        self, desk: Desk, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(*_: object, **__: object) -> None:
            raise RuntimeError("cannot allocate memory for 9 of my examples")

        monkeypatch.setattr("siloseal.silo.joining.vector_lengths", fail)
        part = desk.offered(job := desk.job())
        refusal = reply_of(part, request(job)).refusal
        assert refusal.message == part.refused == "RuntimeError; the reason is in the silo's own refusals.log"
        log = (desk.state / "refusals.log").read_text()
        assert "cannot allocate memory for 9 of my examples" in log
        assert "Traceback" in log, "it may be a bug"

    def test_is_none_for_trouble_of_the_silos_own_in_a_run_that_it_agreed_to(
        self, desk: Desk, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A supervisor starts it again; a refusal would end everybody's run."""
        desk.offered(job := desk.job())

        def fail(*_: object, **__: object) -> None:
            raise MemoryError

        monkeypatch.setattr("siloseal.silo.training.work.PrivateTrainer", fail)
        with pytest.raises(MemoryError):
            desk.offered(job)
        monkeypatch.undo()
        assert desk.offered(job).refused == "", "its ledger was released"


def test_what_everyone_agreed_to_in_another_run_does_not_count_in_this(desk: Desk) -> None:
    part = desk.offered(job := desk.job())
    desk.train(part, job)
    part = desk.offered(job, SECOND_RUN, policy={"largest_epsilon": 20})
    refusal = reply_of(part, request(job, 1, RUN)).refusal
    assert (refusal.code, refusal.message) == (
        ErrorCode.SESSION_MISMATCH,
        "the request belongs to another run than the offer",
    )
    assert not (desk.folder(SECOND_RUN) / "reply.bin").exists()


@pytest.mark.parametrize("what", ["", "job.yaml"])
def test_a_run_that_was_taken_part_in_must_be_there_with_its_job(desk: Desk, what: str) -> None:
    desk.offered(desk.job())
    require_kept(desk.state, [RUN.hex()])
    (desk.folder() / what).rename(desk.state / "aside")
    with pytest.raises(LedgerDamaged, match=RUN.hex()):
        require_kept(desk.state, [RUN.hex()])


class TestTheEndOfARun:
    def finish(self, desk: Desk, part: Participation, job: Job, run: bytes = RUN) -> None:
        desk.train(part, job, run)
        model = to_array(initial_model(job, desk.data.shape, desk.data.classes))
        assert not part.finished
        reply = reply_of(part, request(job, 5, run, finish=pb.Finish(model=model)))
        assert reply.WhichOneof("body") == "finished"

    def test_is_remembered_after_a_kill_until_the_process_has_ended_by_itself(self, desk: Desk) -> None:
        part = desk.offered(job := desk.job())
        assert unended(desk.config()) is None
        self.finish(desk, part, job)
        assert part.finished
        offer = unended(desk.config())
        assert offer is not None
        assert offer.run_id == RUN
        again = desk.offered(offer.job)
        assert (again.refused, again.finished) == ("", True)
        again.leave()
        assert unended(desk.config()) is None

    def test_is_not_said_again_when_another_run_has_begun_or_was_agreed_to(self, desk: Desk) -> None:
        policy = {"largest_epsilon": 20}
        self.finish(desk, desk.offered(job := desk.job(), policy=policy), job)
        part = desk.offered(job, SECOND_RUN, policy=policy)
        assert unended(desk.config()) is None, "the second may be under way"
        self.finish(desk, part, job, SECOND_RUN)
        offer = unended(desk.config())
        assert offer is not None
        assert offer.run_id == SECOND_RUN

    @pytest.mark.parametrize("name", ["reply.bin", "job.yaml"])
    @pytest.mark.parametrize("left", [False, True])
    def test_of_a_run_whose_files_were_damaged_since_keeps_nobody_from_the_next(
        self, desk: Desk, name: str, left: bool
    ) -> None:
        policy = {"largest_epsilon": 20}
        part = desk.offered(job := desk.job(), policy=policy)
        self.finish(desk, part, job)
        if left:
            part.leave()
        path = desk.folder() / name
        good = path.read_bytes()
        path.write_bytes(b"\xff" + good[1:])
        assert unended(desk.config()) is None
        if name == "reply.bin":  # without its job nobody knows what a run has spent
            desk.train(desk.offered(job, SECOND_RUN, policy=policy), job, SECOND_RUN)
            assert not path.exists(), "it may have held a key"

    def test_of_a_run_of_another_version_stays_possible_for_the_siloseal_that_began_it(self, desk: Desk) -> None:
        policy = {"largest_epsilon": 20}
        desk.train(desk.offered(job := desk.job(), policy=policy), job)
        path = desk.folder() / "reply.bin"
        last = SiloState(desk.folder()).load_reply()
        last.protocol_version, last.side = PROTOCOL_VERSION - 1, b"a side of that version"
        content = last.SerializeToString(deterministic=True)
        path.write_bytes(kept := hashlib.sha256(content).digest() + content)
        assert desk.offered(job, policy=policy).refused.startswith("RunError: ")
        desk.train(desk.offered(job, SECOND_RUN, policy=policy), job, SECOND_RUN)
        assert path.read_bytes() == kept

    def test_takes_the_keys_of_a_run_that_was_given_up_with_it(self, desk: Desk) -> None:
        """They go when everyone is in the next run, and not when somebody merely offers one."""
        ckks = {"secure_sum": {"kind": "ckks"}}
        policy = {"secure_sums": ["ckks"], "largest_epsilon": 20}
        part = desk.offered(job := desk.job(**ckks), policy=policy)
        desk.train(part, job)
        model = initial_model(job, desk.data.shape, desk.data.classes)
        release = release_of(job, Lengths(0, model.size), Phase.PHASE_1, 0)
        session = release.session(Run(desk.beacon, ROSTER), start_of(pb.Train(model=to_array(model))))
        (message,) = set(release.scheme.aggregator(session).open().values())
        advertise = request(job, 5, sum=pb.Sum(session=session.to_wire(), message=message))
        assert reply_of(part, advertise).WhichOneof("body") == "sum"
        seed = decode(masked_pb2.MaskedSiloState, SiloState(desk.folder()).load_reply().side).seed
        part = desk.offered(job, SECOND_RUN, policy=policy)
        assert seed in (desk.folder() / "reply.bin").read_bytes()
        desk.train(part, job, SECOND_RUN)
        assert not any(seed in path.read_bytes() for path in desk.state.rglob("*") if path.is_file())
        part = desk.offered(job, policy={**policy, "largest_epsilon": 40, "largest_delta": 1e-3})
        assert reply_of(part, advertise).WhichOneof("body") == "sum", "what has left may leave again"
        share = request(job, 6, sum=pb.Sum(session=session.to_wire(), message=message))
        assert reply_of(part, share).refusal.code == ErrorCode.WRONG_ROUND


def test_a_run_whose_number_is_no_runs_number_is_not_even_refused(desk: Desk) -> None:
    """Its folder's name would come from the network."""
    for run in (b"", b"short", b"x" * 33):
        with pytest.raises(MessageError, match=rf" {len(run)} bytes, .* 32$"):
            desk.offered(desk.job(), run)
    assert not desk.state.exists()


class TestWhatEarlierRunsSpent:
    def test_composes_with_what_the_job_plans_which_only_the_data_tell(self, desk: Desk) -> None:
        part = desk.offered(job := desk.job())
        desk.train(part, job)
        spent = part.epsilon or 0.0
        assert 9 < spent < 10
        refused = desk.offered(job, SECOND_RUN, policy={"largest_epsilon": 12, "largest_delta": 1e-5}).refused
        assert re.search(" and earlier runs have spent up to 10.2, together up to .*, but policy.largest_eps", refused)
        assert f"{spent:.4g}" not in refused, "the exact number tells how much data the silo has"
        assert not desk.folder(SECOND_RUN).exists(), "nothing was written"
        assert desk.offered(job, SECOND_RUN, policy={"largest_epsilon": 18, "largest_delta": 1e-5}).refused == ""

    def test_stops_the_ledger_where_a_crash_repeats_steps_that_only_the_jobs_own_budget_has_left(
        self, desk: Desk
    ) -> None:
        steps = SampledGaussianSteps(48 / len(desk.data), 1.0, 2)
        twice, thrice = (epsilon_of([steps] * times, 1e-5) for times in (2, 3))
        limit = (twice + thrice) / 2
        noisy = {"kind": "example_level", "epsilon": limit, "delta": 1e-5, "noise_multiplier": 1.0}
        job, policy = desk.job(privacy=noisy), {"largest_epsilon": limit, "largest_delta": 1e-5}
        desk.train(desk.offered(job, policy=policy), job)
        part = desk.offered(job, SECOND_RUN, policy=policy)
        desk.train(part, job, SECOND_RUN)
        assert part._silo is not None
        ledger = part._silo.ledger
        assert ledger is not None
        assert [charge.event for charge in ledger.charges] == [steps]
        with pytest.raises(BudgetExceeded, match="policy"):
            ledger.charge(steps, phase="phase_1")

    def test_in_the_run_itself_is_not_counted_twice(self, desk: Desk) -> None:
        part = desk.offered(job := desk.job())
        desk.train(part, job)
        again = desk.offered(job)
        assert again.refused == ""
        assert again.epsilon == part.epsilon

    def test_without_noise_leaves_nothing_for_a_private_job(self, desk: Desk) -> None:
        open_job = desk.job(privacy={"kind": "none"})
        desk.train(desk.offered(open_job), open_job)
        refused = desk.offered(desk.job(), SECOND_RUN).refused
        assert re.search(r" inf .*, but policy\.largest_epsilon", refused)
