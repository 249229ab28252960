"""The silo's last word: whatever a job asks for in excess is refused, with the words to change it."""

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest

from siloseal.federation.analytics.config import AnalyticsJob
from siloseal.federation.analytics.releases import query_releases
from siloseal.federation.averages.config import AverageJob
from siloseal.federation.config.loading import to_yaml
from siloseal.federation.errors import ConfigError, LedgerDamaged, PolicyRefused
from siloseal.federation.job.guarantee import guarantee_of
from siloseal.federation.job.job import Job
from siloseal.federation.job.phase_sums import phase_sum
from siloseal.federation.job.phases import Phase
from siloseal.federation.job.releases import NOTHING_TRAINED, Lengths
from siloseal.federation.privacy.accounting import epsilon_of
from siloseal.federation.privacy.events import GaussianRelease
from siloseal.federation.sums.config import SumKind
from siloseal.silo.config import Policy
from siloseal.silo.ledger import Budget, Ledger, open_ledger
from siloseal.silo.policy import JOB_FILE, check_policy, spent_in
from siloseal.silo.state import Checkpoint, SiloState

OF_TRAINING = ("tuning_sums", "learners", "largest_model")
FRESH = Budget(0.0, 0.0)
LENGTH = 5000
KINDS = get_args(SumKind)
CKKS = {"kind": "ckks"}
FEDAVG = {"kind": "fedavg", "rounds": 2, "batch": 48}
TWO_PHASE = {"kind": "two_phase", "batch": 48, "local_steps": 60, "tuning_rounds": 2}


def policy_of(**changes: Any) -> Policy:
    """As strict as it can be while it still allows the job of `job_of`."""
    strict = {
        "largest_epsilon": 10, "largest_delta": 1e-5, "fewest_silos": 3, "secure_sums": ["ckks"],
        "tuning_sums": ["plain"], "privacy": ["example_level"], "learners": ["gan"], "largest_model": LENGTH,
    }  # fmt: skip
    return Policy.model_validate({**strict, **changes})


@pytest.fixture
def job_of(small_job: Callable[..., Job]) -> Callable[..., Job]:
    def make(**sections: Any) -> Job:
        return small_job(**{"secure_sum": CKKS, "schedule": TWO_PHASE, **sections})

    return make


def check(policy: Policy, job: Job, *, length: int = LENGTH, spent: Budget = FRESH) -> None:
    check_policy(policy, job, silo="north", lengths=Lengths(100, length), spent=spent)


def refused(policy: Policy, job: Job, *, length: int = LENGTH, spent: Budget = FRESH) -> str:
    with pytest.raises(PolicyRefused) as error:
        check(policy, job, length=length, spent=spent)
    words = str(error.value)
    assert re.match("north's policy .*small: .*silo.yaml$", words)
    return words


def example_level(**changes: float) -> dict[str, Any]:
    return {"kind": "example_level", "epsilon": 10, "delta": 1e-5, **changes}


def test_a_job_at_every_limit_of_the_policy_is_allowed(job_of: Callable[..., Job]) -> None:
    check(policy_of(), job_of())


def test_every_field_of_the_policy_is_asked_about_here() -> None:
    asked = {words.split("policy.")[1].split()[0] for _, _, words in EXCESSES}
    assert asked | {"learners", "largest_model", "queries", "averages"} == set(Policy.model_fields)


