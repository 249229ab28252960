"""Masks that cancel, with numbers of two digits: what SecAgg does to each entry of a vector."""

from collections.abc import Iterable, Mapping

Pair = tuple[str, str]


def masked(
    values: Mapping[str, int], pairs: Mapping[Pair, int], own: Mapping[str, int], *, modulus: int
) -> dict[str, int]:
    """Return each silo's upload: its value, its own mask, plus every mask of which it is the first, less the others."""
    return {
        silo: (value + own.get(silo, 0) + sum(_signed(silo, pair, mask) for pair, mask in pairs.items())) % modulus
        for silo, value in values.items()
    }


def left_by(dropped: str, survivors: Iterable[str], pairs: Mapping[Pair, int], *, modulus: int) -> int:
    """Return what the masks with a silo that never uploaded leave on the survivors' sum."""
    alive = set(survivors)
    shared = {pair: mask for pair, mask in pairs.items() if dropped in pair and alive & set(pair)}
    return sum(_signed(silo, pair, mask) for pair, mask in shared.items() for silo in alive & set(pair)) % modulus


def _signed(silo: str, pair: Pair, mask: int) -> int:
    if silo not in pair:
        return 0
    return mask if silo == pair[0] else -mask
