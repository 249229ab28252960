import gzip
import hashlib
import http.server
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Literal

import pytest

from siloseal.federation.errors import DataError
from siloseal.federation.job.sections.data import IdxFiles
from siloseal.silo.data.idx import IDX_NAMES
from siloseal.silo.data.loading import load
from siloseal.silo.data.torchvision_mnist import _datasets

NAMES: tuple[Literal["mnist", "fashion_mnist"], ...] = ("mnist", "fashion_mnist")


def source_class(name: str) -> Any:
    return _datasets().MNIST if name == "mnist" else _datasets().FashionMNIST


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy of the environment would answer for the mirrors on 127.0.0.1."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_args: object) -> None:
        pass


@pytest.fixture
def mirror(idx_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """A mirror on this machine with small files, and their names and checksums."""
    served = tmp_path_factory.mktemp("mirror")
    resources = []
    for name in IDX_NAMES:
        plain = idx_folder / name
        content = gzip.compress(plain.read_bytes()) if plain.exists() else (idx_folder / f"{name}.gz").read_bytes()
        (served / f"{name}.gz").write_bytes(content)
        resources.append((f"{name}.gz", hashlib.md5(content, usedforsecurity=False).hexdigest()))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=str(served))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/", resources
        server.shutdown()


@pytest.mark.parametrize("name", NAMES)
def test_an_unreachable_mirror_is_a_clear_error_and_leaves_nothing(
    name: Literal["mnist", "fashion_mnist"], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source_class(name), "mirrors", ["http://127.0.0.1:9/"])  # port 9: nothing listens
    with pytest.raises(DataError, match=f"{name} into {tmp_path / 'new'} "):
        load(IdxFiles(folder=tmp_path / "new", name=name, download=True))
    assert list((tmp_path / "new").iterdir()) == []


@pytest.mark.parametrize("name", NAMES)
def test_a_download_puts_the_four_files_in_place(
    name: Literal["mnist", "fashion_mnist"],
    mirror: tuple[str, list[tuple[str, str]]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    address, resources = mirror
    monkeypatch.setattr(source_class(name), "mirrors", [address])
    monkeypatch.setattr(source_class(name), "resources", resources)
    folder = tmp_path / "new"
    train, held_out = load(IdxFiles(folder=folder, name=name, download=True))
    assert (len(train), len(held_out)) == (20, 10)
    assert sorted(path.name for path in folder.iterdir()) == sorted(f"{stem}.gz" for stem in IDX_NAMES)


def test_a_file_with_another_checksum_is_refused(
    mirror: tuple[str, list[tuple[str, str]]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address, resources = mirror
    monkeypatch.setattr(source_class("mnist"), "mirrors", [address])
    monkeypatch.setattr(source_class("mnist"), "resources", [(resources[0][0], "0" * 32), *resources[1:]])
    with pytest.raises(DataError, match=str(tmp_path / "new")):
        load(IdxFiles(folder=tmp_path / "new", download=True))
    assert list((tmp_path / "new").iterdir()) == []
