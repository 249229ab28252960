"""Invented characters: a few-shot data set that needs no download.

It is synthetic. Every character is a few smooth strokes drawn at random once; every drawing of it is the same strokes
with a trembling hand. It shows that few-shot learning runs and learns, and says nothing about how well it would do on
handwriting: report results on Omniglot for that.
"""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from siloseal.silo.data.named_images import NamedImages

Points = NDArray[np.float64]  # (points, 2), in the unit square

# Public and fixed: everybody draws the same characters.
_SEED = 20_151_211
_TRAINING, _HELD_OUT = 0, 1  # streams apart, so that more training characters leave the held-out ones as they are

_FINER = 4  # characters are drawn larger by this factor and then averaged, which smooths the edges
_STEPS = 12  # straight pieces of a stroke
_TREMBLE = 0.035  # standard deviation of a control point, in sides of the image
_TURN = 0.16  # radians, standard deviation
_STRETCH = 0.10
_SHIFT = 0.045
_PEN = (0.055, 0.095)  # thinnest and widest line, in sides of the image


def draw_strokes(
    *, characters: int, held_out_characters: int, drawings: int, side: int
) -> tuple[NamedImages, NamedImages]:
    """The training characters and the held-out ones, ink 1 on paper 0."""
    return (
        _alphabet(_TRAINING, "training", characters, drawings, side),
        _alphabet(_HELD_OUT, "held-out", held_out_characters, drawings, side),
    )


def _alphabet(stream: int, name: str, characters: int, drawings: int, side: int) -> NamedImages:
    pixels = np.empty((characters, drawings, 1, side, side), dtype=np.uint8)
    for number in range(characters):
        generator = np.random.default_rng((_SEED, stream, number))
        strokes = _invent(generator)
        for drawing in range(drawings):
            pixels[number, drawing, 0] = _draw(_tremble(strokes, generator), generator.uniform(*_PEN), side)
    labels = np.repeat(np.arange(characters, dtype=np.int64), drawings)
    names = tuple(f"{name} character {number}" for number in range(characters))
    return NamedImages(pixels.reshape(-1, 1, side, side), labels, names)


def _invent(generator: np.random.Generator) -> list[Points]:
    """An invented character: two to four strokes, each a Bézier curve of three or four points whose ends are apart."""
    strokes = list[Points]()
    for _ in range(int(generator.integers(2, 5))):
        points = generator.uniform(0.12, 0.88, size=(int(generator.integers(3, 5)), 2))
        while np.linalg.norm(points[-1] - points[0]) < 0.3:
            points[-1] = generator.uniform(0.12, 0.88, size=2)
        strokes.append(points)
    return strokes


def _tremble(strokes: list[Points], generator: np.random.Generator) -> list[Points]:
    """One writer's copy: every point moved a little, and the whole turned, stretched and shifted."""
    angle = generator.normal(0.0, _TURN)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    change = turn * (1.0 + generator.normal(0.0, _STRETCH, size=2))  # (2, 2)
    shift = generator.normal(0.0, _SHIFT, size=2)
    return [
        (points + generator.normal(0.0, _TREMBLE, size=points.shape) - 0.5) @ change + 0.5 + shift for points in strokes
    ]


def _draw(strokes: list[Points], pen: float, side: int) -> NDArray[np.uint8]:
    """The drawing (side, side), ink 255. The pen is round: a disc at every joint closes corners between pieces."""
    canvas = Image.new("L", (side * _FINER, side * _FINER))
    drawing = ImageDraw.Draw(canvas)
    width = pen * side * _FINER
    for points in strokes:
        line = _curve(points) * side * _FINER
        drawing.line([(x, y) for x, y in line], fill=255, width=max(1, round(width)), joint="curve")
        for x, y in (line[0], line[-1]):
            drawing.ellipse((x - width / 2, y - width / 2, x + width / 2, y + width / 2), fill=255)
    return np.asarray(canvas.reduce(_FINER))


def _curve(points: Points) -> Points:
    """The Bézier curve of these control points, by de Casteljau's algorithm."""
    time = np.linspace(0.0, 1.0, _STEPS + 1)[:, np.newaxis]  # (steps + 1, 1)
    levels = [np.broadcast_to(point, (len(time), 2)) for point in points]
    while len(levels) > 1:
        levels = [(1 - time) * start + time * end for start, end in pairwise(levels)]
    return levels[0]
