"""Two authorities that nobody can tell apart by name."""

from pathlib import Path

import pytest

from siloseal.federation.transport.pki.authority import Authority


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority.create("hospitals", tmp_path / "authority")


@pytest.fixture
def stranger(tmp_path: Path) -> Authority:
    """Of another consortium that happens to have the same name."""
    return Authority.create("hospitals", tmp_path / "stranger")
