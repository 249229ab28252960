"""The silo's last word: whatever a job asks for in excess is refused, with the words to change it."""

import re
from collections.abc import Callable
from typing import Any, get_args

import pytest

from siloseal.federation.analytics.config import AnalyticsJob
from siloseal.federation.averages.config import AverageJob
from siloseal.federation.errors import PolicyRefused
from siloseal.federation.job.job import Job
from siloseal.federation.job.phase_sums import phase_sum
from siloseal.federation.job.phases import Phase
from siloseal.federation.job.releases import NOTHING_TRAINED, Lengths
from siloseal.federation.privacy.accounting import epsilon_of
from siloseal.federation.privacy.events import (
    BinomialRelease,
    GaussianRelease,
    SampledGaussianSteps,
    SkellamRelease,
    exchanged,
)
from siloseal.federation.privacy.least_noise import smallest_noise
from siloseal.federation.sums.config import SumKind
from siloseal.silo.allowance import NOTHING_SPENT, Spent, cost_of_one_example
from siloseal.silo.config import Policy
from siloseal.silo.policy import allow, check_policy
from siloseal.silo.queries import events_of_queries

OF_TRAINING = ("tuning_sums", "learners", "largest_model")
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


def check(policy: Policy, job: Job, *, length: int = LENGTH, spent: Spent = NOTHING_SPENT) -> None:
    check_policy(policy, job, silo="north", lengths=Lengths(100, length), spent=spent)


def refused(policy: Policy, job: Job, *, length: int = LENGTH, spent: Spent = NOTHING_SPENT) -> str:
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
     {"privacy": ["silo_level"]}, "privacy.epsilon is 6 at .*, .* 1[34].* .*policy.largest_epsilon is 10"),
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


def test_what_earlier_runs_have_spent_is_named_and_rounded_up(job_of: Callable[..., Job]) -> None:
    policy = policy_of(largest_epsilon=15)
    check(policy, job_of(), spent=Spent((GaussianRelease(0.5),)))
    words = refused(policy, job_of(), spent=Spent((GaussianRelease(0.3),)))  # about 20 by itself
    assert re.search("privacy.epsilon is 10 .* (19|2).*, .*policy.largest_epsilon is 15", words)
    for unbounded in (Spent(unbounded="too old"), Spent((GaussianRelease(5.0),), unbounded="too old")):
        words = refused(policy, job_of(), spent=unbounded)
        assert " inf" in words
        assert "too old" in words
        assert words.count("silo.yaml") == 2, "another state folder is a way on"


def test_numbers_at_two_deltas_are_told_apart(job_of: Callable[..., Job]) -> None:
    job = job_of(privacy=example_level(epsilon=10, delta=1e-6))
    words = refused(policy_of(largest_epsilon=15), job, spent=Spent((GaussianRelease(0.3),)))
    assert re.search(r"privacy\.epsilon is 10 .* 1e-6 .* 1e-5 \(policy\.largest_delta\),", words)


def test_a_silo_level_job_is_held_to_what_it_and_earlier_runs_cost_an_example(job_of: Callable[..., Job]) -> None:
    """No data have to be known for it."""
    job = job_of(privacy={"kind": "silo_level", "epsilon": 6, "delta": 1e-5}, mechanism={"kind": "gaussian_local"})
    policy = policy_of(privacy=["silo_level"], largest_epsilon=15)
    check(policy, job)
    words = refused(policy, job, spent=Spent((GaussianRelease(1.0),)))
    assert re.search("privacy.epsilon is 6 .* [45].*, .* 1[5-7].* .*policy.largest_epsilon is 15", words)


