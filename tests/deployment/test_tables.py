"""A classifier trained on tables between processes: columns in the job, records at the silos."""

from pathlib import Path
from typing import Any

from siloseal.federation.job.job import Job
from siloseal.federation.job.sections.columns import Columns
from siloseal.federation.job.sections.tables import CsvRecords
from siloseal.models.model_files import read_model
from siloseal.silo.data.loading import load

from .conftest import NAMES, POLICY, Consortium

DECLARED: dict[str, Any] = {
    "columns": [
        {"name": "age", "kind": "number", "range": [0, 100]},
        {"name": "ward", "kind": "category", "values": ["icu", "er"], "missing": "zeros"},
    ],
    "target": {"name": "ill", "kind": "category", "values": ["no", "yes"]},
}
SECTIONS: dict[str, Any] = {
    "name": "wards", "seed": 1, "data": {"kind": "at_silos", **DECLARED}, "silos": {"names": list(NAMES)},
    "learner": {"kind": "classifier", "model": "logistic"}, "optimizer": {"kind": "dp_adam", "learning_rate": 0.2},
    "privacy": {"kind": "example_level", "epsilon": 8, "delta": 1e-4}, "warm_start": {"kind": "none"},
    "schedule": {"kind": "two_phase", "batch": 50, "local_steps": 40, "tuning_rounds": 0},
    "secure_sum": {"kind": "secagg"},
}  # fmt: skip
RECORDS = 200


def write_table(path: Path, *, offset: int, header: str = "age,ward,ill,name") -> dict[str, Any]:
    """Records of people who are ill from 50 on, with a column that nobody declares."""
    ages = [(7 * number + offset) % 100 for number in range(RECORDS)]
    rows = [f"{age},{('icu', 'er', '')[age % 3]},{'yes' if age >= 50 else 'no'},SECRET" for age in ages]
    path.write_text("\n".join([header, *rows]) + "\n")
    return {"kind": "csv", "file": str(path)}


def test_silos_encode_their_own_tables_as_the_job_declares(tmp_path: Path) -> None:
    data = {name: write_table(tmp_path / f"{name}.csv", offset=place) for place, name in enumerate(NAMES)}
    policy = {**POLICY, "learners": ["classifier"], "largest_delta": 1e-4}
    consortium = Consortium(tmp_path / "wards", Job.model_validate(SECTIONS), data=data, policy=policy)
    try:
        consortium.start()
        assert [party.wait() for party in consortium.parties] == [0] * len(consortium.parties)
    finally:
        consortium.stop()
    stored = read_model(consortium.state("aggregator") / "global.safetensors")
    assert (stored.shape, stored.classes) == ((3,), 2)
    own = next(consortium.state("north").glob("runs/*/global.safetensors"))
    assert stored.columns == read_model(own).columns == Columns.model_validate(DECLARED)
    records, _ = load(CsvRecords.model_validate({**data["north"], **DECLARED}))
    right = (stored.network(records.inputs).argmax(1) == records.labels).float().mean()
    assert right > 0.8


def test_a_silo_whose_table_does_not_fit_refuses_before_anything_is_trained(tmp_path: Path) -> None:
    data = {name: write_table(tmp_path / f"{name}.csv", offset=0, header="years,ward,ill,name") for name in NAMES}
    policy = {**POLICY, "learners": ["classifier"], "largest_delta": 1e-4}
    consortium = Consortium(tmp_path / "wards", Job.model_validate(SECTIONS), data=data, policy=policy)
    try:
        consortium.silos["north"].start()
        assert consortium.aggregator.start().wait() == 1
        assert "years" not in consortium.aggregator.wait_for("error")["words"], "the silo's columns are its own"
        assert not list(consortium.state("north").glob("runs/*/ledger.jsonl"))
    finally:
        consortium.stop()
