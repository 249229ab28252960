"""What every source says of itself."""

import pytest

from siloseal.federation.job.sections.data import AtSilos, Digits, IdxFiles, NpzFile
from siloseal.federation.job.sections.source import Source


@pytest.mark.parametrize(
    ("source", "origin"),
    [
        (Digits(limit=5), ("digits",)),
        (IdxFiles.model_validate({"folder": "mnist"}), ("idx", "mnist")),
        (NpzFile.model_validate({"path": "x.npz", "side": 4}), ("npz", "x.npz")),
        (AtSilos(), ("at_silos",)),
    ],
)
def test_a_source_is_known_by_its_kind_and_place(source: Source, origin: tuple[str, ...]) -> None:
    assert source.origin == origin
    assert source.declared is None
