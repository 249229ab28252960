from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from PIL import Image
from pydantic import TypeAdapter

from siloseal.federation.errors import DataError
from siloseal.federation.job.sections.data import (
    AtSilos,
    ClassFolders,
    DataSource,
    Digits,
    EmbeddedMnist,
    IdxFiles,
    MiniImagenet,
    NpzFile,
    Omniglot,
    Strokes,
)
from siloseal.silo.data.loading import load

from .sample_files import cycling_labels, pixels

Write = Callable[..., Path]


@pytest.mark.parametrize(("fraction", "held"), [(0.2, 2), (0.01, 1), (0.5, 5), (0.99, 9)])
def test_whole_classes_are_held_out_at_least_one_on_each_side(fraction: float, held: int) -> None:
    train, held_out = load(Digits(hold_out="classes", held_out=fraction))
    assert len(held_out.label_set()) == held
    assert train.label_set() | held_out.label_set() == set(range(10))
    assert not train.label_set() & held_out.label_set()
    assert len(train) + len(held_out) == 1797
    assert train.classes == held_out.classes == 10


def test_the_classes_held_out_are_the_same_in_every_run_and_data_set() -> None:
    held_out = {load(source)[1].label_set() for source in (Digits(hold_out="classes"), Digits(hold_out="classes"))}
    held_out.add(load(EmbeddedMnist(hold_out="classes", limit=50))[1].label_set())
    assert len(held_out) == 1


def test_images_are_held_out_unless_classes_are_asked_for() -> None:
    train, held_out = load(Digits())
    assert train.label_set() == held_out.label_set()


def test_class_folders_can_hold_out_classes(class_folders: Path) -> None:
    train, held_out = load(ClassFolders(path=class_folders, side=4, hold_out="classes"))
    assert sorted([len(train), len(held_out)]) == [4, 6]


def test_silos_that_agree_on_names_hold_out_the_same_classes(tmp_path: Path) -> None:
    names = tuple("abcdef")
    for silo, held in (("one", "abcdef"), ("two", "abcde"), ("three", "bcdef")):
        for name in held:
            (tmp_path / silo / name).mkdir(parents=True)
            Image.new("L", (3, 3)).save(tmp_path / silo / name / "a.png")
    parts = [
        load(ClassFolders(path=tmp_path / silo, side=2, class_names=names, hold_out="classes", held_out=0.5))
        for silo in ("one", "two", "three")
    ]
    trained = set[int]().union(*(train.label_set() for train, _ in parts))
    evaluated = set[int]().union(*(held_out.label_set() for _, held_out in parts))
    assert not trained & evaluated


def test_an_archive_without_a_test_split_can_hold_out_classes(npz_file: Write) -> None:
    path = npz_file(images=pixels(20, 4, 4), labels=cycling_labels(20, 4))
    train, held_out = load(NpzFile(path=path, hold_out="classes", held_out=0.25))
    assert (len(train), len(held_out)) == (15, 5)
    assert len(torch.unique(held_out.labels)) == 1


def test_an_archive_with_a_test_split_cannot(npz_file: Write) -> None:
    images, labels = pixels(4, 4, 4), cycling_labels(4, 2)
    path = npz_file(train_images=images, train_labels=labels, test_images=images, test_labels=labels)
    with pytest.raises(DataError, match="hold_out "):
        load(NpzFile(path=path, hold_out="classes"))


@pytest.mark.parametrize("classes", [1, 4])
def test_classes_that_leave_one_part_empty_are_refused(npz_file: Write, classes: int) -> None:
    path = npz_file(images=pixels(6, 4, 4), labels=cycling_labels(6, 1))
    with pytest.raises(DataError, match=f" {classes} classes, .* 1 .*held_out "):
        load(NpzFile(path=path, hold_out="classes", classes=classes))


HERE = Path("x")


@pytest.mark.parametrize(
    ("source", "holds"),
    [
        (EmbeddedMnist(), False),
        (EmbeddedMnist(hold_out="classes"), True),
        (Digits(hold_out="classes"), True),
        (IdxFiles(folder=HERE), False),
        (ClassFolders(path=HERE, side=4), False),
        (ClassFolders(path=HERE, side=4, hold_out="classes"), True),
        (NpzFile(path=HERE), False),
        (NpzFile(path=HERE, hold_out="classes"), True),
        (MiniImagenet(folder=HERE), True),
        (Omniglot(folder=HERE), True),
        (Strokes(), True),
        (AtSilos(), True),
    ],
    ids=lambda value: getattr(value, "kind", str(value)),
)
def test_every_source_says_whether_it_holds_out_classes_and_survives_its_file(source: DataSource, holds: bool) -> None:
    assert source.holds_out_classes is holds
    adapter: TypeAdapter[DataSource] = TypeAdapter(DataSource)
    assert adapter.validate_python(source.model_dump(mode="json")) == source