def test_a_job_that_no_theorem_counts_for_an_example_is_refused_with_the_reason(
    job_of: Callable[..., Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    release = BinomialRelease(4000, 1.0, 1.0, 400.0, 1, 1e-6)
    monkeypatch.setattr("siloseal.silo.policy.costs_of", lambda *_: {"phase_1": [release]})
    silo_level = {"kind": "silo_level", "epsilon": 6, "delta": 1e-5}
    job = job_of(privacy=silo_level, mechanism={"kind": "binomial"}, schedule={**TWO_PHASE, "tuning_rounds": 0})
    words = refused(policy_of(privacy=["silo_level"]), job)
    assert cost_of_one_example(job, [release]).unbounded in words
    assert words.count("silo.yaml") == 1, "another state folder would not help"


class TestAllowing:
    """What only the data tell: how many steps a job takes, at which rate."""

    STEPS = (0.05, 300)

    def steps(self, epsilon: float, delta: float = 1e-5) -> SampledGaussianSteps:
        rate, steps = self.STEPS
        noise = smallest_noise(lambda z: [SampledGaussianSteps(rate, z, steps)], epsilon=epsilon, delta=delta)
        return SampledGaussianSteps(rate, noise, steps)

    def test_of_ten_runs_of_epsilon_1_that_cost_3_and_a_half_together_seven_fit_into_3(
        self, job_of: Callable[..., Job]
    ) -> None:
        job, one, spent = job_of(privacy=example_level(epsilon=1)), self.steps(1.0), NOTHING_SPENT
        assert 3.3 < Spent((one,) * 10).epsilon(1e-5) < 3.6
        for _ in range(7):
            allowed = allow(policy_of(largest_epsilon=3), job, [one], silo="north", spent=spent)
            assert allowed.planned == (one,)
            spent = Spent((*spent.events, one))
        with pytest.raises(PolicyRefused) as error:
            allow(policy_of(largest_epsilon=3), job, [one], silo="north", spent=spent)
        words = str(error.value)
        assert re.search("privacy.epsilon is 1 .* 3, .* 3.15 ", words), "to a twentieth of what is allowed"
        assert re.match("north's policy .* small: .* policy.largest_epsilon is 3; .*silo.yaml$", words)

    def test_training_and_queries_compose(self, job_of: Callable[..., Job]) -> None:
        job, one = job_of(privacy=example_level(epsilon=1)), self.steps(1.0)
        answered = Spent((SkellamRelease(variance=200.0, l2=1.0, l1=1.0),))
        apart = answered.epsilon(1e-5) + 1
        together = answered.plus(Spent((one,))).epsilon(1e-5)
        assert 1 < together < 0.95 * apart
        allow(policy_of(largest_epsilon=together), job, [one], silo="north", spent=answered)
        with pytest.raises(PolicyRefused):
            allow(policy_of(largest_epsilon=0.99 * together), job, [one], silo="north", spent=answered)

    def test_a_task_level_job_costs_an_image_what_an_exchanged_task_costs(self, job_of: Callable[..., Job]) -> None:
        task_level = {"kind": "task_level", "epsilon": 4, "delta": 1e-5}
        few_shot = {"learner": {"kind": "protonet"}, "data": {"kind": "strokes"}, "evaluation": {}}
        job = job_of(privacy=task_level, warm_start={"kind": "none"}, **few_shot)
        task = self.steps(4.0)
        image = epsilon_of([exchanged(task)], 1e-5)
        assert image > 1.5 * 4
        allow(policy_of(largest_epsilon=image), job, [task], silo="north", spent=NOTHING_SPENT)
        with pytest.raises(PolicyRefused, match=r"privacy\.epsilon is 4 .*policy\.largest_epsilon"):
            allow(policy_of(largest_epsilon=0.95 * image), job, [task], silo="north", spent=NOTHING_SPENT)

    def test_a_job_without_noise_has_no_epsilon_to_be_held_to(self, job_of: Callable[..., Job]) -> None:
        allow(policy_of(), job_of(privacy={"kind": "none"}), [], silo="north", spent=Spent(unbounded="no noise"))


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

    def check(self, policy: Policy, job: AnalyticsJob, spent: Spent) -> None:
        check_policy(policy, job, silo="north", lengths=NOTHING_TRAINED, spent=spent)

    def test_are_allowed_by_no_policy_that_does_not_name_them(self) -> None:
        with pytest.raises(PolicyRefused, match=r"policy\.queries"):
            self.check(policy_of(), self.job(), NOTHING_SPENT)

    def test_that_ask_for_no_more_than_is_allowed_pass(self) -> None:
        self.check(policy_of(queries=["mean", "histogram"]), self.job(), NOTHING_SPENT)

    def test_about_the_first_record_of_each_person_are_held_to_what_one_record_costs(self) -> None:
        """Without it, the person's next one counts."""
        job = self.job(privacy={"epsilon": 2, "delta": 1e-6, "person": {"column": "who", "records": 1}})
        one = cost_of_one_example(job, events_of_queries(job, [])).epsilon(1e-5)
        assert one > 3
        self.check(policy_of(queries=["histogram"], largest_epsilon=one), job, NOTHING_SPENT)
        with pytest.raises(PolicyRefused):
            self.check(policy_of(queries=["histogram"], largest_epsilon=0.95 * one), job, NOTHING_SPENT)

    def test_a_policy_for_queries_alone_says_nothing_of_training_and_allows_none(
        self, job_of: Callable[..., Job]
    ) -> None:
        written = policy_of(queries=["histogram"]).model_dump(mode="json")
        policy = Policy.model_validate({k: v for k, v in written.items() if k not in OF_TRAINING})
        self.check(policy, self.job(), NOTHING_SPENT)
        words = refused(policy, job_of(), length=1)
        assert [f"policy.{name}" in words for name in OF_TRAINING] == [True] * 3
        assert Policy.model_validate(policy.model_dump(mode="json")) == policy  # as a kit writes it out

    @pytest.mark.parametrize(
        ("changes", "sections", "spent"),
        [
            ({"largest_epsilon": 1}, {}, NOTHING_SPENT),
            ({}, {}, Spent((GaussianRelease(0.45),))),
            ({"largest_delta": 1e-7}, {}, NOTHING_SPENT),
            ({"mechanisms": ["ddg"]}, {"mechanism": {"kind": "skellam"}}, NOTHING_SPENT),
            ({"mechanisms": ["skellam"]}, {}, NOTHING_SPENT),  # the job leaves the kind open, and ddg needs less noise
            ({"privacy": ["silo_level"]}, {}, NOTHING_SPENT),
            ({}, {"secure_sum": {"kind": "secagg"}}, NOTHING_SPENT),
            ({"fewest_silos": 4}, {}, NOTHING_SPENT),
            ({"queries": ["mean"]}, {}, NOTHING_SPENT),
            ({"queries": []}, {}, NOTHING_SPENT),
        ],
    )
    def test_that_ask_for_more_are_refused(
        self, changes: dict[str, Any], sections: dict[str, Any], spent: Spent
    ) -> None:
        with pytest.raises(PolicyRefused):
            self.check(policy_of(**{"queries": ["histogram"], **changes}), self.job(**sections), spent)


class TestAverages:
    """An average opens without noise: no epsilon allows it, only its name does."""

    def job(self, **sections: Any) -> AverageJob:
        named = {"name": "own", "silos": {"names": ["north", "east", "south"]}, "secure_sum": {"kind": "ckks"}}
        return AverageJob.model_validate({**named, "averages": 3, **sections})

    def check(self, policy: Policy, job: AverageJob) -> None:
        check_policy(policy, job, silo="north", lengths=NOTHING_TRAINED, spent=NOTHING_SPENT)

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
