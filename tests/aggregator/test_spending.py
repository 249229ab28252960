"""What the aggregator publishes of the silos' budgets is never below their ledgers, once a release is over."""

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from siloseal.aggregator.spending import Spending
from siloseal.federation.analytics.config import AnalyticsJob
from siloseal.federation.analytics.releases import planned_epsilon
from siloseal.federation.errors import MessageError
from siloseal.federation.job.job import Job
from siloseal.federation.job.phases import Phase
from siloseal.federation.job.releases import Lengths, release_of
from siloseal.federation.run_events.aggregator import BudgetSpent, QueryProgressed
from siloseal.federation.run_events.coordination import ModelReleased
from siloseal.federation.run_events.stream import RunEvent
from siloseal.federation.transport.engine import Accept
from siloseal.federation.transport.wire import messages_pb2 as pb
from siloseal.silo.runtime import Silo

from .real_silos import QUERIES, LossyEngine, answer, none_lost, query_silos, train, training_silos

JobOf = Callable[..., Job]
Figures = dict[str, tuple[float, float]]
"""What was published of each silo, and what its ledger stands at."""
SCHEDULE = {"kind": "two_phase", "batch": 48, "local_steps": 12, "tuning_rounds": 2, "tuning_steps": 12}
KERNEL_MEAN = {"kind": "kernel_mean", "epsilon": 3, "frequencies": 20, "length_scale": 1.0, "fit_steps": 2}
SILO_LEVEL = {
    "privacy": {"kind": "silo_level", "epsilon": 4, "delta": 1e-4, "clip_norm": 0.5},
    "mechanism": {"kind": "gaussian_local"},
}


class Comparison:
    """A subscriber that compares, after every release, what was published with the ledgers."""

    def __init__(self, silos: Mapping[str, Silo]) -> None:
        self._silos, self._published = silos, dict[str, float]()
        self.releases = list[Figures]()

    def hear(self, event: RunEvent) -> None:
        match event:
            case BudgetSpent(silo, epsilon):
                self._published[silo] = epsilon
            case ModelReleased() | QueryProgressed():
                spent = {name: silo.ledger.epsilon for name, silo in self._silos.items() if silo.ledger is not None}
                self.releases.append({name: (self._published.get(name, 0.0), spent[name]) for name in spent})

    def require_enough(self) -> None:
        assert self.releases
        for number, figures in enumerate(self.releases):
            assert all(published >= spent for published, spent in figures.values()), (number, figures)


def trained(job: Job, folder: Path, lost: Any = none_lost) -> Comparison:
    with training_silos(job, folder) as silos:
        seen = Comparison(silos)
        train(job, LossyEngine(silos, lost), folder, seen.hear)
    return seen


def test_where_sums_cost_something_the_last_of_them_is_counted(small_job: JobOf, tmp_path: Path) -> None:
    """A silo reports before it joins a sum, so that its own report lacks what it is about to pay."""
    seen = trained(small_job(schedule=SCHEDULE, **SILO_LEVEL), tmp_path)
    seen.require_enough()
    assert all(published == spent > 3.9 for published, spent in seen.releases[-1].values())


def test_under_silo_level_a_silo_that_was_silent_in_training_has_paid_for_nothing(
    small_job: JobOf, tmp_path: Path
) -> None:
    def lost(silo: str, request: pb.Request) -> bool:
        return silo == "north" and request.train.phase == "phase_2" and request.train.round == 1

    silos = {"names": ["north", "east", "south"], "partition": {"kind": "iid"}, "fewest": 2}
    seen = trained(small_job(schedule=SCHEDULE, silos=silos, **SILO_LEVEL), tmp_path, lost)
    seen.require_enough()
    last = seen.releases[-1]
    assert last["north"][0] == last["north"][1] < last["east"][0]


def test_a_silo_that_was_silent_in_training_may_have_spent_all(small_job: JobOf, tmp_path: Path) -> None:
    """It has trained and paid, and its reply came too late; when it reports again, its own figure counts."""

    def lost(silo: str, request: pb.Request) -> bool:
        return silo == "north" and request.train.phase == "phase_2" and request.train.round == 1

    silos = {"names": ["north", "east", "south"], "partition": {"kind": "iid"}, "fewest": 2}
    job = small_job(schedule=SCHEDULE, silos=silos, warm_start=KERNEL_MEAN)
    seen = trained(job, tmp_path, lost)
    seen.require_enough()
    assert len(seen.releases) == 4
    assert [figures["north"][0] == job.privacy.epsilon for figures in seen.releases[:3]] == [False, False, True]
    assert seen.releases[3]["north"][0] == seen.releases[3]["east"][0], "all plan the same steps"


