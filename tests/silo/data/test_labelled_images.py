import pytest
import torch

from siloseal.federation.errors import DataError
from siloseal.silo.data.labelled_images import LabelledImages


def some(count: int = 4, classes: int = 3) -> LabelledImages:
    return LabelledImages(torch.rand(count, 1, 5, 6), torch.arange(count) % classes, classes)


def test_it_knows_its_length_shape_and_labels() -> None:
    data = LabelledImages(torch.rand(3, 1, 5, 6), torch.tensor([0, 2, 2]), 4)
    assert len(data) == 3
    assert data.image_shape == (1, 5, 6)
    assert data.label_set() == {0, 2}


def test_selection_keeps_images_with_their_labels() -> None:
    data = some()
    picked = data.select(torch.tensor([3, 1]))
    assert torch.equal(picked.images, data.images[[3, 1]])
    assert torch.equal(picked.labels, data.labels[[3, 1]])
    assert picked.classes == data.classes


def test_an_empty_selection_is_allowed() -> None:
    empty = some().select(torch.empty(0, dtype=torch.int64))
    assert len(empty) == 0
    assert empty.image_shape == (1, 5, 6)
    assert empty.label_set() == frozenset()


def test_it_prints_its_shape_and_no_pixel() -> None:
    assert repr(some()) == "LabelledImages(4 images of (1, 5, 6), 3 classes)"


IMAGES = torch.full((2, 1, 4, 4), 0.5)
LABELS = torch.tensor([0, 1])
NAN = IMAGES.clone()
NAN[1, 0, 2, 2] = torch.nan


@pytest.mark.parametrize(
    ("images", "labels", "says"),
    [
        (IMAGES.double(), LABELS, "torch.float64"),
        (IMAGES[:, 0], LABELS, r"shape \(2, 4, 4\)"),
        (torch.rand(2, 2, 4, 4), LABELS, "2 channels"),
        (torch.rand(2, 1, 0, 4), LABELS, "0x4 pixels"),
        (NAN, LABELS, "NaN"),
        (IMAGES * 255, LABELS, "to 127.5"),
        (IMAGES - 1, LABELS, "from -0.5"),
        (IMAGES + torch.inf, LABELS, "to inf"),
        (IMAGES, LABELS.int(), "torch.int32"),
        (IMAGES, LABELS[:, None], r"shape \(2, 1\)"),
        (IMAGES, torch.tensor([0, 2]), "0 to 2, expected 0 to 1"),
        (IMAGES, torch.tensor([-1, 0]), "-1 to 0"),
        (IMAGES, torch.tensor([0]), "2 images but 1 labels"),
    ],
)
def test_what_is_not_images_with_labels_is_refused(images: torch.Tensor, labels: torch.Tensor, says: str) -> None:
    with pytest.raises(DataError, match=says):
        LabelledImages(images, labels, 2)
