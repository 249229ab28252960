import pytest
import torch

from siloseal.federation.errors import DataError
from siloseal.silo.data.examples import Examples, joined, require_images


def some(count: int = 4, classes: int = 3) -> Examples:
    return Examples(torch.rand(count, 1, 5, 6), torch.arange(count) % classes, classes)


def test_it_knows_its_length_shape_and_labels() -> None:
    data = Examples(torch.rand(3, 1, 5, 6), torch.tensor([0, 2, 2]), 4)
    assert len(data) == 3
    assert data.shape == (1, 5, 6)
    assert data.label_set() == {0, 2}


def test_selection_keeps_images_with_their_labels() -> None:
    data = some()
    picked = data.select(torch.tensor([3, 1]))
    assert torch.equal(picked.inputs, data.inputs[[3, 1]])
    assert torch.equal(picked.labels, data.labels[[3, 1]])
    assert picked.classes == data.classes


def test_an_empty_selection_is_allowed() -> None:
    empty = some().select(torch.empty(0, dtype=torch.int64))
    assert len(empty) == 0
    assert empty.shape == (1, 5, 6)
    assert empty.label_set() == frozenset()


def test_it_prints_its_shape_and_no_content() -> None:
    assert repr(some()) == "Examples(4 of shape (1, 5, 6), 3 classes)"


def test_rows_of_a_table_maps_and_measured_targets_are_examples_too() -> None:
    assert Examples(torch.rand(3, 7), torch.tensor([0, 1, 1]), 2).shape == (7,)
    assert Examples(torch.rand(2, 1, 4, 4), torch.zeros(2, 4, 4, dtype=torch.int64), 2).label_set() == {0}
    assert Examples(torch.rand(2, 7), torch.tensor([0.5, 0.25]), 0).label_set() == frozenset()


IMAGES = torch.full((2, 1, 4, 4), 0.5)
LABELS = torch.tensor([0, 1])
NAN = IMAGES.clone()
NAN[1, 0, 2, 2] = torch.nan
TARGETS = torch.tensor([0.5, 0.25])


@pytest.mark.parametrize(
    ("inputs", "labels", "classes"),
    [
        (IMAGES.double(), LABELS, 2),
        (IMAGES[:, 0, 0, 0], LABELS, 2),
        (torch.rand(2, 1, 0, 4), LABELS, 2),
        (NAN, LABELS, 2),
        (IMAGES + torch.inf, LABELS, 2),
        (IMAGES, LABELS.int(), 2),
        (IMAGES, torch.tensor([0, 2]), 2),
        (IMAGES, torch.tensor([-1, 0]), 2),
        (IMAGES, torch.tensor([0]), 2),
        (IMAGES, LABELS, 0),
        (IMAGES, TARGETS, 2),
        (IMAGES, TARGETS * torch.nan, 0),
    ],
)
def test_what_is_not_examples_with_labels_is_refused(inputs: torch.Tensor, labels: torch.Tensor, classes: int) -> None:
    with pytest.raises(DataError):
        Examples(inputs, labels, classes)


def test_learners_of_images_get_images() -> None:
    require_images(Examples(IMAGES, LABELS, 2))
    require_images(Examples(IMAGES[:0], LABELS[:0], 2))


@pytest.mark.parametrize(
    "found",
    [
        Examples(IMAGES[:, 0], LABELS, 2),
        Examples(torch.rand(2, 2, 4, 4), LABELS, 2),
        Examples(IMAGES * 255, LABELS, 2),
        Examples(IMAGES - 1, LABELS, 2),
        Examples(IMAGES, LABELS[:, None], 2),
        Examples(IMAGES, TARGETS, 0),
    ],
    ids=["no channel", "two channels", "too bright", "too dark", "several labels", "measured targets"],
)
def test_what_is_no_labelled_image_is_refused(found: Examples) -> None:
    with pytest.raises(DataError):
        require_images(found)


def test_parts_of_one_kind_are_joined_in_order() -> None:
    first, second = Examples(torch.zeros(2, 3), torch.zeros(2), 0), Examples(torch.ones(1, 3), torch.ones(1), 0)
    whole = joined([first, second])
    assert (whole.inputs[:, 0].tolist(), whole.labels.tolist()) == ([0, 0, 1], [0, 0, 1])
    with pytest.raises(DataError):
        joined([first, Examples(torch.zeros(2, 4), torch.zeros(2), 0)])
