import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from pydantic import ValidationError

from siloseal.federation.errors import DataError
from siloseal.federation.job.sections.data import NpzFile
from siloseal.runs.class_names import class_names
from siloseal.silo.data.examples import Examples
from siloseal.silo.data.loading import load
from siloseal.silo.data.npz import read_npz

from .sample_files import cycling_labels, pixels

Write = Callable[..., Path]


def read(path: Path, **settings: Any) -> tuple[Examples, Examples | None]:
    return read_npz(path, NpzFile.model_validate({"path": path, **settings}))


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
    train, _ = read(npz_file(images=stored, labels=np.array([0, 1])))
    assert train.inputs.shape == (2, 1, 4, 5)
    assert train.inputs[0, 0, 0, 0].item() == pytest.approx(first)


def test_the_stated_number_of_classes_counts_classes_that_the_silo_lacks(npz_file: Write) -> None:
    train, _ = read(npz_file(images=pixels(2, 4, 4), labels=np.array([0, 1])), classes=7)
    assert train.classes == 7


IMAGES, LABELS = pixels(4, 5, 5), cycling_labels(4, 2)
NAN = np.full((4, 5, 5), np.nan, dtype=np.float32)


@pytest.mark.parametrize(
    ("arrays", "says"),
    [
        ({"pixels": IMAGES, "y_test": LABELS}, r"\['pixels', 'y_test'\].*; train_images "),
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
        ({"images": IMAGES[:0], "labels": LABELS[:0]}, "0 examples .*held_out"),
        (
            {"train_images": IMAGES, "train_labels": LABELS, "test_images": IMAGES[:0], "test_labels": LABELS[:0]},
            "no examples",
        ),
    ],
)
def test_an_archive_that_is_not_images_with_labels_is_refused(
    npz_file: Write, arrays: dict[str, np.ndarray], says: str
) -> None:
    with pytest.raises(DataError, match=says):
        load(NpzFile(path=npz_file(**arrays), classes=2))


