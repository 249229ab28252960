"""A run that is read back and printed."""

from collections.abc import Callable
from pathlib import Path

from siloseal.run_folder.summary import read_run
from siloseal.runs.printable_run import printable_run


def test_is_the_run_of_its_folder_and_prints_its_stages_and_silos(make_run: Callable[..., Path]) -> None:
    finished = make_run()
    plain = read_run(finished)
    run = printable_run(plain)
    assert (run.summary, run.quality, run.samples) == (plain.summary, plain.quality, plain.samples)
    for name in (run.summary.name, *(silo.name for silo in run.summary.silos)):
        assert name in str(run)
