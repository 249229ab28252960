"""Tables of records: what is read, what is refused by line and column, and what stays secret."""

from pathlib import Path

import numpy as np
import pytest
import torch

from siloseal.federation.errors import DataError
from siloseal.silo.data.examples import Examples
from siloseal.silo.data.tables import Table, example_table, read_table

PATIENTS = "patient,sex,age\n1,f,30\n2,m,40\n1,f,31\n1,f,32\n3,m,50\n1,f,33\n"


def written(folder: Path, text: str) -> Table:
    (folder / "north.csv").write_text(text)
    return read_table(folder / "north.csv")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        ("sex,age\n", "no records"),
        ("sex,age\nf,30\nSECRET\n", "line 3: 1 fields, expected 2"),
        ("sex,sex\nf,30\n", "same name"),
        ("sex,\nf,30\n", "no name"),
        ('sex,age\n"f,30\n', "CSV"),
    ],
)
def test_a_file_that_is_no_table_is_refused_when_it_is_read(text: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=words) as refused:
        written(tmp_path, text)
    assert "SECRET" not in str(refused.value)


@pytest.mark.parametrize("text", ["SECRET", "", "nan", "inf", "1_0"])
def test_a_field_that_is_no_number_is_refused_by_line_and_column(text: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="line 3: the column 'age'") as refused:
        written(tmp_path, f"sex,age\nf,30\nm,{text}\n").numbers("age")
    assert "SECRET" not in str(refused.value)


def test_a_column_that_is_not_there_is_refused_with_those_of_the_asked_that_are(tmp_path: Path) -> None:
    with pytest.raises(DataError) as refused:
        written(tmp_path, "sex,years,SECRET\nf,30,x\n").require(["age", "sex"])
    assert all(word in str(refused.value) for word in ("'age'", "'sex'", "3 columns"))
    assert not any(word in str(refused.value) for word in ("years", "SECRET"))


def test_a_table_without_names_of_columns_does_not_print_its_first_record(tmp_path: Path) -> None:
    table = written(tmp_path, "SECRET Example,34,SECRET too\nBob,51,negative\n")
    for ask in (table.numbers, table.texts, table.numbers_or_missing, lambda name: table.first_of_each(name, 1)):
        with pytest.raises(DataError) as refused:
            ask("age")
        assert "SECRET" not in str(refused.value)
    assert "SECRET" not in repr(table)


def test_a_byte_order_mark_and_blank_lines_are_no_data(tmp_path: Path) -> None:
    found = written(tmp_path, "\ufeffsex,age\n\nf,30\n\n")
    assert list(found.columns) == ["sex", "age"]
    np.testing.assert_array_equal(found.numbers("age"), [30.0])
    assert "30" not in repr(found)


def test_text_in_another_encoding_and_missing_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_bytes("sex,age\n".encode("utf-16"))
    with pytest.raises(DataError, match="UTF-8"):
        read_table(tmp_path / "x.csv")
    with pytest.raises(DataError, match=r"none\.csv"):
        read_table(tmp_path / "none.csv")


def test_another_delimiter_is_read(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("sex;age\nf;30,5\n")
    assert read_table(tmp_path / "x.csv", ";").texts("age").tolist() == ["30,5"]


def test_the_first_records_of_each_person_count_whoever_else_is_there(tmp_path: Path) -> None:
    kept = written(tmp_path, PATIENTS).first_of_each("patient", 2)
    assert kept.lines.tolist() == [2, 3, 4, 6]
    without = "".join(line for line in PATIENTS.splitlines(keepends=True) if not line.startswith("1,"))
    assert written(tmp_path, without).first_of_each("patient", 2).numbers("age").tolist() == [40, 50]


def test_selected_records_keep_the_lines_that_they_came_from(tmp_path: Path) -> None:
    some = written(tmp_path, PATIENTS).select(np.array([4, 0]))
    assert (some.lines.tolist(), some.texts("sex").tolist()) == ([6, 2], ["m", "f"])


def test_other_examples_are_asked_about_by_their_targets() -> None:
    rows = torch.zeros(2, 3)
    assert list(example_table(Examples(rows, torch.tensor([0, 1]), classes=2)).columns) == ["label"]
    assert example_table(Examples(rows, torch.tensor([0.25, 0.5]), classes=0)).numbers("target").tolist() == [0.25, 0.5]
    assert len(example_table(Examples(rows, torch.zeros(2, 3, dtype=torch.int64), classes=2))) == 2


def test_a_number_may_be_missing_where_that_is_asked_for(tmp_path: Path) -> None:
    found = written(tmp_path, "sex,age\nf,30\nm,\nf, \n").numbers_or_missing("age")
    np.testing.assert_array_equal(found, [30.0, np.nan, np.nan])
    with pytest.raises(DataError):
        written(tmp_path, "sex,age\nf,30\nm,x\n").numbers_or_missing("age")


def test_images_are_asked_about_by_label_and_brightness() -> None:
    images = torch.stack([torch.full((1, 8, 8), 0.25), torch.full((1, 8, 8), 0.75)])
    table = example_table(Examples(images, torch.tensor([3, 7]), classes=10))
    assert table.texts("label").tolist() == ["3", "7"]
    assert table.numbers("brightness").tolist() == [0.25, 0.75]
    with pytest.raises(DataError, match="brightness"):
        table.texts("brightness")


def test_of_images_an_absent_column_is_answered_with_those_that_there_are() -> None:
    """A file's first line and its delimiter have nothing to do with it."""
    table = example_table(Examples(torch.zeros(2, 1, 8, 8), torch.tensor([3, 7]), classes=10))
    with pytest.raises(DataError) as error:
        table.select(np.array([0])).require(["label", "age"])
    assert "'age', only 'label' and 'brightness'" in str(error.value)
    assert "line" not in str(error.value)
