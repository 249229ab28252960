from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from siloseal.federation.errors import DataError
from siloseal.federation.job.sections.data import ClassFolders
from siloseal.silo.data.class_folders import read_class_folders
from siloseal.silo.data.examples import Examples
from siloseal.silo.data.loading import load


def read(root: Path, class_names: tuple[str, ...] | None = None) -> Examples:
    return read_class_folders(root, side=8, colour="grey", class_names=class_names)


def test_labels_follow_the_alphabet_and_images_the_stated_size(class_folders: Path) -> None:
    data = read(class_folders)
    assert data.inputs.shape == (10, 1, 8, 8)
    assert data.labels.tolist() == [0] * 6 + [1] * 4
    assert torch.allclose(data.inputs[:6], torch.tensor(1.0))
    assert torch.all(data.inputs[6:] == 0.0)


def test_it_loads_as_a_training_and_a_held_out_set(class_folders: Path) -> None:
    train, held_out = load(ClassFolders(path=class_folders, side=8, held_out=0.5))
    assert (len(train), len(held_out)) == (5, 5)
    assert train.label_set() == held_out.label_set() == {0, 1}


def test_rgb_has_three_channels(tmp_path: Path) -> None:
    (tmp_path / "red").mkdir()
    Image.new("RGB", (5, 5), color=(255, 0, 0)).save(tmp_path / "red" / "a.png")
    data = read_class_folders(tmp_path, side=5, colour="rgb", class_names=None)
    assert data.inputs[0, :, 0, 0].tolist() == [1.0, 0.0, 0.0]


def test_agreed_class_names_number_a_silo_without_a_class_like_its_peers(class_folders: Path) -> None:
    data = read(class_folders, class_names=("covid", "normal", "pneumonia"))
    assert data.classes == 3
    assert data.label_set() == {1, 2}


def test_a_folder_outside_the_agreed_class_names_is_refused(class_folders: Path) -> None:
    with pytest.raises(DataError, match=r"\['pneumonia'\].*class_names.*\['normal'\]"):
        read(class_folders, class_names=("normal",))


@pytest.mark.parametrize("colour", ["grey", "rgb"])
def test_sixteen_bit_greys_keep_their_depth(tmp_path: Path, colour: str) -> None:
    (tmp_path / "scan").mkdir()
    ramp = np.array([[0, 13107], [39321, 65535]], dtype=np.uint16)
    Image.fromarray(ramp).save(tmp_path / "scan" / "a.png")
    data = read_class_folders(tmp_path, side=2, colour=colour, class_names=None)  # type: ignore[arg-type]
    for channel in data.inputs[0]:
        assert torch.allclose(channel, torch.tensor([[0.0, 0.2], [0.6, 1.0]]))


def test_pixels_without_a_stated_range_are_refused(tmp_path: Path) -> None:
    (tmp_path / "scan").mkdir()
    Image.fromarray(np.ones((3, 3), dtype=np.float32)).save(tmp_path / "scan" / "a.tiff")
    with pytest.raises(DataError, match=r"scan/a\.tiff.* mode F "):
        read(tmp_path)


@pytest.mark.parametrize("keep", [0, 10, 45])
def test_a_damaged_png_is_named(class_folders: Path, keep: int) -> None:
    damaged = class_folders / "normal" / "3.png"
    damaged.write_bytes(damaged.read_bytes()[:keep])
    with pytest.raises(DataError, match=r"normal/3\.png"):
        read(class_folders)


def test_a_png_with_overwritten_pixels_is_refused(class_folders: Path) -> None:
    damaged = class_folders / "normal" / "3.png"
    content = bytearray(damaged.read_bytes())
    start = content.index(b"IDAT") + 4
    content[start : start + 8] = bytes(8)
    damaged.write_bytes(content)
    with pytest.raises(DataError, match=r"normal/3\.png"):
        read(class_folders)


def test_an_empty_class_folder_is_refused(class_folders: Path) -> None:
    (class_folders / "covid").mkdir()
    with pytest.raises(DataError, match="/covid "):
        read(class_folders)


def test_a_file_that_is_no_image_is_refused_and_a_hidden_one_ignored(class_folders: Path) -> None:
    (class_folders / "normal" / ".DS_Store").write_bytes(b"x")
    assert len(read(class_folders)) == 10
    (class_folders / "normal" / "scan.dcm").write_bytes(b"x")
    with pytest.raises(DataError, match=r"scan\.dcm"):
        read(class_folders)


def test_a_folder_without_class_folders_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=str(tmp_path)):
        read(tmp_path)


def test_a_path_that_is_no_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="/nowhere "):
        read(tmp_path / "nowhere")
