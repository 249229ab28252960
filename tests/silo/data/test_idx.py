import gzip
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from siloseal.federation.errors import DataError
from siloseal.federation.job.sections.data import IdxFiles
from siloseal.silo.data.idx import IDX_NAMES, missing_from, read_idx_folder
from siloseal.silo.data.loading import load

from .sample_files import IMAGES_MAGIC, LABELS_MAGIC, cycling_labels, idx_bytes, pixels

IMAGES, LABELS = "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"


def test_gzipped_and_plain_files_are_read_alike(idx_folder: Path) -> None:
    train, test = read_idx_folder(idx_folder)
    assert train.shape == test.shape == (1, 6, 5)
    assert torch.equal(train.inputs[:, 0], torch.from_numpy(pixels(20, 6, 5)) / 255)
    assert test.labels.tolist() == list(range(10))
    assert (train.classes, test.classes) == (10, 10)


def test_a_file_that_a_browser_unpacked_but_still_calls_gz_is_read(idx_folder: Path) -> None:
    (idx_folder / LABELS).rename(idx_folder / f"{LABELS}.gz")
    assert len(read_idx_folder(idx_folder)[1]) == 10


def test_a_missing_file_is_named_with_the_way_to_get_it(idx_folder: Path) -> None:
    (idx_folder / IMAGES).unlink()
    with pytest.raises(DataError, match=f"{IMAGES}.*download: true"):
        load(IdxFiles(folder=idx_folder))
    assert missing_from(idx_folder) == [IMAGES]


def test_a_folder_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"/nowhere .*train-images"):
        load(IdxFiles(folder=tmp_path / "nowhere"))


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        (IMAGES, b"", "0 bytes"),
        (IMAGES, idx_bytes(pixels(10, 6, 5), IMAGES_MAGIC)[:-1], "10 x 6 x 5 = 300 .* 299"),
        (IMAGES, idx_bytes(pixels(10, 6, 5), IMAGES_MAGIC) + b"\0", "300 .* 301"),
        (IMAGES, idx_bytes(pixels(10, 6, 5), 0x0D03), "0x00000d03, expected 0x00000803"),
        (IMAGES, idx_bytes(cycling_labels(40, 10), LABELS_MAGIC), "0x00000801, expected 0x00000803"),
        (IMAGES, idx_bytes(pixels(9, 6, 5), IMAGES_MAGIC), "9 images .* 10 labels"),
        (LABELS, idx_bytes(cycling_labels(10, 10) + 3, LABELS_MAGIC), "3 to 12"),
        (LABELS, gzip.compress(idx_bytes(cycling_labels(10, 10), LABELS_MAGIC), mtime=0)[:-9], LABELS),
        (LABELS, b"\x1f\x8b" + bytes(40), LABELS),
    ],
)
def test_a_damaged_file_is_refused(idx_folder: Path, name: str, content: bytes, says: str) -> None:
    (idx_folder / name).write_bytes(content)
    with pytest.raises(DataError, match=says):
        read_idx_folder(idx_folder)


def test_a_gzip_with_a_flipped_byte_is_refused(idx_folder: Path) -> None:
    path = idx_folder / f"{IDX_NAMES[0]}.gz"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(DataError, match=f"{IDX_NAMES[0]}.gz"):
        read_idx_folder(idx_folder)


def test_complete_files_are_not_downloaded_again(idx_folder: Path) -> None:
    """In a process of its own, where an import of torchvision can be seen."""
    program = (
        "import sys; from pathlib import Path; from siloseal.federation.job.sections.data import IdxFiles; "
        "from siloseal.silo.data.loading import load; load(IdxFiles(folder=Path(sys.argv[1]), download=True)); "
        "assert 'torchvision' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program, str(idx_folder)], check=True)
