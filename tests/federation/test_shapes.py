import pytest

from siloseal.federation.errors import DataError
from siloseal.federation.shapes import Shape, image_shape


@pytest.mark.parametrize("shape", [(1, 8, 8), (3, 1, 5)])
def test_channels_height_and_width_make_an_image(shape: Shape) -> None:
    assert image_shape(shape) == shape


@pytest.mark.parametrize("shape", [(), (7,), (8, 8), (2, 8, 8), (1, 0, 8), (1, 1, 8, 8)])
def test_everything_else_is_refused(shape: Shape) -> None:
    with pytest.raises(DataError):
        image_shape(shape)
