"""Vectors of many silos that are never all in memory."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from siloseal.federation.sums.session import Vector


class DrawnVectors(Mapping[str, Vector]):
    """Every silo's vector by its name, drawn anew by its number each time that it is asked for."""

    def __init__(self, silos: Sequence[str], draw: Callable[[int], Vector]) -> None:
        self._numbers, self._draw = {silo: number for number, silo in enumerate(silos)}, draw

    def __getitem__(self, silo: str) -> Vector:
        return self._draw(self._numbers[silo])

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)
