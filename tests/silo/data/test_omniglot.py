import os
import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch
from pydantic import ValidationError

from siloseal.federation.errors import DataError
from siloseal.federation.job.sections.data import Omniglot
from siloseal.silo.data import zip_pictures
from siloseal.silo.data.examples import Examples
from siloseal.silo.data.loading import load, place

from .few_shot_files import DRAWINGS, OMNIGLOT, drawing, omniglot_entries, omniglot_folders, omniglot_zips, write_zip

LAYOUTS = {"folders": omniglot_folders, "zips": omniglot_zips}


def classes(part: Examples) -> int:
    return len(part.label_set())


@pytest.mark.parametrize("layout", LAYOUTS)
class TestEveryLayout:
    def test_by_default_the_evaluation_alphabets_are_held_out(self, layout: str, tmp_path: Path) -> None:
        folder = LAYOUTS[layout](tmp_path, "images_background", "images_evaluation")
        train, held_out = load(Omniglot(folder=folder, side=21))
        assert (classes(train), classes(held_out), train.classes, held_out.classes) == (5, 2, 7, 7)
        assert (train.label_set(), held_out.label_set()) == (set(range(5)), {5, 6})
        assert (len(train), len(held_out)) == (5 * DRAWINGS, 2 * DRAWINGS)

    def test_ink_is_one_on_paper_of_zero(self, layout: str, tmp_path: Path) -> None:
        folder = LAYOUTS[layout](tmp_path, "images_background", "images_evaluation")
        train, _ = load(Omniglot(folder=folder, side=21, margin=0))
        assert train.inputs[0, 0, 0, 3] == 1  # where Greek's first character has its ink
        assert train.inputs[0, 0, 20, 20] == 0
        assert train.inputs.mean() < 0.2

    def test_a_drawing_in_two_collections_is_taken_once(self, layout: str, tmp_path: Path) -> None:
        folder = LAYOUTS[layout](tmp_path, *OMNIGLOT)  # Greek is in two
        train, _ = load(Omniglot(folder=folder))
        assert torch.bincount(train.labels).tolist() == [DRAWINGS] * 6

    def test_named_alphabets_are_held_out_of_everything(self, layout: str, tmp_path: Path) -> None:
        folder = LAYOUTS[layout](tmp_path, *OMNIGLOT)
        train, held_out = load(Omniglot(folder=folder, test_alphabets=("Latin",)))
        assert (classes(train), classes(held_out)) == (5, 3)  # of Greek, Korean and Tibetan; of Latin
        train, held_out = load(Omniglot(folder=folder, test_alphabets=("Latin",), train_alphabets=("Korean",)))
        assert (classes(train), classes(held_out), train.classes) == (1, 3, 4)

    def test_without_an_evaluation_set_alphabets_must_be_named(self, layout: str, tmp_path: Path) -> None:
        folder = LAYOUTS[layout](tmp_path, "images_background")
        with pytest.raises(DataError, match=r"test_alphabets .*Greek, Latin"):
            load(Omniglot(folder=folder))
        assert classes(load(Omniglot(folder=folder, test_alphabets=("Greek",)))[1]) == 2


def test_a_folder_and_a_zip_of_the_same_drawings_are_the_same_data(tmp_path: Path) -> None:
    parts = ("images_background", "images_evaluation")
    one = load(Omniglot(folder=omniglot_folders(tmp_path / "a", *parts)))
    other = load(Omniglot(folder=omniglot_zips(tmp_path / "b", *parts)))
    for left, right in zip(one, other, strict=True):
        assert torch.equal(left.inputs, right.inputs)
        assert torch.equal(left.labels, right.labels)


def test_turning_makes_three_more_classes_of_each_training_character(tmp_path: Path) -> None:
    folder = omniglot_zips(tmp_path, "images_background", "images_evaluation")
    upright, same = load(Omniglot(folder=folder))
    train, held_out = load(Omniglot(folder=folder, rotations=True))
    assert (classes(train), classes(held_out), train.classes) == (20, 2, 22)
    assert torch.equal(train.inputs[: len(upright)], upright.inputs)
    for turn in range(4):
        of_turn = train.select(torch.arange(len(upright)) + turn * len(upright))
        assert torch.equal(of_turn.inputs, upright.inputs.rot90(turn, dims=(2, 3)))
        assert torch.equal(of_turn.labels, upright.labels + 5 * turn)
    assert torch.equal(held_out.inputs, same.inputs)
    assert not train.label_set() & held_out.label_set()


def test_the_folder_is_the_place_of_the_data(tmp_path: Path) -> None:
    assert place(Omniglot(folder=tmp_path)) == tmp_path.resolve()


