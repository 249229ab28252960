"""`siloseal predict` on tables and on arrays with a declared range: records are encoded as training encoded its own."""

import csv
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.torch
import torch

import siloseal
from siloseal.federation.errors import ConfigError, DataError, RunError
from siloseal.federation.job.job import Job
from siloseal.federation.job.sections.columns import Columns
from siloseal.federation.job.sections.data import NpzFile
from siloseal.federation.job.sections.tables import CsvRecords
from siloseal.models.classifier.building import build_network
from siloseal.models.model_files import model_file, read_model
from siloseal.runs.class_names import class_names
from siloseal.runs.predicting import name_records, table_of
from siloseal.runs.run import run_job
from siloseal.silo.data.records import encode
from siloseal.silo.data.tables import read_table
from tests.federation.job.sections.test_columns import AGE, DIAGNOSIS, SEX, declared
from tests.siloseal.runs.test_predicting import LOGISTIC, model_in, npz
from tests.siloseal.runs.test_record_scoring import CLASSIFIER

SILOS = {"names": ["north", "east"]}
LINES = ["age,sex,diagnosis", *(f"{age},{'fm'[age % 2]},{'malignant' if age > 50 else 'benign'}" for age in range(99))]


def table(folder: Path, *lines: str) -> Path:
    (path := folder / "patients.csv").write_text("\n".join(lines) + "\n")
    return path


