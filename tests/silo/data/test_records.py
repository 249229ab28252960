"""Records as examples: by the declaration and the record alone, with what is missing, unseen or out of range stated."""

from pathlib import Path
from typing import Any

import pytest
import torch

from siloseal.federation.errors import DataError
from siloseal.federation.job.sections.columns import Columns
from siloseal.federation.job.sections.tables import CsvRecords, EmbeddedTable
from siloseal.silo.data.examples import Examples
from siloseal.silo.data.loading import load, place
from siloseal.silo.data.records import encode, encode_known_targets
from siloseal.silo.data.tables import read_table
from tests.federation.job.sections.test_columns import AGE, DIAGNOSIS, SEX, SIZE

HEADER = "age,sex,note,diagnosis,size"


def examples(folder: Path, *lines: str, header: str = HEADER, delimiter: str = ",", **changes: Any) -> Examples:
    (folder / "north.csv").write_text("\n".join([header, *lines]) + "\n")
    declared = Columns.model_validate({"columns": [AGE, SEX], "target": DIAGNOSIS, **changes})
    return encode(read_table(folder / "north.csv", delimiter), declared)


def inputs_of(folder: Path, column: dict[str, Any], *fields: str) -> list[list[float]]:
    lines = [f"{field},benign" for field in fields]
    rows = examples(folder, *lines, header=f"{column['name']},diagnosis", columns=[column])
    return [[round(number, 6) for number in row] for row in rows.inputs.tolist()]


def test_a_record_becomes_numbers_in_the_order_of_the_declaration(tmp_path: Path) -> None:
    found = examples(tmp_path, "30,m,secret,malignant,2", "80,f,,benign,1")
    assert found.inputs.tolist() == [[pytest.approx(0.3), 0, 1], [pytest.approx(0.8), 1, 0]]
    assert found.labels.tolist() == [1, 0]
    assert (found.shape, found.classes) == ((3,), 2)


def test_what_is_not_declared_does_not_count(tmp_path: Path) -> None:
    one = examples(tmp_path, "30,m,a,malignant,2")
    other = examples(tmp_path, "malignant,x,m,,30", header="diagnosis,ward,sex,note,age")
    assert torch.equal(one.inputs, other.inputs)


def test_a_table_that_lacks_a_declared_column_says_which_of_them_it_has_and_no_other_name(tmp_path: Path) -> None:
    with pytest.raises(DataError) as refused:
        examples(tmp_path, "30,m,a,malignant,2", header="SECRET,sex,note,diagnosis,size")
    assert all(word in str(refused.value) for word in ("'age'", "'sex'", "'diagnosis'", "5 columns"))
    assert not any(word in str(refused.value) for word in ("SECRET", "note"))


def test_nobody_elses_record_changes_a_record(tmp_path: Path) -> None:
    """Scaling by what the data hold would: the extremes of the others would show."""
    alone = examples(tmp_path, "30,m,,malignant,2")
    together = examples(tmp_path, "30,m,,malignant,2", "0,f,,benign,1", "100,x,,benign,5")
    assert torch.equal(alone.inputs[0], together.inputs[0])


def test_beyond_its_range_a_number_counts_as_the_nearest_bound(tmp_path: Path) -> None:
    assert inputs_of(tmp_path, AGE, "-3", "0", "50", "100", "1e9") == [[0.0], [0.0], [0.5], [1.0], [1.0]]
    log = {**AGE, "range": [0.1, 10], "scale": "log"}
    assert inputs_of(tmp_path, log, "0", "0.1", "1", "10", "99") == [[0.0], [0.0], [0.5], [1.0], [1.0]]


@pytest.mark.parametrize(("missing", "expected"), [("middle", [[0.2], [0.5]]), ("indicator", [[0.2, 0.0], [0.5, 1.0]])])
def test_a_missing_number_counts_as_declared(tmp_path: Path, missing: str, expected: list[list[float]]) -> None:
    assert inputs_of(tmp_path, {**AGE, "missing": missing}, "20", "  ") == expected


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ({"missing": "zeros"}, [[1, 0], [0, 0], [0, 0]]),
        ({"missing": "zeros", "other": True}, [[1, 0, 0], [0, 0, 1], [0, 0, 0]]),
        ({"missing": "indicator"}, [[1, 0, 0], [0, 0, 0], [0, 0, 1]]),
        ({"missing": "indicator", "other": True}, [[1, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]),
    ],
)
def test_unseen_and_missing_values_count_as_declared(
    tmp_path: Path, column: dict[str, Any], expected: list[list[float]]
) -> None:
    assert inputs_of(tmp_path, {**SEX, **column}, "f", "x", "") == expected


def test_spaces_quotes_and_another_delimiter_are_read(tmp_path: Path) -> None:
    values = {**SEX, "name": "wa;rd", "values": ["i;cu", "er"]}
    lines = ['40 ; "i;cu";benign', '60;"i;cu";malignant', "60; er ;benign"]
    found = examples(
        tmp_path, *[line.replace('; "', ';"') for line in lines], header='age;"wa;rd";diagnosis', delimiter=";",
        columns=[AGE, values],
    )  # fmt: skip
    assert found.inputs[:, 1:].tolist() == [[1, 0], [1, 0], [0, 1]]