@pytest.mark.parametrize(
    ("collections", "options", "says"),
    [
        ((), {}, "images_background, .*images_evaluation"),
        (("images_background",), {"test_alphabets": ("Klingon",)}, "Klingon; .*Greek, Latin"),
        (("images_background",), {"test_alphabets": ("Greek",), "train_alphabets": ("X",)}, "X; .*Greek, Latin"),
        (("images_background",), {"test_alphabets": ("Greek", "Latin")}, "no alphabet .*images_background"),
        (("images_evaluation",), {}, "no alphabet .*images_background"),
        (tuple(OMNIGLOT), {"train_alphabets": ("Tibetan",)}, "Tibetan .*train_alphabets .*images_evaluation"),
    ],
)
def test_a_split_that_cannot_be_made_is_refused(
    tmp_path: Path, collections: tuple[str, ...], options: dict[str, Any], says: str
) -> None:
    with pytest.raises(DataError, match=says):
        load(Omniglot(folder=omniglot_folders(tmp_path, *collections), **options))


@pytest.mark.parametrize(
    "options",
    [
        {"test_alphabets": ["Greek"], "train_alphabets": ["Greek", "Latin"]},
        {"test_alphabets": ["Greek", "Greek"]},
        {"test_alphabets": []},
        {"rotations": 1.5},
    ],
)
def test_options_that_contradict_each_other_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Omniglot.model_validate({"folder": "x", **options})


GOOD = omniglot_entries("images_background")


@pytest.mark.parametrize(
    ("entries", "says"),
    [
        ({"../evil/a/b/c.png": b"x"}, "leads out"),
        ({"images_background/../../c.png": b"x"}, "leads out"),
        ({"/images_background/a/b/c.png": b"x"}, "leads out"),
        ({"images_background\\..\\c.png": b"x"}, "leads out"),
        ({"images_background/a/b/c.png": bytes(2**20 + 1)}, "1048577 .*1048576"),
        ({"images_background/a/c.png": drawing("a", 0, 0)}, r"alphabet/character/drawing\.png"),
        ({"images_background/a/b/c.exe": b"x"}, r"c\.exe"),
        ({"images_background/a/b/c.png": b"x"}, r"b/c\.png .*image"),
    ],
)
def test_a_zip_with_a_hostile_or_strange_entry_is_refused(tmp_path: Path, entries: dict[str, bytes], says: str) -> None:
    write_zip(tmp_path / "images_background.zip", {**GOOD, **entries})
    with pytest.raises(DataError, match=says):
        load(Omniglot(folder=tmp_path, test_alphabets=("Latin",)))
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["images_background.zip"]


def test_a_zip_of_too_many_entries_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zip_pictures, "MOST_ENTRIES", 3)
    with pytest.raises(DataError, match="at most 3"):
        load(Omniglot(folder=omniglot_zips(tmp_path, "images_background"), test_alphabets=("Latin",)))


def test_an_unusual_packing_is_refused(tmp_path: Path) -> None:
    write_zip(tmp_path / "images_background.zip", GOOD, packed=zipfile.ZIP_LZMA)
    with pytest.raises(DataError, match="packed"):
        load(Omniglot(folder=tmp_path, test_alphabets=("Latin",)))


def test_an_entry_that_unpacks_to_more_than_it_says_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "images_background.zip"
    bomb = "images_background/Latin/character00/zz.png"
    write_zip(path, {**GOOD, bomb: bytes(1_000_003)})
    content = path.read_bytes()
    assert content.count((1_000_003).to_bytes(4, "little")) == 2  # in the entry and in the directory
    path.write_bytes(content.replace((1_000_003).to_bytes(4, "little"), (100).to_bytes(4, "little")))
    with pytest.raises(DataError, match=r"zz\.png .*Bad CRC"):
        load(Omniglot(folder=tmp_path, test_alphabets=("Latin",)))


def test_hidden_files_of_an_archive_are_passed_over(tmp_path: Path) -> None:
    extra = {"__MACOSX/images_background/._a.png": b"x", "images_background/Greek/.DS_Store": b"x"}
    write_zip(tmp_path / "images_background.zip", {**GOOD, **extra})
    assert len(load(Omniglot(folder=tmp_path, test_alphabets=("Latin",)))[0]) == 2 * DRAWINGS


@pytest.mark.parametrize("kept", [0, 50, -30])
def test_a_damaged_zip_is_refused(tmp_path: Path, kept: int) -> None:
    path = omniglot_zips(tmp_path, "images_background") / "images_background.zip"
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(DataError, match=r"images_background\.zip"):
        load(Omniglot(folder=tmp_path, test_alphabets=("Latin",)))


@pytest.mark.skipif(not os.environ.get("SILOSEAL_DATA"), reason="SILOSEAL_DATA names no folder with Omniglot")
def test_the_real_small_sets_load() -> None:
    held_out = ("Japanese_(katakana)", "Sanskrit", "Tagalog")
    train, test = load(Omniglot(folder=Path("${SILOSEAL_DATA}/omniglot"), test_alphabets=held_out))
    assert (classes(train), classes(test)) == (136, 106)
    assert (len(train), len(test)) == (136 * 20, 106 * 20)
    assert 0.03 < train.inputs.mean() < 0.15