class TestRowsOfAnyShape:
    @pytest.mark.parametrize("shape", [(1,), (7,), (2, 3), (4, 5, 6), (2, 3, 4, 5)])
    def test_are_floats_taken_as_they_are(self, npz_file: Write, shape: tuple[int, ...]) -> None:
        x = np.random.default_rng(1).normal(size=(10, *shape))
        train, test = read(npz_file(x=x, y=cycling_labels(10, 2)))
        assert test is None
        assert train.shape == shape
        assert torch.equal(train.inputs, torch.from_numpy(x).float())
        assert (train.classes, train.labels.tolist()) == (2, cycling_labels(10, 2).tolist())

    @pytest.mark.parametrize("kind", [np.int16, np.uint8, np.float32, np.int64])
    def test_are_scaled_by_a_declared_range(self, npz_file: Write, kind: type[np.generic]) -> None:
        x = np.array([[0, 10], [20, 40]]).astype(kind)
        train, _ = read(npz_file(x=x, y=np.array([0, 1])), range=[10, 30])
        assert train.inputs.tolist() == [[0.0, 0.0], [0.5, 1.0]]

    def test_are_split_or_come_in_two_parts(self, npz_file: Write) -> None:
        x, y = np.zeros((10, 3)), cycling_labels(10, 2)
        train, held_out = load(NpzFile(path=npz_file(x_train=x, y_train=y)))
        assert (len(train), len(held_out)) == (8, 2)
        both = npz_file(x_train=x, y_train=y, x_test=x[:4], y_test=np.array([0, 1, 2, 0]))
        train, held_out = load(NpzFile(path=both))
        assert (len(train), len(held_out), train.classes) == (10, 4, 3)

    def test_may_have_a_class_for_each_pixel(self, npz_file: Write) -> None:
        masks = pixels(4, 5, 5) % 3
        train, _ = read(npz_file(x=pixels(4, 1, 5, 5) / 255, y=masks))
        assert (train.classes, train.labels.shape) == (3, (4, 5, 5))
        assert torch.equal(train.labels, torch.from_numpy(masks).long())

    def test_may_have_measured_targets_with_declared_bounds(self, npz_file: Write) -> None:
        path = npz_file(x=np.zeros((4, 3)), y=np.array([[0.0], [5.0], [10.0], [99.0]]))
        train, _ = read(path, target_range=[0, 10])
        assert (train.classes, train.labels.tolist()) == (0, [0.0, 0.5, 1.0, 1.0])

    def test_may_have_whole_numbers_as_measured_targets(self, npz_file: Write) -> None:
        train, held_out = load(NpzFile(path=npz_file(x=np.zeros((10, 3)), y=np.arange(10)), target_range=(0, 9)))
        assert (train.classes, held_out.classes) == (0, 0)
        assert torch.cat([train.labels, held_out.labels]).sort().values == pytest.approx(np.arange(10) / 9)

    @pytest.mark.parametrize(
        ("arrays", "settings"),
        [
            ({"x": np.zeros((4, 3)), "y": np.zeros(4)}, {}),
            ({"x": np.zeros((4, 3), np.int64), "y": LABELS}, {}),
            ({"x": np.zeros(4), "y": LABELS}, {}),
            ({"x": np.zeros((4, 3)), "y": LABELS[:3]}, {}),
            ({"x": np.zeros((4, 3))}, {}),
            ({"x_train": np.zeros((4, 3)), "y_train": LABELS, "x_test": np.zeros((4, 3))}, {}),
            ({"x_train": np.zeros((4, 3)), "y_train": LABELS, "x_test": np.zeros((4, 2)), "y_test": LABELS}, {}),
            ({"x": np.full((4, 3), np.nan), "y": LABELS}, {}),
            ({"x": np.full((4, 3), np.nan), "y": LABELS}, {"range": [0, 1]}),
            ({"x": np.full((4, 3), 1e300), "y": LABELS}, {}),
            ({"x": np.zeros((4, 3)), "y": np.full(4, np.nan)}, {"target_range": [0, 1]}),
            ({"x": np.zeros((4, 3)), "y": LABELS.astype(np.int64) - 1}, {}),
            ({"x": np.zeros((4, 3), np.complex64), "y": LABELS}, {"range": [0, 1]}),
            ({"x": np.zeros((4, 3)), "y": np.array(list("abcd"))}, {}),
            ({"x": np.zeros((4, 3)), "y": np.array(list("abcd"))}, {"target_range": [0, 1]}),
            ({"x": np.zeros((4, 1, 3, 3)), "y": LABELS}, {"side": 6}),
        ],
    )
    def test_are_refused_otherwise(
        self, npz_file: Write, arrays: dict[str, np.ndarray], settings: dict[str, Any]
    ) -> None:
        with pytest.raises(DataError):
            load(NpzFile.model_validate({"path": npz_file(**arrays), "held_out": 0.5, **settings}))

    @pytest.mark.parametrize(
        "settings", [{"range": [1, 0]}, {"target_range": [0, float("nan")]}, {"target_range": [0, 1], "classes": 2}]
    )
    def test_need_sound_bounds(self, settings: dict[str, Any]) -> None:
        with pytest.raises(ValidationError):
            NpzFile.model_validate({"path": "x.npz", **settings})


def test_images_may_have_a_declared_range_and_measured_targets(npz_file: Write) -> None:
    path = npz_file(images=np.full((4, 5, 5), -200, np.int16), labels=np.arange(4.0))
    train, _ = read(path, range=[-1000, 1000], target_range=[0, 2])
    assert train.inputs.unique().tolist() == [pytest.approx(0.4)]
    assert train.labels.tolist() == [0.0, 0.5, 1.0, 1.0]


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


@pytest.mark.skipif(not os.environ.get("SILOSEAL_DATA"), reason="SILOSEAL_DATA names no folder with a MedMNIST file")
def test_a_real_medmnist_file_loads() -> None:
    train, test = load(NpzFile(path=Path("${SILOSEAL_DATA}/medmnist/pneumoniamnist.npz")))
    assert train.shape == test.shape == (1, 28, 28)
    assert train.label_set() == test.label_set() == {0, 1}


def test_names_of_classes_count_them_and_are_those_of_the_report(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", x=np.zeros((6, 2), dtype=np.float32), y=np.array([0, 1, 0, 1, 0, 1]))
    source = NpzFile(path=tmp_path / "x.npz", class_names=("benign", "malignant", "unclear"))
    train, _ = read_npz(source.path, source)
    assert train.classes == 3
    assert class_names(source) == ("benign", "malignant", "unclear")
    assert class_names(NpzFile(path=tmp_path / "x.npz")) == ()


@pytest.mark.parametrize(
    "declared",
    [
        {"class_names": ["a", "a"]},
        {"class_names": ["a", "b"], "classes": 3},
        {"class_names": ["a", "b"], "target_range": [0, 1]},
        {"classes": 3, "target_range": [0, 1]},
    ],
)
def test_names_that_cannot_be_those_of_the_classes_are_refused(declared: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        NpzFile.model_validate({"path": "x.npz", **declared})
