import math

import pytest
import torch

from siloseal.federation.errors import DataError
from siloseal.models.classifier.scattering import SMALLEST_SIDE, Scattering, on_scattering


def stripes(angle: float, side: int = 28) -> torch.Tensor:
    """A grating (1, 1, side, side) of period four pixels, across which the light changes at this angle."""
    down, across = torch.meshgrid(torch.arange(side), torch.arange(side), indexing="ij")
    along = across * math.cos(angle) + down * math.sin(angle)
    return (0.5 + 0.5 * torch.cos(2 * math.pi * along / 4.0))[None, None]


def test_a_map_answers_to_its_own_orientation() -> None:
    """Maps 1 to 8 are the fine wavelets, in turn; the middle of the image, away from its edges."""
    for number in range(8):
        answers = Scattering(1)(stripes(math.pi * number / 8))[0, 1:9, 2:5, 2:5].mean((1, 2))
        assert int(answers.argmax()) == number


def test_plain_light_has_no_answer_but_its_brightness() -> None:
    maps = Scattering(1)(torch.full((2, 1, 28, 28), 0.7))
    assert torch.allclose(maps[:, 0], torch.tensor(0.7), atol=1e-5)
    assert maps[:, 1:].abs().max() < 1e-5


def test_only_the_last_layer_is_learnt_and_stored() -> None:
    network = on_scattering((1, 28, 28), 10)
    assert {name: tuple(found.shape) for name, found in network.state_dict().items()} == {
        "3.weight": (10, 81 * 7 * 7),
        "3.bias": (10,),
    }


def test_a_small_shift_changes_the_features_less_than_the_pixels() -> None:
    image = torch.zeros(1, 1, 28, 28)
    image[..., 8:20, 13:15] = 1.0
    moved = image.roll(1, dims=3)
    features = Scattering(1)
    pixels = float((image - moved).norm() / image.norm())
    assert float((features(image) - features(moved)).norm() / features(image).norm()) < pixels / 2


def test_images_that_wavelets_do_not_fit_are_refused() -> None:
    on_scattering((1, SMALLEST_SIDE, SMALLEST_SIDE), 2)
    with pytest.raises(DataError):
        on_scattering((1, SMALLEST_SIDE - 1, 28), 2)
