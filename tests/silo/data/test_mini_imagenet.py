import os
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
import torch

from siloseal.federation.errors import DataError
from siloseal.federation.job.sections.data import MiniImagenet
from siloseal.silo.data.examples import Examples
from siloseal.silo.data.loading import load, place
from siloseal.silo.data.pixels import resize

from .few_shot_files import PICTURES, SPLITS, content_of, in_folders, in_pickles, in_tables, python_2_pickle

FORMS = {"tables": in_tables, "folders": in_folders, "pickles": in_pickles}


def rows(part: Examples) -> set[bytes]:
    return {image.numpy().tobytes() for image in part.inputs}


@pytest.mark.parametrize("form", FORMS)
class TestEveryForm:
    def test_splits_share_no_class_and_no_image(self, form: str, tmp_path: Path) -> None:
        train, held_out = load(MiniImagenet(folder=FORMS[form](tmp_path / "data"), side=12))
        assert train.shape == held_out.shape == (3, 12, 12)
        assert train.classes == held_out.classes == 5
        assert (train.label_set(), held_out.label_set()) == ({0, 1, 2}, {3, 4})
        assert torch.bincount(train.labels).tolist() == [PICTURES] * 3
        assert len(rows(train)) == len(train)
        assert not rows(train) & rows(held_out)

    def test_the_validation_split_can_be_held_out_instead(self, form: str, tmp_path: Path) -> None:
        train, held_out = load(MiniImagenet(folder=FORMS[form](tmp_path / "data"), side=6, held_out="val"))
        assert (train.classes, len(held_out)) == (4, PICTURES)
        assert held_out.label_set() == {3}

    def test_a_margin_is_part_of_the_side(self, form: str, tmp_path: Path) -> None:
        train, _ = load(MiniImagenet(folder=FORMS[form](tmp_path / "data"), side=12, margin=2))
        assert train.shape == (3, 12, 12)
        assert train.inputs[:, :, :2].max() == 0 < train.inputs[:, :, 2].max()

    def test_pixels_are_of_eight_bits(self, form: str, tmp_path: Path) -> None:
        train, _ = load(MiniImagenet(folder=FORMS[form](tmp_path / "data"), side=5))
        assert torch.equal(train.inputs, torch.round(train.inputs * 255) / 255)


def test_folders_and_pickles_of_the_same_pictures_are_the_same_data(tmp_path: Path) -> None:
    one = load(MiniImagenet(folder=in_folders(tmp_path / "a"), side=7))
    other = load(MiniImagenet(folder=in_pickles(tmp_path / "b"), side=7))
    for left, right in zip(one, other, strict=True):
        order = torch.argsort(right.labels, stable=True)  # a pickle's pictures may be in any order
        assert torch.equal(left.labels, right.labels[order])
        assert torch.equal(left.inputs, right.inputs[order])


@pytest.mark.parametrize("form", [in_folders, in_pickles])
def test_pixels_are_rounded_to_the_nearest_of_eight_bits(tmp_path: Path, form: Callable[[Path], Path]) -> None:
    stored = torch.from_numpy(content_of("train")["image_data"]).permute(0, 3, 1, 2) / 255
    stored = stored[torch.argsort(torch.arange(12) % 3, stable=True)]  # by class
    train, _ = load(MiniImagenet(folder=form(tmp_path / "data"), side=7))
    order = torch.argsort(train.labels, stable=True)
    assert (train.inputs[order] - resize(stored, 7)).abs().max() <= 0.5001 / 255


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_pickles_of_every_protocol_are_read(tmp_path: Path, protocol: int) -> None:
    expected = content_of("train")["image_data"]
    train, _ = load(MiniImagenet(folder=in_pickles(tmp_path, protocol), side=12))
    assert torch.equal(train.inputs, torch.from_numpy(expected).permute(0, 3, 1, 2) / 255)


def test_pickles_of_python_2_are_read(tmp_path: Path) -> None:
    newer = load(MiniImagenet(folder=in_pickles(tmp_path), side=12))
    for split in SPLITS:
        (tmp_path / f"mini-imagenet-cache-{split}.pkl").write_bytes(python_2_pickle(content_of(split)))
    for one, other in zip(newer, load(MiniImagenet(folder=tmp_path, side=12)), strict=True):
        assert torch.equal(one.inputs, other.inputs)
        assert torch.equal(one.labels, other.labels)


