"""The formulas of traffic against what real sums and real runs send."""

from collections.abc import Callable
from pathlib import Path

import pytest

from experiments.comparison.measurements.jobs import JobMeasurement
from experiments.comparison.measurements.sums import SumMeasurement
from experiments.comparison.measurements.traffic import TrafficMeasurement
from experiments.comparison.rows import Row
from experiments.traffic import bytes_of_a_sum, paillier_bytes
from federation.config.job import Job
from federation.one_key.one_key_sum import PaillierSumConfig
from federation.plain.plain_sum import PlainSumConfig
from models.building import initial_model

PAILLIER, PLAIN = PaillierSumConfig(kind="paillier"), PlainSumConfig(kind="plain")


def all_bytes(rows: list[Row]) -> float:
    return sum(row.value for row in rows if row.measure in ("sent_bytes", "received_bytes"))


def test_batched_paillier_sends_what_its_formula_says(tmp_path: Path) -> None:
    """Between two lengths, so that letters and signatures, which the formula leaves out, cancel."""
    lengths, silos = (500, 1500), 2
    measured = [
        all_bytes(SumMeasurement(kind="sum", secure_sum=PAILLIER, silos=silos, length=n, dropouts=False).run(tmp_path))
        for n in lengths
    ]
    short, long = (bytes_of_a_sum(PAILLIER, length=length, silos=silos) for length in lengths)
    assert measured[1] - measured[0] == pytest.approx(long - short, rel=0.005)
    assert measured[1] == pytest.approx(long, rel=0.1)


def test_a_sum_of_a_million_numbers_of_ten_silos_by_hand() -> None:
    """24 bits and a sign, times ten silos, is below 2^29; the next power of two above, times ten: 33 bits a lane."""
    lanes = 2047 // 33
    ciphertexts = -(-1_000_000 // lanes)
    found = paillier_bytes(length=1_000_000, silos=10, key_bits=2048, precision_bits=24)
    assert found == 2 * 10 * ciphertexts * 512 + 8 * 1_000_000


def test_a_run_sends_what_the_formula_says(small_job: Callable[..., Job], tmp_path: Path) -> None:
    schedule = {"kind": "two_phase", "batch": 48, "local_steps": 10, "tuning_rounds": 3, "tuning_steps": 5}
    job = small_job(schedule=schedule)
    rows, parameters = JobMeasurement(kind="job", job=job).run(tmp_path), initial_model(job, (1, 8, 8), 10).size
    formula = TrafficMeasurement(
        kind="traffic", first=PLAIN, others=PLAIN, silos=3, parameters=parameters, rounds=(1, 4)
    ).run(tmp_path)
    until = {row.stage: row.value for row in formula if row.measure == "predicted_bytes"}
    assert all_bytes(rows) == pytest.approx(until["round 4"], rel=0.05)
    assert until["round 4"] > 2.4 * until["round 1"]
