"""What a person reads in a terminal of 80 columns, or in a file that the output went to: all of it."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from rich.console import Console as Terminal

from siloseal.cli.console import Console
from siloseal.cli.status_table import print_status
from siloseal.federation.job.job import Job
from siloseal.federation.job.planning import SiloPlan
from siloseal.federation.transport.wire import consortium_pb2 as pb
from siloseal.run_folder.metrics import ProtectionMetric
from siloseal.run_folder.run import Run
from siloseal.runs.plan import Plan, SiloCost
from siloseal.runs.plan_table import print_plan

UPLOADS = [
    ProtectionMetric(stage="phase_2", what="tuned generator and size of each silo", scheme="plain",
                     hidden_from_aggregator=False, note="not hidden: the aggregator learns every silo's vector"),
]  # fmt: skip
WIDTHS = pytest.mark.parametrize("columns", [None, "80", "40"])


def narrow(monkeypatch: pytest.MonkeyPatch, columns: str | None) -> None:
    """A pipe says nothing about its width."""
    if columns is None:
        monkeypatch.delenv("COLUMNS", raising=False)
    else:
        monkeypatch.setenv("COLUMNS", columns)


@WIDTHS
def test_the_result_of_a_run_is_whole(
    run: Run,
    columns: str | None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    narrow(monkeypatch, columns)
    silos = [silo.model_copy(update={"name": f"university_hospital_{silo.name}"}) for silo in run.summary.silos]
    Console(quiet=False, json=False).final(replace(run, summary=run.summary.model_copy(update={"silos": silos})))
    out = capsys.readouterr().out
    assert "…" not in out
    for silo in silos:
        for text in (silo.name, f"{silo.examples:,}", f"{silo.accuracy_alone:.3f}", f"{silo.accuracy_trained:.3f}"):
            assert text in out, text


@WIDTHS
def test_a_plan_is_whole(
    small_job: Callable[..., Job],
    columns: str | None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    narrow(monkeypatch, columns)
    phases = {"warm_start": 1.01, "phase_1": 8.123, "phase_2": 3.4, "total": 9.98}
    cost = SiloCost("university_hospital_north", 160_000, 1053, SiloPlan(0.25, 1.234, {"phase_1": 30}), phases)
    sizes = {"phase_1": 12_345_678, "phase_2": 3_456_789}
    plan = Plan([cost], None, 28_064, sizes, sizes, 10**6, {"phase_1": 200.0}, UPLOADS, small_job())
    print_plan(Terminal(highlight=False), plan)
    out = capsys.readouterr().out
    assert "…" not in out
    for text in ("university_hospital_north", "160,000", "0.2500", "1.234", "8.13", "9.98", "12.3 MB", "3 min 20 s",
                 "generator", "plain", "vector"):  # fmt: skip
        assert text in out, text


@WIDTHS
def test_a_status_is_whole(
    columns: str | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    narrow(monkeypatch, columns)
    silo = pb.SiloStatus(silo="university_hospital_north", attending=True, sent_bytes=12_345_678,
                         received_bytes=98_765_432, epsilon_spent=4.321, trouble="refused: the budget is spent")  # fmt: skip
    print_status(pb.StatusReport(job="digits", phase="phase_1", silos=[silo], seconds=5))
    out = capsys.readouterr().out
    assert "…" not in out
    for text in ("university_hospital_north", "12.3 MB", "98.8 MB", "4.33", "refused:", "budget", "spent"):
        assert text in out, text