def test_a_folder_may_name_a_variable_and_is_the_place_of_the_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOSPITAL_DATA", str(in_tables(tmp_path / "data")))
    source = MiniImagenet(folder=Path("${HOSPITAL_DATA}"), side=4)
    assert len(load(source)[0]) == 3 * PICTURES
    assert place(source) == (tmp_path / "data").resolve()
    assert source.origin == ("mini_imagenet", "${HOSPITAL_DATA}")


def test_a_folder_in_no_known_form_is_told_what_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"images, test\.csv, train\.csv .*test, train .*cache-train\.pkl"):
        load(MiniImagenet(folder=tmp_path))


def test_a_form_that_lacks_a_split_is_told_which(tmp_path: Path) -> None:
    (in_tables(tmp_path / "data") / "test.csv").unlink()
    with pytest.raises(DataError, match=r" test\.csv .* test, train "):
        load(MiniImagenet(folder=tmp_path / "data"))


def replace_text(name: str, old: str, new: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).write_text((folder / name).read_text().replace(old, new)) and None


def append(name: str, line: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).write_text((folder / name).read_text() + line + "\n") and None


def remove_pictures(folder: Path) -> None:
    for number in (1, 2):
        (folder / "images" / f"n0200000{number:03}.jpg").unlink()


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (remove_pictures, r"2 of the 12 .*train\.csv, .* n0200000001\.jpg"),
        (replace_text("train.csv", "filename,label", "file,class"), "filename"),
        (append("train.csv", "n0100000000.jpg,n01"), r"twice, .*n0100000000\.jpg"),
        (append("test.csv", "n0100000000.jpg,n05"), r"twice, .*n0100000000\.jpg"),
        (append("train.csv", "../secret.jpg,n01"), r"train\.csv, line 14: .*images/"),
        (append("train.csv", "/etc/secret.jpg,n01"), r"train\.csv, line 14: .*images/"),
        (append("train.csv", "a/../../secret.jpg,n01"), r"train\.csv, line 14: .*images/"),
        (append("train.csv", "..\\secret.jpg,n01"), r"train\.csv, line 14: .*images/"),
        (append("train.csv", "notes.txt,n01"), r"train\.csv, line 14: "),
        (append("train.csv", "n0100000000.jpg,"), r"train\.csv, line 14: "),
        (replace_text("test.csv", ",n05", ",n02"), "1 classes .*'n02'"),
        (
            lambda folder: (folder / "images" / "n0100000002.jpg").write_bytes(b"\xff\xd8\xff"),
            r"n0100000002\.jpg",
        ),
        (lambda folder: (folder / "train.csv").write_text("filename,label\n"), r"train\.csv .*records"),
    ],
)
def test_tables_that_do_not_fit_are_refused(tmp_path: Path, damage: Callable[[Path], None], says: str) -> None:
    folder = in_tables(tmp_path / "data")
    (tmp_path / "secret.jpg").write_bytes((folder / "images" / "n0100000000.jpg").read_bytes())
    damage(folder)
    with pytest.raises(DataError, match=says):
        load(MiniImagenet(folder=folder, side=4))


def test_a_jpeg_that_is_cut_short_is_named(tmp_path: Path) -> None:
    path = in_tables(tmp_path / "data") / "images" / "n0500000003.jpg"
    path.write_bytes(path.read_bytes()[:-60])
    with pytest.raises(DataError, match=r"n0500000003\.jpg .*truncated"):
        load(MiniImagenet(folder=tmp_path / "data", side=4))


def test_a_class_folder_in_two_splits_is_refused(tmp_path: Path) -> None:
    folder = in_folders(tmp_path / "data")
    (folder / "test" / "n05").rename(folder / "test" / "n03")
    with pytest.raises(DataError, match="'n03'"):
        load(MiniImagenet(folder=folder, side=4))


REAL = pytest.mark.skipif(
    not os.environ.get("SILOSEAL_DATA"), reason="SILOSEAL_DATA names no folder with Mini-ImageNet"
)


@REAL
@pytest.mark.parametrize(("held_out", "classes"), [("test", 20), ("val", 16)])
def test_the_real_mini_imagenet_has_64_classes_to_train_on(held_out: Literal["test", "val"], classes: int) -> None:
    train, evaluation = load(MiniImagenet(folder=Path("${SILOSEAL_DATA}/mini-imagenet"), side=32, held_out=held_out))
    assert len(train.label_set()) == 64
    assert len(evaluation.label_set()) == classes
    assert np.isclose(train.inputs.mean().item(), 0.45, atol=0.05)
