import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from siloseal.federation.errors import DataError
from siloseal.silo.data.mini_imagenet_pickle import read_split

from .few_shot_files import content_of

IMAGES = content_of("train")["image_data"]  # 12 images
CLASSES = content_of("train")["class_dict"]


def read(tmp_path: Path, content: Any, protocol: int = 5) -> Any:
    path = tmp_path / "split.pkl"
    path.write_bytes(pickle.dumps(content, protocol=protocol))
    return read_split(path, side=12)


@pytest.mark.parametrize("protocol", [2, 5])
@pytest.mark.parametrize(
    "members",
    [
        [2, 0, 7],
        np.array([2, 0, 7]),
        np.array([2, 0, 7], dtype=">i4"),
        [np.int64(2), np.int64(0), np.int64(7)],
    ],
    ids=["list", "array", "big-endian", "scalars"],
)
def test_numbers_of_images_come_as_lists_or_arrays(tmp_path: Path, members: Any, protocol: int) -> None:
    split = read(tmp_path, {"image_data": IMAGES, "class_dict": {"b": members, "a": [5]}}, protocol)
    assert split.names == ("a", "b")
    assert split.labels.tolist() == [1, 1, 0, 1]  # images 0, 2, 5, 7; the others are in no class
    assert np.array_equal(split.pixels, IMAGES[[0, 2, 5, 7]].transpose(0, 3, 1, 2))


def test_an_array_in_fortran_order_is_read_alike(tmp_path: Path) -> None:
    split = read(tmp_path, {"image_data": np.asfortranarray(IMAGES), "class_dict": CLASSES})
    assert np.array_equal(split.pixels, IMAGES.transpose(0, 3, 1, 2))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ([IMAGES, CLASSES], "dict class_dict"),
        ({"image_data": IMAGES}, "dict class_dict"),
        ({"image_data": [1, 2], "class_dict": CLASSES}, "dict class_dict"),
        ({"image_data": IMAGES, "class_dict": [1]}, "dict class_dict"),
        ({"image_data": IMAGES.astype(np.int64), "class_dict": CLASSES}, "int64"),
        ({"image_data": IMAGES[0], "class_dict": CLASSES}, r"shape \(12, 12, 3\)"),
        ({"image_data": IMAGES[..., :2], "class_dict": CLASSES}, r"shape \(12, 12, 12, 2\)"),
        ({"image_data": IMAGES[:0], "class_dict": CLASSES}, "0 to -1"),
        ({"image_data": IMAGES, "class_dict": {}}, "class_dict of 0 "),
        ({"image_data": IMAGES, "class_dict": {1: [0]}}, "keys"),
        ({"image_data": IMAGES, "class_dict": {"a": [0, 12]}}, "'a' has 2 .* 0 to 11"),
        ({"image_data": IMAGES, "class_dict": {"a": [-1]}}, "0 to 11"),
        ({"image_data": IMAGES, "class_dict": {"a": [], "b": [1]}}, "'a' has 0 images"),
        ({"image_data": IMAGES, "class_dict": {"a": [1], "b": [0, 1]}}, "'b' .* twice"),
        ({"image_data": IMAGES, "class_dict": {"a": [1, 1]}}, "'a' .* twice"),
        ({"image_data": IMAGES, "class_dict": {"a": ["1"]}}, "'a' lists"),
        ({"image_data": IMAGES, "class_dict": {"a": [True]}}, "'a' lists"),
        ({"image_data": IMAGES, "class_dict": {"a": IMAGES}}, "'a' lists"),
        ({"image_data": IMAGES, "class_dict": {"a": (1, 2)}}, "'a' lists"),
    ],
)
def test_a_pickle_that_is_no_split_is_refused(tmp_path: Path, content: Any, says: str) -> None:
    with pytest.raises(DataError, match=says):
        read(tmp_path, content)
