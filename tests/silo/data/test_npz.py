import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from siloseal.federation.errors import DataError
from siloseal.federation.job.sections.data import NpzFile
from siloseal.silo.data.loading import load
from siloseal.silo.data.npz import read_npz

from .sample_files import cycling_labels, pixels

Write = Callable[..., Path]


def test_images_and_labels_are_split_by_the_held_out_fraction(npz_file: Write) -> None:
    path = npz_file(images=pixels(20, 4, 4), labels=cycling_labels(20, 2))
    train, held_out = load(NpzFile(path=path))
    assert (len(train), len(held_out)) == (16, 4)
    assert held_out.labels.bincount().tolist() == [2, 2]


def test_medmnist_keeps_its_test_split_and_trains_on_the_rest(npz_file: Write) -> None:
    path = npz_file(
        train_images=pixels(6, 4, 4, 3),
        train_labels=cycling_labels(6, 2)[:, None],
        val_images=pixels(3, 4, 4, 3),
        val_labels=cycling_labels(3, 2)[:, None],
        test_images=pixels(2, 4, 4, 3),
        test_labels=np.array([[2], [0]], dtype=np.uint8),
    )
    train, test = load(NpzFile(path=path))
    assert (len(train), len(test)) == (9, 2)
    assert train.shape == (3, 4, 4)
    assert train.classes == test.classes == 3
    assert torch.equal(test.inputs, torch.from_numpy(pixels(2, 4, 4, 3)).permute(0, 3, 1, 2) / 255)


@pytest.mark.parametrize(
    ("stored", "first"),
    [
        (np.full((2, 4, 5), 51, np.uint8), 0.2),
        (np.full((2, 4, 5, 1), 13107, np.uint16), 0.2),
        (np.full((2, 1, 4, 5), 13107, ">u2"), 0.2),
        (np.full((2, 4, 5), 0.25, np.float64), 0.25),
        (np.full((2, 4, 5), True), 1.0),
    ],
)
def test_every_pixel_type_with_a_stated_range_is_scaled_by_it(
    npz_file: Write, stored: np.ndarray, first: float
) -> None:
    train, _ = read_npz(npz_file(images=stored, labels=np.array([0, 1])), None)
    assert train.inputs.shape == (2, 1, 4, 5)
    assert train.inputs[0, 0, 0, 0].item() == pytest.approx(first)


def test_the_stated_number_of_classes_counts_classes_that_the_silo_lacks(npz_file: Write) -> None:
    train, _ = read_npz(npz_file(images=pixels(2, 4, 4), labels=np.array([0, 1])), 7)
    assert train.classes == 7


IMAGES, LABELS = pixels(4, 5, 5), cycling_labels(4, 2)
NAN = np.full((4, 5, 5), np.nan, dtype=np.float32)


@pytest.mark.parametrize(
    ("arrays", "says"),
    [
        ({"x": IMAGES, "y": LABELS}, r"\['x', 'y'\].*; train_images "),
        ({"images": IMAGES}, "; labels "),
        ({"train_images": IMAGES, "train_labels": LABELS, "test_images": IMAGES}, "; test_labels "),
        ({"images": IMAGES, "labels": LABELS + 2}, "2 to 3, expected 0 to 1"),
        ({"images": IMAGES, "labels": LABELS.astype(np.int64) - 1}, "-1 to 0"),
        ({"images": IMAGES, "labels": LABELS[:3]}, "4 examples .* 3 labels"),
        ({"images": IMAGES, "labels": np.zeros((4, 14), np.uint8)}, r"shape \(4, 14\)"),
        ({"images": IMAGES, "labels": LABELS.astype(np.float32)}, "labels .*float32"),
        ({"images": IMAGES[0], "labels": LABELS}, r"images .*\(5, 5\)"),
        ({"images": pixels(4, 5, 5, 2), "labels": LABELS}, r"images .*\(4, 5, 5, 2\)"),
        ({"images": IMAGES.astype(np.int32), "labels": LABELS}, "pixels .*int32"),
        ({"images": NAN, "labels": LABELS}, "nan"),
        ({"images": IMAGES.astype(np.float32), "labels": LABELS}, r"1 to 250, expected \[0, 1\]"),
        (
            {"train_images": IMAGES, "train_labels": LABELS, "val_images": IMAGES[:, 1:], "val_labels": LABELS},
            r"\(1, 5, 5\) .*validation .*\(1, 4, 5\)",
        ),
        (
            {"train_images": IMAGES, "train_labels": LABELS, "test_images": IMAGES[:, 1:], "test_labels": LABELS},
            r"\(1, 5, 5\) .*held-out .*\(1, 4, 5\)",
        ),
        ({"images": IMAGES[:0], "labels": LABELS[:0]}, "0 images .*held_out"),
        (
            {"train_images": IMAGES, "train_labels": LABELS, "test_images": IMAGES[:0], "test_labels": LABELS[:0]},
            "no images",
        ),
    ],
)
def test_an_archive_that_is_not_images_with_labels_is_refused(
    npz_file: Write, arrays: dict[str, np.ndarray], says: str
) -> None:
    with pytest.raises(DataError, match=says):
        load(NpzFile(path=npz_file(**arrays), classes=2))


def test_pickled_objects_are_refused(npz_file: Write) -> None:
    path = npz_file(images=np.array([{"a": 1}, None], dtype=object), labels=np.array([0, 1]))
    with pytest.raises(DataError, match="pickled objects"):
        load(NpzFile(path=path))


def test_labels_that_are_no_class_numbers_are_refused(npz_file: Write) -> None:
    path = npz_file(images=IMAGES, labels=np.arange(len(IMAGES)) * 1_000_000_000)
    with pytest.raises(DataError, match="3000000000"):
        load(NpzFile(path=path))


def test_what_is_wrong_with_the_arrays_names_the_file(npz_file: Write) -> None:
    path = npz_file(images=IMAGES, labels=LABELS[:-1])
    with pytest.raises(DataError, match=rf"{path.name}: .*4 examples.* 3 labels"):
        load(NpzFile(path=path))


def test_a_bare_array_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", IMAGES)
    with pytest.raises(DataError, match=r"a\.npy"):
        load(NpzFile(path=tmp_path / "a.npy"))


@pytest.mark.parametrize("damage", ["truncated", "flipped", "text"])
def test_a_damaged_archive_is_refused(npz_file: Write, damage: str) -> None:
    path = npz_file(images=IMAGES, labels=LABELS)
    content = bytearray(path.read_bytes())
    if damage == "flipped":
        content[content.index(IMAGES.tobytes()[:16])] ^= 0xFF
    elif damage == "truncated":
        del content[len(content) // 2 :]
    else:
        content[:] = b"hello"
    path.write_bytes(content)
    with pytest.raises(DataError, match=path.name):
        load(NpzFile(path=path))


def test_a_missing_archive_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"a\.npz"):
        load(NpzFile(path=tmp_path / "a.npz"))


@pytest.mark.skipif("SILOSEAL_DATA" not in os.environ, reason="SILOSEAL_DATA names no folder with a MedMNIST file")
def test_a_real_medmnist_file_loads() -> None:
    train, test = load(NpzFile(path=Path("${SILOSEAL_DATA}/medmnist/pneumoniamnist.npz")))
    assert train.shape == test.shape == (1, 28, 28)
    assert train.label_set() == test.label_set() == {0, 1}
