"""Grids and sample files, checked pixel by pixel."""

import io
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from siloseal.federation.errors import DataError, RunError
from siloseal.run_folder.images import (
    PAPER,
    class_rows,
    png_bytes,
    quantise,
    read_npz,
    square_grid,
    write_npz,
    write_png,
)


def flat(values: list[int], channels: int = 1) -> np.ndarray:
    """Images of 2x2 pixels, each of one value."""
    return np.array(values, dtype=np.uint8)[:, None, None, None] * np.ones((1, channels, 2, 2), dtype=np.uint8)


def test_a_row_holds_one_class_in_order_of_label() -> None:
    grid = class_rows(flat([10, 20, 11, 21, 12]), np.array([3, 7, 3, 7, 3]), columns=2)
    assert grid.shape == (1, 5, 5)
    assert grid[0, 0, [0, 3]].tolist() == [10, 11]
    assert grid[0, 3, [0, 3]].tolist() == [20, 21]
    assert grid[0, 2].tolist() == [PAPER] * 5  # the gap


def test_a_short_row_leaves_paper() -> None:
    grid = class_rows(flat([10, 20, 11]), np.array([0, 1, 0]), columns=8)
    assert set(grid[0, 3:, 3:].ravel().tolist()) == {PAPER}


@pytest.mark.parametrize("value", [0, 255])
@pytest.mark.parametrize("side", [8, 14, 28])
def test_neither_black_nor_white_images_run_into_one_another(value: int, side: int) -> None:
    images = np.full((4, 1, side, side), value, dtype=np.uint8)
    grid = square_grid(images, side=2)[0].astype(int)
    gap = grid.shape[0] - 2 * side
    assert gap >= side / 10
    assert np.abs(grid[side : side + gap] - value).min() > 60
    assert np.abs(grid[:, side : side + gap] - value).min() > 60


@pytest.mark.parametrize(("count", "side", "shape"), [(9, 3, (8, 8)), (5, 8, (5, 8)), (99, 2, (5, 5)), (1, 4, (2, 2))])
def test_a_square_grid_is_as_small_as_it_can_be(count: int, side: int, shape: tuple[int, int]) -> None:
    assert square_grid(flat([1] * count), side=side).shape == (1, *shape)


def test_png_shows_the_pixels_enlarged(tmp_path: Path) -> None:
    write_png(tmp_path / "new" / "grid.png", flat([200])[0], scale=3)
    picture = Image.open(tmp_path / "new" / "grid.png")
    assert (picture.size, picture.mode, picture.getpixel((5, 5))) == ((6, 6), "L", 200)


def test_colour_keeps_its_channels() -> None:
    image = np.zeros((3, 2, 2), dtype=np.uint8)
    image[0] = 255
    assert Image.open(io.BytesIO(png_bytes(image))).getpixel((0, 0)) == (255, 0, 0)


def test_quantising_cuts_off_instead_of_wrapping_around() -> None:
    assert quantise(torch.tensor([-0.5, 0.0, 0.5, 1.0, 1.2]).view(5, 1, 1, 1)).ravel().tolist() == [0, 0, 128, 255, 255]


def test_samples_come_back_as_written(tmp_path: Path) -> None:
    images, labels = flat([1, 2, 3], channels=3), np.array([5, 6, 7])
    write_npz(tmp_path / "samples" / "final.npz", images, labels)
    found_images, found_labels = read_npz(tmp_path / "samples" / "final.npz")
    assert np.array_equal(found_images, images)
    assert np.array_equal(found_labels, labels)
    assert [path.name for path in (tmp_path / "samples").iterdir()] == ["final.npz"]


def test_a_file_that_is_no_archive_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bad.npz").write_bytes(b"PK\x03\x04 not really")
    with pytest.raises(RunError, match=r"bad\.npz"):
        read_npz(tmp_path / "bad.npz")


def test_pickled_arrays_are_never_loaded(tmp_path: Path) -> None:
    with (tmp_path / "pickled.npz").open("wb") as file:
        np.savez(file, images=np.array([{"a": 1}], dtype=object), labels=np.array([0]))
    with pytest.raises(RunError, match=r"pickled\.npz"):
        read_npz(tmp_path / "pickled.npz")


@pytest.mark.parametrize("images", [flat([1])[0], flat([1]).astype(float), flat([1], channels=2), flat([])], ids=str)
def test_arrays_that_are_no_images_are_refused(tmp_path: Path, images: np.ndarray) -> None:
    with pytest.raises(DataError, match=re.escape(f"{images.dtype} {images.shape}")):
        write_npz(tmp_path / "x.npz", images, np.zeros(len(images), dtype=np.int64))


def test_labels_must_be_one_integer_an_image(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"labels int64 \(3,\)"):
        write_npz(tmp_path / "x.npz", flat([1, 2]), np.zeros(3, dtype=np.int64))
