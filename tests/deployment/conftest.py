"""A consortium of three on one machine: provisioned, started as processes, disturbed by the tests."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
import yaml

from siloseal.federation.analytics.any_job import AnyJob
from siloseal.federation.config.loading import to_yaml
from siloseal.federation.job.job import Job
from siloseal.federation.sums.config import SumKind
from siloseal.models.model_files import read_generator
from siloseal.provisioning.addresses import free_port
from siloseal.provisioning.kits import provision

from .parties import Party

EXAMPLES = {"north": 300, "east": 400, "south": 500}
NAMES = tuple(EXAMPLES)
SHORT = {"kind": "two_phase", "batch": 48, "local_steps": 30, "tuning_rounds": 1, "tuning_steps": 5}
ONE_STEP = {"kind": "two_phase", "batch": 48, "local_steps": 1, "tuning_rounds": 0}
PRIVACY = {"kind": "example_level", "epsilon": 10, "delta": 1e-5, "reserve_steps": 2000}
KERNEL_MEAN = {"kind": "kernel_mean", "epsilon": 4, "frequencies": 40, "length_scale": 1.0, "fit_steps": 5}
POLICY = {
    "largest_epsilon": 10, "largest_delta": 1e-5, "fewest_silos": 2, "secure_sums": list(get_args(SumKind)),
    "tuning_sums": list(get_args(SumKind)), "privacy": ["example_level", "silo_level"], "learners": ["gan"],
    "largest_model": 10**6,
}  # fmt: skip


class Consortium:
    """Kits in a folder, and a party for each."""

    def __init__(
        self,
        folder: Path,
        job: AnyJob,
        *,
        data: Mapping[str, dict[str, Any]] | None = None,
        policy: Mapping[str, Any] = POLICY,
    ) -> None:
        self.folder, self.job, self.port = folder, job, free_port()
        self.kits = folder / "kits"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "job.yaml").write_text(to_yaml(job))
        images = {name: {"kind": "digits", "limit": size} for name, size in EXAMPLES.items()}
        silos = [{"name": name, "data": source} for name, source in (data or images).items()]
        consortium = {
            "name": "three", "aggregator": {"host": "localhost", "port": self.port, "listen": "127.0.0.1"},
            "job": "job.yaml", "policy": dict(policy), "silos": silos, "keys": "made_by_authority",
        }  # fmt: skip
        (folder / "consortium.yaml").write_text(yaml.safe_dump(consortium))
        provision(folder / "consortium.yaml", self.kits)
        self.aggregator = Party("aggregator", self.kits / "aggregator" / "aggregator.yaml")
        self.silos = {
            name: Party("silo", self.kits / name / "silo.yaml", seed) for seed, name in enumerate(NAMES, start=1)
        }

    @property
    def parties(self) -> list[Party]:
        return [self.aggregator, *self.silos.values()]

    def start(self) -> "Consortium":
        for party in self.parties:
            party.start()
        return self

    def finish(self) -> np.ndarray:
        """Everyone ends well; the global model."""
        assert [party.wait() for party in self.parties] == [0] * len(self.parties), [
            p.said("error") for p in self.parties
        ]
        return self.model()

    def model(self, path: str = "global.safetensors") -> np.ndarray:
        generator = read_generator(self.kits / "aggregator" / "state" / path)
        return np.concatenate([p.detach().numpy().ravel() for p in generator.parameters()])

    def edit(self, party: str, **changes: Any) -> None:
        """Change a party's own file."""
        path = self.kits / party / ("aggregator.yaml" if party == "aggregator" else "silo.yaml")
        path.write_text(yaml.safe_dump({**yaml.safe_load(path.read_text()), **changes}))

    def state(self, party: str) -> Path:
        return self.kits / party / "state"

    def run_folder(self, silo: str) -> Path:
        (folder,) = (self.state(silo) / "runs").iterdir()
        return folder

    def stop(self) -> None:
        for party in self.parties:
            if party.alive:
                party.kill()


@contextmanager
def _consortia(job_of: Callable[..., Job], folder: Path) -> Iterator[Callable[..., Consortium]]:
    made: list[Consortium] = []

    def make(**sections: Any) -> Consortium:
        sections = {"schedule": SHORT, "privacy": PRIVACY, "data": {"kind": "at_silos"}, **sections}
        made.append(Consortium(folder / str(len(made)), job_of(**sections)))
        return made[-1]

    yield make
    for consortium in made:
        consortium.stop()


@pytest.fixture
def consortium_of(small_job: Callable[..., Job], tmp_path: Path) -> Iterator[Callable[..., Consortium]]:
    """A consortium for the small job with some sections replaced; whatever still runs is killed in the end."""
    with _consortia(small_job, tmp_path) as make:
        yield make


@pytest.fixture(scope="module")
def lasting_consortium_of(
    small_sections: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[..., Consortium]]:
    """The same for runs that several tests of a module look at."""
    folder = tmp_path_factory.mktemp("consortia")
    with _consortia(lambda **sections: Job.model_validate({**small_sections, **sections}), folder) as make:
        yield make


@pytest.fixture(scope="module")
def consortium(lasting_consortium_of: Callable[..., Consortium]) -> Consortium:
    """A run that waits for everyone to enrol, for as long as the tests of a module last."""
    consortium = lasting_consortium_of(schedule=ONE_STEP)
    consortium.aggregator.start().wait_for("serves")
    return consortium
