"""Tables as sources: where they lie, and what they are compared by."""

from pathlib import Path

from siloseal.federation.job.sections.tables import CsvRecords

from .test_columns import AGE, DIAGNOSIS

TABLE = {"kind": "csv", "columns": [AGE], "target": DIAGNOSIS}


def test_a_silos_table_is_the_one_with_its_name() -> None:
    whole = CsvRecords.model_validate({**TABLE, "folder": "tables", "delimiter": ";"})
    north = whole.of_silo("north")
    assert (north.file, north.folder, north.delimiter) == (Path("tables/north.csv"), None, ";")
    assert north.declared.target == whole.target


def test_a_table_is_known_by_its_place_and_not_by_its_columns() -> None:
    one = CsvRecords.model_validate({**TABLE, "file": "x.csv"})
    other = CsvRecords.model_validate({**TABLE, "file": "x.csv", "columns": [{**AGE, "range": [0, 1]}], "limit": 5})
    assert one.origin == other.origin == ("csv", "x.csv")
    assert one.origin != CsvRecords.model_validate({**TABLE, "file": "y.csv"}).origin
    assert not one.holds_out_classes