EXCESSES: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"privacy": example_level(epsilon=10.1)}, {}, "privacy.epsilon is 10.1, but policy.largest_epsilon is 10"),
    ({"privacy": example_level(delta=2e-5)}, {}, "privacy.delta is 2e-5, but policy.largest_delta is 1e-5"),
    ({"privacy": {"kind": "none"}}, {}, "privacy.kind is none, but policy.privacy allows example_level"),
    ({"warm_start": {"kind": "kernel_mean", "epsilon": 2}, "mechanism": {"kind": "gaussian_central"}}, {},
     "mechanism.kind is gaussian_central, but policy.mechanisms allows gaussian_local, ddg, skellam, binomial, pbm, pbm_kashin"),
    ({"privacy": {"kind": "silo_level", "epsilon": 6, "delta": 1e-5}, "mechanism": {"kind": "gaussian_local"}},
     {"privacy": ["silo_level"]}, "privacy.epsilon is 6 .*13.83 .*policy.largest_epsilon is 10"),
    ({"secure_sum": {"kind": "plain"}}, {}, "secure_sum.kind is plain, but policy.secure_sums allows ckks"),
    ({}, {"tuning_sums": ["ckks"]}, "schedule.tuning_sum.kind is plain, but policy.tuning_sums allows ckks"),
    ({}, {"fewest_silos": 4},
     "over 3 silos .*silos.names, silos.fewest, schedule.fraction.* policy.fewest_silos is 4"),
    ({"silos": {"names": ["north", "east", "south"], "fewest": 2},
      "secure_sum": {"kind": "ckks", "threshold": 2}}, {}, "over 2 silos .*silos.names, silos.fewest, schedule.fraction.* policy.fewest_silos is 3"),
    ({"silos": {"names": ["north", "east", "south"], "fewest": 2},
      "secure_sum": {"kind": "secagg", "threshold": 2}}, {"secure_sums": ["secagg"]}, "over 2 silos .*silos.names, silos.fewest, schedule.fraction.* policy.fewest_silos is 3"),
    ({"schedule": {**FEDAVG, "fraction": 0.5}}, {}, "over 2 silos .*silos.names, silos.fewest, schedule.fraction.* policy.fewest_silos is 3"),
    ({"schedule": FEDAVG, "secure_sum": {"kind": "plain"}}, {}, "secure_sum.kind is plain, but policy.secure_sums"),
    ({"warm_start": {"kind": "leader", "silo": "north"}}, {"fewest_silos": 1},
     "warm_start.silo .*plain, .*policy.secure_sums allows ckks"),
    ({"warm_start": {"kind": "leader", "silo": "north"}}, {"fewest_silos": 2, "secure_sums": ["ckks", "plain"]},
     "over 1 silos .*silos.names, silos.fewest, schedule.fraction.* policy.fewest_silos is 2"),
]  # fmt: skip


@pytest.mark.parametrize(("sections", "changes", "words"), EXCESSES)
def test_a_job_that_asks_for_more_is_refused_with_both_fields_and_the_file(
    job_of: Callable[..., Job], sections: dict[str, Any], changes: dict[str, Any], words: str
) -> None:
    assert re.search(words, refused(policy_of(**changes), job_of(**sections)))


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_of_sum_is_allowed_where_the_policy_names_it_and_nowhere_else(
    job_of: Callable[..., Job], kind: str
) -> None:
    job = job_of(secure_sum={"kind": kind}, schedule={**TWO_PHASE, "tuning_sum": {"kind": kind}})
    check(policy_of(secure_sums=[kind], tuning_sums=[kind]), job)
    others = [other for other in KINDS if other != kind]
    for where, name in (("secure_sum", "secure_sums"), ("schedule.tuning_sum", "tuning_sums")):
        words = refused(policy_of(**{"secure_sums": KINDS, "tuning_sums": KINDS, name: others}), job)
        assert f": {where}.kind is {kind}, but policy.{name} allows {', '.join(others)}; change" in words


@pytest.mark.parametrize(
    ("kind", "over"), [("plain", 2), ("secagg", 3), ("secagg_plus", 3), ("additive", 3), ("ring", 3), ("ckks", 3)]
)
def test_a_sum_is_over_as_many_silos_as_its_scheme_needs_however_few_the_job_would_go_on_with(
    job_of: Callable[..., Job], kind: str, over: int
) -> None:
    """No threshold is given here: SecAgg's and CKKS's is three of three then."""
    silos = {"names": ["north", "east", "south"], "fewest": 2}
    job = job_of(silos=silos, secure_sum={"kind": kind}, schedule={**TWO_PHASE, "tuning_rounds": 0})
    assert phase_sum(job, Phase.PHASE_1).quorum == over
    check(policy_of(secure_sums=[kind], fewest_silos=over), job)
    words = refused(policy_of(secure_sums=[kind], fewest_silos=over + 1), job)
    assert f"over {over} silos" in words


def test_a_larger_model_is_refused(job_of: Callable[..., Job]) -> None:
    words = refused(policy_of(), job_of(), length=LENGTH + 1)
    assert f" {LENGTH + 1} parameters, but policy.largest_model is {LENGTH}" in words


def test_another_learner_is_refused(job_of: Callable[..., Job]) -> None:
    """A policy that allows only others is what a later version may bring."""
    policy = policy_of().model_copy(update={"learners": ("something_else",)})
    assert "learner.kind is gan, but policy.learners allows something_else" in refused(policy, job_of())


