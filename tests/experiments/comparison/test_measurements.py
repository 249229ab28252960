"""Measurements measure what they say: small ones, for real."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from pydantic import TypeAdapter

from siloseal.experiments.comparison import cell
from siloseal.experiments.comparison.measurements.jobs import JobMeasurement
from siloseal.experiments.comparison.measurements.noise import NoiseMeasurement
from siloseal.experiments.comparison.measurements.sums import SumMeasurement, _rows
from siloseal.experiments.comparison.measurements.traffic import TrafficMeasurement
from siloseal.experiments.comparison.rows import Measured, Row
from siloseal.federation.job.job import Job
from siloseal.federation.sums.config import SecureSumConfig
from siloseal.federation.sums.in_process import sum_in_process
from siloseal.federation.sums.ring.config import RingSumConfig
from siloseal.federation.sums.session import RealDomain
from siloseal.run_folder.run import read_run

SUM: TypeAdapter[SecureSumConfig] = TypeAdapter(SecureSumConfig)


def measured(rows: list[Row]) -> Measured:
    return Measured(comparison="", cell="", rows=tuple(rows))


@pytest.mark.parametrize(
    ("kind", "before", "after"), [("plain", 1, 1), ("secagg", 1, 1), ("additive", 0, 1), ("ring", 0, 0), ("ckks", 1, 1)]
)
def test_a_silent_silo_ends_the_sums_that_need_everyone(tmp_path: Path, kind: str, before: int, after: int) -> None:
    found = measured(
        SumMeasurement(kind="sum", secure_sum=SUM.validate_python({"kind": kind}), silos=4, length=50).run(tmp_path)
    )
    assert found.value("dropout_before_upload") == before
    assert found.value("dropout_after_upload") == after
    assert found.value("error") < 1e-5


def test_a_cell_of_a_job_tells_what_its_run_says(tmp_path: Path, small_job: Callable[..., Job]) -> None:
    schedule = {"kind": "two_phase", "batch": 16, "local_steps": 4, "tuning_rounds": 1, "tuning_steps": 2}
    job = small_job(schedule=schedule, evaluation={"classifiers": ["logistic"], "samples": 100})
    (tmp_path / cell.SETTINGS).write_text(JobMeasurement(kind="job", job=job).model_dump_json())
    cell.main(tmp_path)
    rows = [Row.model_validate_json(line) for line in (tmp_path / cell.ROWS).read_text().splitlines()]
    run = read_run(tmp_path / "run")
    finals = [row.value for row in rows if (row.measure, row.stage, row.silo) == ("accuracy", "final", "")]
    assert finals == [run.summary.final_accuracy]
    assert [row.value for row in rows if row.measure == "steps"] == [0, 4, 6]
    assert sum(row.value for row in rows if row.unit == "B" and row.silo) == run.summary.bytes
    spent = {row.silo: row.value for row in rows if row.measure == "epsilon" and row.stage == "total"}
    assert spent == {silo.name: silo.epsilon for silo in run.summary.silos}


def test_a_silos_seconds_are_those_of_the_mean_silo() -> None:
    """In a ring one silo works at a time: a round's work, shared by all, adds up to what the silos did."""
    vectors = {f"silo{number}": np.zeros(2000) for number in range(8)}
    total = sum_in_process(RingSumConfig(kind="ring").build(), vectors, domain=RealDomain(2000, 8.0))
    a_silo = sum(row.value for row in _rows(total) if row.measure == "silo_seconds")
    assert 8 * a_silo == pytest.approx(sum(one.seconds for one in total.exchanges))


def test_the_memory_of_a_sum_is_its_own_whatever_the_program_that_started_it_had(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from siloseal.experiments.comparison.memory import forget_peak, peak_bytes\n"
        "import numpy as np\n"
        "np.ones(2**23)\n"  # 64 MiB, gone again
        "forget_peak()\n"
        "before = peak_bytes()\n"
        "kept = np.ones(2**22)\n"  # 32 MiB
        "print(peak_bytes() - before)\n"
    )
    ballast = np.ones(2**25)  # 256 MiB, which a child would inherit the mark of
    grown = int(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)
    assert ballast.nbytes > grown > 0.9 * 2**25
    assert grown < 1.3 * 2**25


def test_noise_is_what_the_mechanism_was_calibrated_for(tmp_path: Path) -> None:
    """Central noise is the yardstick itself; of 20 silos each one's own adds up to sqrt 20 of it. Off by 10 % in 1000
    entries happens in one of 10^5 tries."""
    for kind, times in (("gaussian_central", 1.0), ("gaussian_local", 20**0.5)):
        found = measured(
            NoiseMeasurement(
                kind="noise", mechanism={"kind": kind}, epsilon=3, secure_sum={"kind": "plain"}, silos=20
            ).run(tmp_path)  # type: ignore[arg-type]  # pydantic makes sections of them
        )
        assert found.value("rmse") == pytest.approx(times * found.value("central_rmse"), rel=0.1)


def test_the_first_round_may_cost_more_than_the_others(tmp_path: Path) -> None:
    rows = TrafficMeasurement(
        kind="traffic",
        first={"kind": "ckks_joint_key"},
        others={"kind": "plain"},
        silos=3,
        parameters=1000,
        rounds=(1, 2, 3),
    ).run(tmp_path)  # type: ignore[arg-type]  # pydantic makes sections of them
    one, two, three = (row.value for row in rows if row.measure == "predicted_bytes")
    assert three - two == two - one < one / 10
