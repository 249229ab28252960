"""Pictures come out as PNG files with the wanted text, and show what they are given."""

import io

import numpy as np
from IPython.display import Image
from PIL import Image as Picture

from siloseal.experiments.walkthroughs.pictures import (
    bars,
    histograms,
    image_rows,
    lines,
    named_images,
    ring,
    ring_order,
)
from siloseal.federation.sums.secagg.graph import harary

IMAGES = np.zeros((3, 1, 8, 8), dtype=np.uint8)


def size_of(picture: Image) -> tuple[int, int]:
    with Picture.open(io.BytesIO(picture.data)) as opened:
        return opened.size


def test_every_picture_is_a_png_with_its_title_as_text() -> None:
    neighbours = harary(tuple(f"silo{number}" for number in range(8)), 4, b"seed")
    made = [
        lines({"a": ((1, 2), (0.1, None)), "b": ((1, 2), (3, 4))}, title="t", x="x", y="y", log_x=True, log_y=True),
        bars({"a": 1.0, "a longer name": 20.0}, title="t", y="y"),
        histograms({"a": np.array([0, 1, 1]), "b": np.array([3])}, title="t", x="x", largest=3),
        image_rows({"a": IMAGES, "b": IMAGES[:2]}, title="t"),
        named_images(IMAGES, ["1", "2", "3"], [1], title="t"),
        ring(neighbours, "silo0", title="t"),
    ]
    for picture in made:
        assert min(size_of(picture)) > 100
        assert picture.alt == "t"


def test_the_order_of_a_ring_is_found_from_its_neighbours() -> None:
    """Whoever is one, two or three places away is a neighbour, and nobody else."""
    roster = tuple(f"silo{number}" for number in range(20))
    neighbours = harary(roster, 6, b"another seed")
    order = ring_order(neighbours)
    assert sorted(order) == sorted(roster)
    for place, silo in enumerate(order):
        around = {order[(place + step) % 20] for step in (-3, -2, -1, 1, 2, 3)}
        assert around == set(neighbours[silo])
