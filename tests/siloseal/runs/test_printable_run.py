"""A run that is read back and printed."""

from collections.abc import Callable
from pathlib import Path

from siloseal.federation.analytics.query import Answer, Estimate
from siloseal.run_folder.run import read_run
from siloseal.runs.printable_run import printable_run


def test_is_the_run_of_its_folder_and_prints_its_stages_and_silos(make_run: Callable[..., Path]) -> None:
    finished = make_run()
    plain = read_run(finished)
    run = printable_run(plain)
    assert (run.summary, run.quality, run.samples) == (plain.summary, plain.quality, plain.samples)
    for name in (run.summary.name, *(silo.name for silo in run.summary.silos)):
        assert name in str(run)


def test_what_an_aggregator_does_not_know_is_not_in_the_text(make_run: Callable[..., Path]) -> None:
    run = printable_run(read_run(make_run(written_by="aggregator", classifier="", accuracy={})))
    assert "Accuracy" not in str(run)
    assert all(silo.name in str(run) for silo in run.summary.silos)


def test_a_run_of_queries_prints_its_answers(make_run: Callable[..., Path]) -> None:
    mean = Estimate(name="mean", value=49.5, low=49.0, high=50.0)
    answer = Answer(query="age", estimates=(mean,))
    run = printable_run(read_run(make_run(answers=(answer,), classifier="", accuracy={})))
    assert "Accuracy" not in str(run)
    assert all(word in str(run) for word in ("age", "49.5"))