@pytest.mark.parametrize(
    ("line", "place"),
    [
        (",f,,benign,1", "line 3: the column 'age'"),
        ("SECRET,f,,benign,1", "line 3: the column 'age'"),
        ("nan,f,,benign,1", "line 3: the column 'age'"),
        ("30,,SECRET,benign,1", "line 3: the column 'sex'"),
        ("30,f,SECRET,,1", "line 3: the column 'diagnosis'"),
        ("30,f,,SECRET,1", "line 3: the column 'diagnosis'"),
        ("30,f,SECRET,benign,1,2", "line 3"),
    ],
)
def test_what_is_refused_is_named_by_file_line_and_column_and_never_quoted(
    tmp_path: Path, line: str, place: str
) -> None:
    with pytest.raises(DataError) as refused:
        examples(tmp_path, "30,f,,benign,1", line)
    assert f"north.csv, {place}" in str(refused.value)
    assert "SECRET" not in str(refused.value)


@pytest.mark.parametrize("header", ["years,sex,note,diagnosis,size", "age,sex,note,outcome,size"])
def test_a_declared_column_that_is_not_there_is_refused(tmp_path: Path, header: str) -> None:
    with pytest.raises(DataError):
        examples(tmp_path, "30,f,,benign,1", header=header)


def test_a_table_without_records_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError):
        examples(tmp_path)


def test_a_record_without_a_target_is_left_out_where_that_is_declared(tmp_path: Path) -> None:
    target = {**DIAGNOSIS, "missing": "leave_out"}
    found = examples(tmp_path, "30,f,,,1", "40,m,,benign,1", ",,,,", "30,f,,  ,1", target=target)
    assert found.inputs.tolist() == [[pytest.approx(0.4), 0, 1]]
    with pytest.raises(DataError):
        examples(tmp_path, "30,f,,,1", target=target)


def test_a_measured_target_is_scaled_by_its_declared_range(tmp_path: Path) -> None:
    found = examples(tmp_path, "30,f,,,1", "30,f,,,9", "30,f,,,-2", target=SIZE)
    assert found.labels.tolist() == [pytest.approx(0.2), 1.0, 0.0]
    assert (found.classes, found.labels.dtype) == (0, torch.float32)
    log = {**SIZE, "range": [0.1, 10], "scale": "log"}
    assert examples(tmp_path, "30,f,,,1", "30,f,,,10", target=log).labels.tolist() == [pytest.approx(0.5), 1.0]
    with pytest.raises(DataError) as refused:
        examples(tmp_path, "30,f,,,1", "30,f,,,", target=SIZE)
    assert "line 3: the column 'size'" in str(refused.value)


def test_the_first_of_several_records_without_a_declared_class_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError) as refused:
        examples(tmp_path, "30,f,,benign,1", "30,f,,SECRET,1", "30,f,,benign,1", "30,f,,ANOTHER,1")
    assert "line 3: the column 'diagnosis'" in str(refused.value)


def test_targets_of_records_to_predict_are_known_of_all_or_of_none(tmp_path: Path) -> None:
    """Whatever the job leaves out in training: no record that is asked about is passed over."""
    target = Columns.model_validate({"columns": [AGE], "target": {**DIAGNOSIS, "missing": "leave_out"}}).target

    def known(*fields: str, name: str = "diagnosis") -> list[int] | None:
        (tmp_path / "asked.csv").write_text("\n".join([f"age,{name}", *(f"30,{field}" for field in fields)]) + "\n")
        found = encode_known_targets(read_table(tmp_path / "asked.csv", ","), target)
        return None if found is None else found.tolist()

    assert known("malignant", "benign") == [1, 0]
    assert known("", "  ") is None
    assert known("malignant", "benign", name="outcome") is None
    with pytest.raises(DataError) as refused:
        known("malignant", " ", "benign")
    assert "line 3: the column 'diagnosis'" in str(refused.value)


class TestATableToTrainOn:
    def source(self, at: Path, records: int, **changes: Any) -> CsvRecords:
        lines = [f"{number},{'fm'[number % 2]},{('benign', 'malignant')[number % 4 == 0]}" for number in range(records)]
        (at / "north.csv").write_text("\n".join(["age,sex,diagnosis", *lines]) + "\n")
        document = {"kind": "csv", "columns": [AGE, SEX], "target": DIAGNOSIS, "file": at / "north.csv", **changes}
        return CsvRecords.model_validate(document)

    def test_is_split_by_class(self, tmp_path: Path) -> None:
        train, held_out = load(self.source(tmp_path, 40))
        assert (len(train), len(held_out)) == (32, 8)
        assert held_out.labels.bincount().tolist() == [6, 2]

    def test_is_known_by_its_place(self, tmp_path: Path) -> None:
        assert place(self.source(tmp_path, 4)) == (tmp_path / "north.csv").resolve()

    def test_needs_two_records(self, tmp_path: Path) -> None:
        with pytest.raises(DataError):
            load(self.source(tmp_path, 1))

    def test_is_one_file(self, tmp_path: Path) -> None:
        source = self.source(tmp_path, 10, file=None, folder=tmp_path)
        with pytest.raises(DataError):
            load(source)
        assert len(load(source.of_silo("north"))[0]) == 8


def test_the_embedded_table_is_read_by_its_declared_columns() -> None:
    radius = {"name": "mean radius", "kind": "number", "range": [5, 30]}
    source = EmbeddedTable.model_validate({"kind": "embedded_table", "columns": [radius], "target": DIAGNOSIS})
    train, held_out = load(source)
    assert len(train) + len(held_out) == 569
    assert (train.labels.sum() + held_out.labels.sum()).item() == 212, "malignant tumours, as published"
    means = [train.inputs[train.labels == label].mean().item() for label in (0, 1)]
    assert means[0] < means[1], "malignant nuclei are larger"
    assert place(source) is None