class TestWhatASiloStates:
    def spending(self, job: Job) -> tuple[Spending, Callable[[], list[float]]]:
        """Spending in this job, and the figures that it has published."""
        published = list[RunEvent]()
        return Spending(job, published.append), lambda: [
            event.epsilon_at_most for event in published if isinstance(event, BudgetSpent)
        ]

    @pytest.mark.parametrize("share", [-1e-9, 1.001, 1e307, math.inf, -math.inf, math.nan])
    def test_is_refused_where_no_ledger_can_stand_at_it(self, small_job: JobOf, share: float) -> None:
        job = small_job(schedule=SCHEDULE)
        with pytest.raises(MessageError, match="north"):
            self.spending(job)[0].check("north", share * job.privacy.epsilon)

    @pytest.mark.parametrize("share", [0.0, 5e-324, 0.05, 1.0, 1 + 1e-10])
    def test_may_be_anything_up_to_the_budget(self, small_job: JobOf, share: float) -> None:
        job = small_job(schedule=SCHEDULE)
        self.spending(job)[0].check("north", share * job.privacy.epsilon)

    def test_is_nothing_where_privacy_is_off(self, small_job: JobOf) -> None:
        spending, _ = self.spending(small_job(schedule=SCHEDULE, privacy={"kind": "none"}))
        spending.check("north", 0.0)
        with pytest.raises(MessageError, match="north"):
            spending.check("north", 0.1)

    def test_does_not_fall(self, small_job: JobOf) -> None:
        """No ledger does. What was assumed of a silent silo gives way to what it says, but not to less than before."""
        job = small_job(schedule=SCHEDULE)
        spending, figures = self.spending(job)
        for epsilon in (2.0, 1.0, 2.5):
            spending.report("north", epsilon)
        spending.miss(["north"])
        spending.report("north", 0.0)
        assert figures() == [2.0, 2.0, 2.5, job.privacy.epsilon, 2.5]

    def test_does_not_fall_below_what_sums_have_cost(self, small_job: JobOf) -> None:
        job = small_job(schedule=SCHEDULE, warm_start=KERNEL_MEAN)
        spending, figures = self.spending(job)
        spending.charge(release_of(job, Lengths(20, 20), Phase.WARM_START, 0), ["north"])
        spending.report("north", 0.0)
        assert figures()[0] == figures()[1] > 2.9

    @pytest.mark.parametrize("stated", [1e308, 5e-324], ids=str)
    def test_ends_no_run_but_its_own_silos_part(self, small_job: JobOf, tmp_path: Path, stated: float) -> None:
        """What is refused is not in the journal, so that a restart does not meet it again."""
        job = small_job(schedule=SCHEDULE)

        class Liar(LossyEngine):
            def ask(self, requests: Mapping[str, bytes], *, accept: Accept, **others: Any) -> None:
                def heard(silo: str, data: bytes) -> None:
                    reply = pb.Reply.FromString(data)
                    if silo == "north" and reply.HasField("prepared"):
                        reply.prepared.epsilon_spent = stated
                    accept(silo, reply.SerializeToString(deterministic=True))

                super().ask(requests, accept=heard, **others)

        published = list[RunEvent]()
        with training_silos(job, tmp_path) as silos:
            if stated < 1:
                train(job, Liar(silos), tmp_path, published.append)
            else:
                with pytest.raises(MessageError, match="north"):
                    train(job, Liar(silos), tmp_path, published.append)
                train(job, LossyEngine(silos), tmp_path, published.append)
        assert all(
            event.epsilon_at_most <= job.privacy.epsilon for event in published if isinstance(event, BudgetSpent)
        )


def test_the_kernel_mean_costs_what_its_release_says(small_job: JobOf, tmp_path: Path) -> None:
    seen = trained(small_job(schedule={**SCHEDULE, "tuning_rounds": 0}, warm_start=KERNEL_MEAN), tmp_path)
    assert all(published == spent > 2.9 for published, spent in seen.releases[0].values())


def test_without_privacy_nothing_is_spent(small_job: JobOf, tmp_path: Path) -> None:
    published = list[RunEvent]()
    job = small_job(
        schedule=SCHEDULE,
        privacy={"kind": "none"},
        silos={"names": ["north", "east", "south"], "partition": {"kind": "iid"}, "fewest": 2},
    )
    with training_silos(job, tmp_path) as silos:
        engine = LossyEngine(silos, lambda silo, request: silo == "north" and request.train.phase == "phase_2")
        train(job, engine, tmp_path, published.append)
    assert {event.epsilon_at_most for event in published if isinstance(event, BudgetSpent)} == {0.0}


@pytest.mark.parametrize("silent_in", ["query", "sum"])
def test_a_silo_that_was_silent_in_one_release_of_a_query_is_counted_if_it_may_have_paid(
    tmp_path: Path, silent_in: str
) -> None:
    """It pays when its sum begins, though its reply is lost, and for nothing where it only counted."""
    began = list[str]()

    def lost(silo: str, request: pb.Request) -> bool:
        kind = request.WhichOneof("body") or ""
        began.extend([kind] if kind in ("query", "sum") and kind not in began[-1:] else [])
        return silo == "north" and kind == silent_in and began.count(kind) == 1

    job = AnalyticsJob.model_validate(QUERIES)
    with query_silos(job, tmp_path) as silos:
        seen = Comparison(silos)
        answer(job, LossyEngine(silos, lost), tmp_path, seen.hear)
    seen.require_enough()
    # Not what was charged: when a query ends depends on the records.
    assert all(published == planned_epsilon(job) >= spent > 0 for published, spent in seen.releases[-1].values())
    charged = {name: len(silo.ledger.charges) for name, silo in silos.items() if silo.ledger is not None}
    releases = len(seen.releases)
    assert charged == {
        "north": releases - (silent_in == "query"),
        "east": releases,
        "south": releases,
        "west": releases,
    }
