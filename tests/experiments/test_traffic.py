"""The formulas of traffic against what real sums and real runs send."""

from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import TypeAdapter, ValidationError

from siloseal.experiments.comparison.measurements.jobs import JobMeasurement
from siloseal.experiments.comparison.measurements.sums import SumMeasurement
from siloseal.experiments.comparison.measurements.traffic import TrafficMeasurement
from siloseal.experiments.comparison.rows import Row
from siloseal.experiments.traffic import bytes_of_a_sum, paillier_bytes
from siloseal.federation.job.job import Job
from siloseal.federation.sums.config import SecureSumConfig
from siloseal.federation.sums.one_key.config import PaillierSumConfig
from siloseal.federation.sums.plain.config import PlainSumConfig
from siloseal.models.building import initial_model

PAILLIER, PLAIN = PaillierSumConfig(kind="paillier"), PlainSumConfig(kind="plain")


def all_bytes(rows: list[Row]) -> float:
    return sum(row.value for row in rows if row.measure in ("sent_bytes", "received_bytes"))


def test_batched_paillier_sends_what_its_formula_says(tmp_path: Path) -> None:
    """Between two lengths, so that sealed keys and signatures, which the formula leaves out, cancel."""
    lengths, silos = (500, 1500), 2
    measured = [
        all_bytes(SumMeasurement(kind="sum", secure_sum=PAILLIER, silos=silos, length=n, dropouts=False).run(tmp_path))
        for n in lengths
    ]
    short, long = (bytes_of_a_sum(PAILLIER, length=length, silos=silos) for length in lengths)
    assert measured[1] - measured[0] == pytest.approx(long - short, rel=0.005)
    assert measured[1] == pytest.approx(long, rel=0.1)


def test_a_sum_of_a_million_numbers_of_ten_silos_by_hand() -> None:
    """24 bits and a sign, times ten silos, is below 2^29: 29 bits a lane."""
    lanes = 2047 // 29
    ciphertexts = -(-1_000_000 // lanes)
    found = paillier_bytes(PAILLIER, length=1_000_000, silos=10)
    assert found == 2 * 10 * ciphertexts * 512 + 8 * 1_000_000


@pytest.mark.parametrize("kind", ["plain", "ckks", "secagg", "additive", "ring", "ckks_one_key"])
def test_bytes_of_all_silos_are_counted_whoever_sends_most(tmp_path: Path, kind: str) -> None:
    config = TypeAdapter(SecureSumConfig).validate_python({"kind": kind})
    rows = SumMeasurement(kind="sum", secure_sum=config, silos=3, length=500, dropouts=False).run(tmp_path)
    # Compression of stock CKKS, and of nothing else, makes sizes vary a little.
    assert bytes_of_a_sum(config, length=500, silos=3) == pytest.approx(all_bytes(rows), rel=0.01)


def test_silos_that_keep_the_sum_need_no_model(tmp_path: Path) -> None:
    settings = {"kind": "traffic", "first": PAILLIER, "others": PAILLIER, "silos": 4, "parameters": 7000, "rounds": [2]}
    ours, published = (
        TrafficMeasurement.model_validate({**settings, "silos_keep_the_sum": kept}).run(tmp_path)[-1].value
        for kept in (False, True)
    )
    assert ours - published == 3 * 4 * 4 * 7000 + 2 * 8 * 7000
    with pytest.raises(ValidationError, match=r"silos_keep_the_sum .*paillier"):
        TrafficMeasurement.model_validate({**settings, "others": PLAIN, "silos_keep_the_sum": True})


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