def test_everything_that_is_too_much_is_said_at_once(job_of: Callable[..., Job]) -> None:
    job = job_of(privacy=example_level(epsilon=11, delta=1e-4), secure_sum={"kind": "plain"})
    words = refused(policy_of(fewest_silos=5), job, length=10**6)
    for field in ("largest_epsilon", "largest_delta", "secure_sums", "fewest_silos", "largest_model"):
        assert f"policy.{field}" in words


def test_the_other_silos_policy_does_not_mind_a_leader(job_of: Callable[..., Job]) -> None:
    check(policy_of(), job_of(warm_start={"kind": "leader", "silo": "east"}))


def test_a_job_without_tuning_rounds_is_not_asked_about_their_sum(job_of: Callable[..., Job]) -> None:
    check(policy_of(tuning_sums=["ckks"]), job_of(schedule={**TWO_PHASE, "tuning_rounds": 0}))


def test_what_earlier_runs_have_spent_counts(job_of: Callable[..., Job]) -> None:
    policy = policy_of(largest_epsilon=15, largest_delta=3e-5)
    check(policy, job_of(), spent=Budget(5.0, 2e-5))
    words = refused(policy, job_of(), spent=Budget(5.1, 2.1e-5))
    assert re.search("privacy.epsilon is 10 .* 5.25, .*policy.largest_epsilon is 15", words)
    assert re.search("privacy.delta is 1e-5 .* 2.1e-5, .*policy.largest_delta is 3e-5", words)


class TestEarlierRuns:
    @pytest.fixture
    def run_of(self, job_of: Callable[..., Job], tmp_path: Path) -> Callable[..., Path]:
        """A run's folder as a silo leaves it."""

        def make(name: str, *, trained: bool = True, releases: int = 1, **sections: Any) -> Path:
            job, folder = job_of(**sections), tmp_path / name
            state = SiloState(folder)
            (folder / JOB_FILE).write_text(to_yaml(job))
            if job.privacy.kind != "none":
                budget = Budget(job.privacy.epsilon, job.privacy.delta)
                path, guarantee = folder / "ledger.jsonl", guarantee_of(job)
                with Ledger(path, silo="north", budget=budget, guarantee=guarantee) as ledger:
                    for _ in range(releases):
                        ledger.charge(GaussianRelease(noise_multiplier=5.0), phase="warm_start")
            if trained:
                state.save(Checkpoint(3, "phase_1", charges=releases if job.privacy.kind != "none" else 0))
            return folder

        return make

    def test_cost_what_their_ledgers_say_and_their_deltas(self, run_of: Callable[..., Path]) -> None:
        one = spent_in([run_of("a")], "north")
        assert 0 < one.epsilon < 10
        assert one.delta == 1e-5
        both = spent_in([run_of("b"), run_of("c", privacy=example_level(delta=1e-6))], "north")
        assert both.epsilon > 2 * one.epsilon
        assert both.delta == pytest.approx(1.1e-5)

    def test_cost_an_example_more_where_the_silo_as_a_whole_was_protected(self, run_of: Callable[..., Path]) -> None:
        """With the example or without it, what left is another vector within the clip norm: twice as far, not as far."""
        silo_level = {"kind": "silo_level", "epsilon": 10, "delta": 1e-5}
        whole = spent_in([run_of("a", privacy=silo_level, mechanism={"kind": "gaussian_local"})], "north")
        assert whole.epsilon == pytest.approx(epsilon_of([GaussianRelease(2.5)], 1e-5))

    def test_cost_nothing_while_nothing_was_made_of_the_data(self, run_of: Callable[..., Path]) -> None:
        assert spent_in([run_of("a", trained=False, releases=0)], "north") == FRESH
        assert spent_in([], "north") == FRESH

    def test_cost_what_their_ledgers_say_when_the_networks_were_deleted_too(self, run_of: Callable[..., Path]) -> None:
        assert spent_in([run_of("a", trained=False)], "north") == spent_in([run_of("b")], "north")

    def test_cost_everything_if_they_had_no_noise(
        self, run_of: Callable[..., Path], job_of: Callable[..., Job]
    ) -> None:
        spent = spent_in([run_of("a", privacy={"kind": "none"})], "north")
        assert spent == Budget(math.inf, math.inf)
        assert "earlier runs have spent up to inf" in refused(policy_of(), job_of(), spent=spent)

    def test_whose_ledger_is_gone_cannot_be_counted(self, run_of: Callable[..., Path]) -> None:
        folder = run_of("a")
        (folder / "ledger.jsonl").unlink()
        with pytest.raises(LedgerDamaged, match=str(folder / "ledger.jsonl")):
            spent_in([folder], "north")

    @pytest.mark.parametrize("left", [0, 1, 2, 1.5], ids=["nothing", "header", "one of two charges", "half a line"])
    def test_whose_ledger_has_lost_lines_cannot_be_counted(self, run_of: Callable[..., Path], left: float) -> None:
        folder = run_of("a", releases=2)
        path = folder / "ledger.jsonl"
        lines = path.read_bytes().splitlines(keepends=True)
        half = lines[int(left)][:20] if left != int(left) else b""
        path.write_bytes(b"".join(lines[: int(left)]) + half)
        before = path.read_bytes()
        with pytest.raises(LedgerDamaged, match=str(path)):
            spent_in([folder], "north")
        assert path.read_bytes() == before

    def test_whose_checkpoint_is_damaged_say_which_file_to_restore(self, run_of: Callable[..., Path]) -> None:
        folder = run_of("a")
        (path := folder / "checkpoint.safetensors").write_bytes(b"\xff" + path.read_bytes()[1:])
        with pytest.raises(LedgerDamaged, match=str(path)):
            spent_in([folder], "north")

    def test_whose_job_was_put_in_from_another_run_cannot_be_counted(self, run_of: Callable[..., Path]) -> None:
        """The ledger of a silo as a whole costs one example more than an example's with the same budget."""
        silo_level = {"kind": "silo_level", "epsilon": 10, "delta": 1e-5}
        whole = run_of("a", privacy=silo_level, mechanism={"kind": "gaussian_local"})
        (whole / JOB_FILE).write_bytes((run_of("b") / JOB_FILE).read_bytes())
        with pytest.raises(LedgerDamaged, match=str(whole)):
            spent_in([whole], "north")

    def test_whose_ledger_is_another_silos_cannot_be_counted(self, run_of: Callable[..., Path]) -> None:
        folder = run_of("a")
        assert spent_in([folder], "north").epsilon > 0
        with pytest.raises(LedgerDamaged, match="north"):
            spent_in([folder], "east")

    def test_whose_job_is_damaged_cannot_be_counted(self, run_of: Callable[..., Path]) -> None:
        folder = run_of("a")
        (folder / JOB_FILE).write_text("name: [")
        with pytest.raises(ConfigError, match=JOB_FILE):
            spent_in([folder], "north")


