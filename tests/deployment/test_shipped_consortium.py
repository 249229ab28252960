"""The consortium and the job that ship, with another address, run as they are: every silo makes its own keys."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from siloseal.provisioning.addresses import free_port
from siloseal.provisioning.kits import provision
from siloseal.provisioning.request import make_request
from siloseal.run_folder.run import read_run

from .parties import Party

CONFIGS = Path(__file__).parents[2] / "configs"
SILOS = ("north", "east", "south")


@pytest.fixture
def parties(tmp_path: Path) -> Iterator[list[Party]]:
    """The parties of the files as they ship; only the address is that of a try on one machine."""
    for name in ("consortium.yaml", "hospitals.yaml"):
        shutil.copy(CONFIGS / name, tmp_path)
    path = tmp_path / "consortium.yaml"
    text = path.read_text()
    for old, new in {"port: 8443": f"port: {free_port()}", "listen: 0.0.0.0": "listen: 127.0.0.1"}.items():
        assert text.count(old) == 1
        text = text.replace(old, new)
    path.write_text(text)
    kits = tmp_path / "kits"
    (tmp_path / "requests").mkdir()
    for name in SILOS:
        make_request(name, tmp_path / name)
        shutil.copy(tmp_path / name / "request.yaml", tmp_path / "requests" / f"{name}.yaml")
    provision(path, kits)
    for name in SILOS:  # as START.md says: the kit's files beside the silo's own keys
        shutil.copytree(kits / name, tmp_path / name, dirs_exist_ok=True)
    silos = [Party("silo", tmp_path / name / "silo.yaml", seed) for seed, name in enumerate(SILOS, start=1)]
    parties = [Party("aggregator", kits / "aggregator" / "aggregator.yaml"), *silos]
    yield parties
    for party in parties:
        if party.alive:
            party.kill()


def test_runs_to_its_end_and_everyone_ends_well(parties: list[Party]) -> None:
    for party in parties:
        party.start()
    assert [party.wait() for party in parties] == [0, 0, 0, 0]
    state = parties[0].config.parent / "state"
    assert (state / "global.safetensors").exists()
    assert read_run(state).summary.warnings == []
    assert not any(party.said("refuses") for party in parties)