def stored(folder: Path, columns: Columns | None = None) -> Path:
    columns = columns or declared()
    network = build_network(LOGISTIC, (columns.inputs,), 2, seed=1)
    (path := folder / "global.safetensors").write_bytes(
        model_file(LOGISTIC, (columns.inputs,), 2, network, columns=columns)
    )
    return path


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a table whose fields are apart by a semicolon, with the run of its job in `run`."""
    folder = tmp_path_factory.mktemp("tables")
    source = table(folder, *(line.replace(",", ";") for line in LINES))
    data = {"kind": "csv", "file": str(source), "delimiter": ";", "columns": [AGE, SEX], "target": DIAGNOSIS}
    run_job(Job.model_validate({**CLASSIFIER, "data": data, "silos": SILOS, "evaluation": {}}), folder / "run")
    return folder


class TestARunOnATable:
    def test_names_records_as_the_declared_columns_encode_them(self, ran: Path) -> None:
        named = name_records(ran / "run", ran / "patients.csv")
        examples = encode(read_table(ran / "patients.csv", ";"), declared())
        assert torch.equal(named.asked.inputs, examples.inputs)
        assert named.asked.labels is not None
        assert torch.equal(named.asked.labels, examples.labels)
        assert named.names == ("benign", "malignant")
        header, rows = table_of(named)
        assert (rows[-1][header.index("actual name")], len(rows)) == ("malignant", 99)

    @pytest.mark.parametrize("origin", ["run", "run/silos/north"])
    def test_writes_files_that_suffice_without_the_run(self, ran: Path, origin: str, tmp_path: Path) -> None:
        alone = shutil.copy(ran / origin / "global.safetensors", tmp_path / "model.safetensors")
        elsewhere = table(tmp_path, *LINES)
        inside = name_records(ran / origin / "global.safetensors", ran / "patients.csv")
        outside = name_records(alone, elsewhere)
        assert np.array_equal(outside.predicted.probabilities, inside.predicted.probabilities)
        assert outside.names == inside.names

    def test_tells_no_path_in_its_model(self, ran: Path) -> None:
        assert b"patients" not in (ran / "run" / "global.safetensors").read_bytes()
        assert read_model(ran / "run" / "global.safetensors").columns == declared()

    def test_has_the_names_of_its_classes_in_the_summary(self, ran: Path) -> None:
        model = siloseal.read_run(ran / "run").summary.model
        assert model is not None
        assert model.class_names == ("benign", "malignant")

    def test_is_used_from_python_by_the_path_of_the_table(self, ran: Path) -> None:
        labels, shares = siloseal.predict(ran / "run", str(ran / "patients.csv"))
        assert np.array_equal(shares, name_records(ran / "run", ran / "patients.csv").predicted.probabilities)
        assert labels.tolist() == shares.argmax(1).tolist()
        with pytest.raises(ConfigError):
            siloseal.predict(siloseal.load_model(ran / "run"), ran / "patients.csv")


class TestTheTarget:
    @pytest.mark.parametrize("lines", [("age,sex", "30,f", "60,m"), ("sex,diagnosis,age", "f,,30", "m, ,60")])
    def test_need_not_be_known(self, tmp_path: Path, lines: tuple[str, ...]) -> None:
        named = name_records(stored(tmp_path), table(tmp_path, *lines))
        assert named.measures is None
        assert named.asked.inputs.tolist() == [[pytest.approx(0.3), 1, 0], [pytest.approx(0.6), 0, 1]]

    @pytest.mark.parametrize("missing", ["refuse", "leave_out"])
    def test_that_some_records_lack_passes_over_none(self, tmp_path: Path, missing: str) -> None:
        columns = declared(target={**DIAGNOSIS, "missing": missing})
        with pytest.raises(DataError, match="line 3"):
            name_records(stored(tmp_path, columns), table(tmp_path, "age,sex,diagnosis", "30,f,benign", "60,m,"))

    def test_of_an_unknown_class_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match="line 2"):
            name_records(stored(tmp_path), table(tmp_path, "age,sex,diagnosis", "30,f,SECRET"))

    def test_gives_names_that_the_caller_can_replace(self, tmp_path: Path) -> None:
        assert name_records(stored(tmp_path), table(tmp_path, *LINES), ("well", "ill")).names == ("well", "ill")


class TestRefusals:
    def test_a_model_of_other_data_takes_no_table(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match=r"\(3,\)"):
            name_records(model_in(tmp_path, (3,)), table(tmp_path, *LINES))

    @pytest.mark.parametrize("lines", [("sex,diagnosis", "f,benign"), ("age,sex", "old,f"), ("age,sex", ",f")])
    def test_what_training_would_refuse_is_refused(self, tmp_path: Path, lines: tuple[str, ...]) -> None:
        with pytest.raises(DataError, match="'age'"):
            name_records(stored(tmp_path), table(tmp_path, *lines))

    @pytest.mark.parametrize("delimiter", ["", ";;"])
    def test_a_delimiter_is_one_character(self, tmp_path: Path, delimiter: str) -> None:
        with pytest.raises(ConfigError):
            name_records(stored(tmp_path), table(tmp_path, *LINES), delimiter=delimiter)

    @pytest.mark.parametrize(
        "change",
        [{"columns": [AGE]}, {"target": {**DIAGNOSIS, "values": ["a", "b", "c"]}}, {"columns": []}],
        ids=["inputs", "classes", "none"],
    )
    def test_columns_that_do_not_fit_the_network_are_damage(self, tmp_path: Path, change: dict[str, Any]) -> None:
        path = stored(tmp_path)
        with safetensors.safe_open(path, framework="pt") as file:
            ((key, words),) = file.metadata().items()
        described = json.loads(words)
        described["columns"] |= change
        safetensors.torch.save_file(safetensors.torch.load_file(path), path, {key: json.dumps(described)})
        with pytest.raises(RunError):
            read_model(path)


class TestTheDeclaredRange:
    def test_of_the_job_scales_arrays_as_in_training(self, tmp_path: Path) -> None:
        rows = np.random.default_rng(0).integers(-60, 60, (40, 5))
        classes = (rows[:, 0] > 0).astype(np.int64)
        np.savez(tmp_path / "train.npz", x=rows, y=classes)
        data = {"kind": "npz", "path": str(tmp_path / "train.npz"), "range": [-50, 50]}
        run_job(Job.model_validate({**CLASSIFIER, "data": data, "silos": SILOS, "evaluation": {}}), tmp_path / "run")
        asked = name_records(tmp_path / "run", npz(tmp_path, x_test=rows, y_test=classes)).asked
        assert asked.inputs.numpy() == pytest.approx((rows.clip(-50, 50) + 50) / 100)
        shutil.copy(tmp_path / "run" / "global.safetensors", tmp_path / "alone.safetensors")
        with pytest.raises(DataError):
            name_records(tmp_path / "alone.safetensors", npz(tmp_path, x=rows))

    @pytest.mark.parametrize("wrong", [np.nan, np.inf])
    def test_numbers_that_are_not_finite_are_refused(self, tmp_path: Path, wrong: float) -> None:
        with pytest.raises(DataError, match=r"records\.npz"):
            name_records(model_in(tmp_path, (2,)), npz(tmp_path, x=np.array([[1.0, wrong]])))


def test_classes_have_the_names_of_the_declared_values() -> None:
    source = {"kind": "csv", "file": "x.csv", "columns": [AGE, SEX]}
    assert class_names(CsvRecords.model_validate({**source, "target": DIAGNOSIS})) == ("benign", "malignant")
    measured = {"name": "size", "kind": "number", "range": [0, 5]}
    assert class_names(CsvRecords.model_validate({**source, "target": measured})) == ()
    assert class_names(NpzFile(path=Path("x.npz"))) == ()


def test_the_command_names_a_table_by_the_models_file(tmp_path: Path) -> None:
    model, out = stored(tmp_path), tmp_path / "predictions.csv"
    source = table(tmp_path, *(line.replace(",", "|") for line in LINES))
    command = [sys.executable, "-m", "siloseal", "predict", "--model", model, "--data", source, "--out", out]
    done = subprocess.run([*command, "--delimiter", "|", "--json"], capture_output=True, text=True, check=True)
    document = json.loads(done.stdout)
    with out.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["name"] for row in rows] == [entry["name"] for entry in document["predictions"]]
    assert {row["actual name"] for row in rows} == {"benign", "malignant"}