class TestQueries:
    """A job of queries is held to the same policy; one record is one example."""

    def job(self, **sections: Any) -> AnalyticsJob:
        return AnalyticsJob.model_validate(
            {
                "name": "look",
                "data": {"kind": "csv", "folder": "."},
                "silos": {"names": ["north", "east", "south"]},
                "privacy": {"epsilon": 2, "delta": 1e-6},
                "secure_sum": {"kind": "ckks"},
                "queries": [{"kind": "histogram", "column": "sex", "values": ["f", "m"]}],
                **sections,
            }
        )

    def check(self, policy: Policy, job: AnalyticsJob, spent: Budget) -> None:
        check_policy(policy, job, silo="north", lengths=NOTHING_TRAINED, spent=spent)

    def test_are_allowed_by_no_policy_that_does_not_name_them(self) -> None:
        with pytest.raises(PolicyRefused, match=r"policy\.queries"):
            self.check(policy_of(), self.job(), FRESH)

    def test_that_ask_for_no_more_than_is_allowed_pass(self) -> None:
        self.check(policy_of(queries=["mean", "histogram"]), self.job(), FRESH)

    def test_a_policy_for_queries_alone_says_nothing_of_training_and_allows_none(
        self, job_of: Callable[..., Job]
    ) -> None:
        written = policy_of(queries=["histogram"]).model_dump(mode="json")
        policy = Policy.model_validate({k: v for k, v in written.items() if k not in OF_TRAINING})
        self.check(policy, self.job(), FRESH)
        words = refused(policy, job_of(), length=1)
        assert [f"policy.{name}" in words for name in OF_TRAINING] == [True] * 3
        assert Policy.model_validate(policy.model_dump(mode="json")) == policy  # as a kit writes it out

    @pytest.mark.parametrize(
        ("changes", "sections", "spent"),
        [
            ({"largest_epsilon": 1}, {}, FRESH),
            ({}, {}, Budget(policy_of().largest_epsilon - 1, 0.0)),
            ({"largest_delta": 1e-7}, {}, FRESH),
            ({"mechanisms": ["ddg"]}, {}, FRESH),
            ({"privacy": ["silo_level"]}, {}, FRESH),
            ({}, {"secure_sum": {"kind": "secagg"}}, FRESH),
            ({"fewest_silos": 4}, {}, FRESH),
            ({"queries": ["mean"]}, {}, FRESH),
            ({"queries": []}, {}, FRESH),
        ],
    )
    def test_that_ask_for_more_are_refused(
        self, changes: dict[str, Any], sections: dict[str, Any], spent: Budget
    ) -> None:
        with pytest.raises(PolicyRefused):
            self.check(policy_of(**{"queries": ["histogram"], **changes}), self.job(**sections), spent)

    def test_that_were_answered_count_in_what_is_spent(self, tmp_path: Path) -> None:
        job = self.job(secure_sum={"kind": "secagg"})
        (tmp_path / "job.yaml").write_text(to_yaml(job))
        ledger = open_ledger(job, "north", tmp_path, worked_before=False)
        assert ledger is not None
        for release in query_releases(job):
            assert release.event is not None
            ledger.charge(release.event, phase=release.entry)
        ledger.close()
        assert spent_in([tmp_path], "north") == Budget(pytest.approx(2, abs=0.02), 1e-6)

    def test_that_ended_early_count_as_planned(self, tmp_path: Path) -> None:
        """When a query ends depends on the data: one release of eight costs what the job's statement says."""
        job = self.job(queries=[{"kind": "heavy_hitters", "column": "ward"}])
        (tmp_path / "job.yaml").write_text(to_yaml(job))
        ledger = open_ledger(job, "north", tmp_path, worked_before=False)
        assert ledger is not None
        assert (ledger.stated_epsilon, ledger.epsilon) == (0.0, 0.0)
        event = next(query_releases(job)).event
        assert event is not None
        ledger.charge(event, phase="one of eight")
        assert ledger.epsilon < 1 < ledger.stated_epsilon == pytest.approx(2, abs=0.02)
        ledger.close()
        assert spent_in([tmp_path], "north") == Budget(2.0, 1e-6)


