"""Vectors are drawn by their silo's place, the same each time, and only when somebody asks."""

import numpy as np

from siloseal.experiments.drawn_vectors import DrawnVectors
from siloseal.federation.sums.session import Vector


def test_a_vector_is_drawn_anew_each_time_it_is_asked_for() -> None:
    drawn = list[int]()

    def draw(number: int) -> Vector:
        drawn.append(number)
        return np.full(3, float(number))

    vectors = DrawnVectors(["north", "east"], draw)
    assert (list(vectors), len(vectors), drawn) == (["north", "east"], 2, [])
    assert vectors["east"].tolist() == vectors["east"].tolist() == [1.0, 1.0, 1.0]
    assert drawn == [1, 1]
