"""The consortium and the job that ship: copied, with another address, they run as they are."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from siloseal.provisioning.kits import provision

from .conftest import free_port
from .parties import Party

CONFIGS = Path(__file__).parents[2] / "configs"
SILOS = ("north", "east", "south")


@pytest.fixture
def parties(tmp_path: Path) -> Iterator[list[Party]]:
    """Of the files as they ship; only the address is that of a try on one machine."""
    for name in ("consortium.yaml", "hospitals.yaml"):
        shutil.copy(CONFIGS / name, tmp_path)
    path = tmp_path / "consortium.yaml"
    text = path.read_text()
    for old, new in {"port: 8443": f"port: {free_port()}", "listen: 0.0.0.0": "listen: 127.0.0.1"}.items():
        assert text.count(old) == 1
        text = text.replace(old, new)
    path.write_text(text)
    provision(path, tmp_path / "kits")
    kits = tmp_path / "kits"
    silos = [Party("silo", kits / name / "silo.yaml", seed) for seed, name in enumerate(SILOS, start=1)]
    parties = [Party("aggregator", kits / "aggregator" / "aggregator.yaml"), *silos]
    yield parties
    for party in parties:
        if party.alive:
            party.kill()


def test_runs_to_its_end_and_everyone_ends_well(parties: list[Party]) -> None:
    for party in parties:
        party.start()
    assert [party.wait() for party in parties] == [0, 0, 0, 0]
    assert (parties[0].config.parent / "state" / "global.safetensors").exists()
    assert not any(party.said("refuses") for party in parties)