class TestAverages:
    """An average opens without noise: no epsilon allows it, only its name does."""

    def job(self, **sections: Any) -> AverageJob:
        named = {"name": "own", "silos": {"names": ["north", "east", "south"]}, "secure_sum": {"kind": "ckks"}}
        return AverageJob.model_validate({**named, "averages": 3, **sections})

    def check(self, policy: Policy, job: AverageJob) -> None:
        check_policy(policy, job, silo="north", lengths=NOTHING_TRAINED, spent=FRESH)

    def test_are_allowed_by_name_and_by_no_epsilon(self) -> None:
        with pytest.raises(PolicyRefused, match=r"policy\.averages"):
            self.check(policy_of(largest_epsilon=1000, privacy=["none"]), self.job())
        self.check(policy_of(averages=True), self.job())

    @pytest.mark.parametrize(
        ("sections", "key"),
        [
            ({"secure_sum": {"kind": "plain"}}, "secure_sums"),
            ({"silos": {"names": ["north", "east"]}}, "fewest_silos"),
        ],
    )
    def test_are_held_to_the_sums_and_to_the_number_of_silos(self, sections: dict[str, Any], key: str) -> None:
        with pytest.raises(PolicyRefused, match=rf"policy\.{key}"):
            self.check(policy_of(averages=True), self.job(**sections))

    def test_cost_everything_that_a_later_job_could_spend(self, tmp_path: Path, job_of: Callable[..., Job]) -> None:
        (tmp_path / JOB_FILE).write_text(to_yaml(self.job()))
        assert spent_in([tmp_path], "north") == FRESH
        SiloState(tmp_path).save(Checkpoint(4, "module"))
        spent = spent_in([tmp_path], "north")
        assert spent == Budget(math.inf, math.inf)
        refused(policy_of(averages=True), job_of(), spent=spent)
        check_policy(policy_of(averages=True), self.job(), silo="north", lengths=NOTHING_TRAINED, spent=spent)
