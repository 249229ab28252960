"""A deployed silo's own data: images, or a table of its own."""

from pathlib import Path

import pytest
from pydantic import TypeAdapter

from siloseal.federation.errors import DataError
from siloseal.silo.config import OwnData
from siloseal.silo.data.own import read_own_table


@pytest.mark.parametrize("key", ["file", "folder"])
def test_a_table_is_a_file_or_the_silos_in_a_folder(tmp_path: Path, key: str) -> None:
    (tmp_path / "north.csv").write_text("age;sex\n30;f\n")
    place = tmp_path / "north.csv" if key == "file" else tmp_path
    source = TypeAdapter(OwnData).validate_python({"kind": "csv", key: str(place), "delimiter": ";"})
    assert set(read_own_table(source, "north").columns) == {"age", "sex"}


def test_a_table_that_is_not_there_is_named(tmp_path: Path) -> None:
    source = TypeAdapter(OwnData).validate_python({"kind": "csv", "folder": str(tmp_path)})
    with pytest.raises(DataError, match=r"north\.csv"):
        read_own_table(source, "north")
