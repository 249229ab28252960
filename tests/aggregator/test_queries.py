"""Queries at the aggregator: one sum for each release, in the job's order, among those who answer."""

from pathlib import Path

import pytest

from siloseal.federation.analytics.config import AnalyticsJob
from siloseal.federation.errors import SiloRefused
from siloseal.federation.privacy.events import GaussianRelease
from siloseal.federation.run_events.aggregator import QueryProgressed, StageBegan
from siloseal.federation.run_events.coordination import RoundBegan
from siloseal.federation.run_events.stream import RunEvent, unheard
from siloseal.federation.transport.wire import messages_pb2 as pb

from .real_silos import QUERIES, RECORDS, LossyEngine, answer, none_lost, query_silos

JOB = AnalyticsJob.model_validate(QUERIES)
STAGES = ["1. histogram of sex", "2. frequent values of medicine"]


def test_every_query_is_a_stage_and_every_release_a_preparation_and_a_sum(tmp_path: Path) -> None:
    events = list[RunEvent]()
    with query_silos(JOB, tmp_path) as silos:
        engine = LossyEngine(silos)
        found = answer(JOB, engine, tmp_path, events.append).result
    assert [one.query for one in found.answers] == [query.title for query in JOB.queries]
    seen = [event for event in events if isinstance(event, StageBegan | RoundBegan | QueryProgressed)]
    assert seen == [
        StageBegan(STAGES[0]),
        RoundBegan(1),
        QueryProgressed(STAGES[0], 1, 1),
        StageBegan(STAGES[1]),
        RoundBegan(2),
        QueryProgressed(STAGES[1], 1, 2),
        QueryProgressed(STAGES[1], 2, 2),
    ]
    kinds = [kind for silo, kind in engine.asked if silo == "north"]
    assert kinds == ["enrol", "begin", "nonces", *(["query", *["sum"] * 5] * 3), "finish"]


@pytest.mark.parametrize("silent_in", ["query", "sum"])
def test_a_silent_silo_is_left_out_of_one_release_and_is_in_the_next(tmp_path: Path, silent_in: str) -> None:
    def lost(silo: str, request: pb.Request) -> bool:
        return silo == "west" and request.WhichOneof("body") == silent_in and request.number < 10

    counts = dict[str, float]()
    for name, replies in (("all", none_lost), ("three", lost)):
        with query_silos(JOB, tmp_path / name) as silos:
            engine = LossyEngine(silos, replies)
            outcome = answer(JOB, engine, tmp_path / name, unheard)
        counts[name] = next(each.value for each in outcome.result.answers[0].estimates if each.name == "f")
    assert any("west" in note for note in outcome.notes)
    # Each silo has 30 such records. The noise of the difference has a standard deviation of 2.7, of which 20 is more
    # than seven.
    assert counts["all"] - counts["three"] == pytest.approx(RECORDS / 2, abs=20)
    later = [kind for silo, kind in engine.asked if silo == "west"]
    assert later.count("query") == 3


def test_the_silos_are_given_nothing_at_the_end(tmp_path: Path) -> None:
    """The answers are the aggregator's."""
    finishes = list[pb.Finish]()

    def kept(silo: str, request: pb.Request) -> bool:
        finishes.extend([request.finish] if request.WhichOneof("body") == "finish" else [])
        return False

    with query_silos(JOB, tmp_path) as silos:
        answer(JOB, LossyEngine(silos, kept), tmp_path, unheard)
    assert finishes == [pb.Finish()] * len(JOB.silos.names)


def test_a_silo_whose_budget_is_spent_ends_the_run_before_it_counts(tmp_path: Path) -> None:
    with query_silos(JOB, tmp_path) as silos:
        ledger = silos["north"].ledger
        assert ledger is not None
        ledger.charge(GaussianRelease(0.75), phase="something else")  # after it was opened with enough
        with pytest.raises(SiloRefused, match=r"^north .*BudgetExceeded"):
            answer(JOB, LossyEngine(silos), tmp_path, unheard)
