"""Stubs are generated from the .proto files beside them, and from nothing older: `make proto`."""

import hashlib
import shutil
from pathlib import Path

import pytest

from siloseal.federation.transport import wire

FOLDER = Path(str(wire.__file__)).parent
COMPILER = "# Protobuf Python Version: 6."
"""A runtime reads stubs of its own major version and of the one before: from 6.x, protobuf 6 and 7."""


def generated(folder: Path) -> dict[str, str]:
    """The digests of sources and stubs, by file, as `make proto` wrote them."""
    lines = (folder / "SHA256SUMS").read_text().splitlines()
    return {name: digest for digest, name in (line.split() for line in lines)}


def found(folder: Path) -> dict[str, str]:
    files = (
        *folder.glob("*.proto"),
        *folder.glob("*_pb2.py"),
        *folder.glob("*_pb2.pyi"),
        *folder.glob("*_pb2_grpc.py"),
    )
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def test_the_stubs_are_those_of_the_proto_files() -> None:
    differing = dict(set(found(FOLDER).items()) ^ set(generated(FOLDER).items()))
    assert not differing, f"{', '.join(sorted(differing))} changed since the last `make proto`; run it and commit all"


def test_every_proto_file_has_its_stubs() -> None:
    files = found(FOLDER)
    for source in FOLDER.glob("*.proto"):
        assert {f"{source.stem}_pb2.py", f"{source.stem}_pb2.pyi"} <= files.keys()


def test_the_stubs_run_under_every_protobuf_that_may_be_installed() -> None:
    for stub in FOLDER.glob("*_pb2.py"):
        assert COMPILER in stub.read_text(), f"{stub.name} is of another compiler than that of `make proto`"


@pytest.mark.parametrize("name", ["sums.proto", "sums_pb2.py", "sums_pb2.pyi", "consortium_pb2_grpc.py"])
def test_an_edited_file_is_noticed(tmp_path: Path, name: str) -> None:
    shutil.copytree(FOLDER, tmp_path, dirs_exist_ok=True)
    with (tmp_path / name).open("a") as file:
        file.write("\n")
    assert {file for file, _ in set(found(tmp_path).items()) ^ set(generated(tmp_path).items())} == {name}


def test_a_new_proto_file_is_noticed(tmp_path: Path) -> None:
    shutil.copytree(FOLDER, tmp_path, dirs_exist_ok=True)
    (tmp_path / "new.proto").write_text("")
    assert found(tmp_path).keys() - generated(tmp_path).keys() == {"new.proto"}
