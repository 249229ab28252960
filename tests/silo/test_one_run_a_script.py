"""An aggregator that sums twice what scripts gave once, over other silos, would read one silo's module off both sums."""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch

from siloseal.aggregator.averages import AggregatorAverages
from siloseal.aggregator.dispatcher import Dispatcher
from siloseal.federation.averages.config import AverageJob
from siloseal.federation.averages.releases import average_release, start_of
from siloseal.federation.averages.structure import Structure
from siloseal.federation.errors import RunError, SessionMismatch, SiloRefused
from siloseal.federation.job.releases import Run
from siloseal.federation.randomness import SecureRandomness
from siloseal.federation.records.identity import Identity
from siloseal.federation.run_events.stream import unheard
from siloseal.federation.transport.wire import consortium_pb2
from siloseal.runs.averaging_session import AveragingSession, SealedAverage
from siloseal.runs.simulation import coordinate
from siloseal.silo.config import SiloConfig
from siloseal.silo.handover import Handover
from siloseal.silo.messages import ReceivedRequest
from siloseal.silo.participation import Participation, take_part

NAMES = ("north", "east", "south", "west")
IDENTITIES = {name: Identity.create(name) for name in NAMES}
ROSTER = {name: identity.public for name, identity in IDENTITIES.items()}
POLICY = {
    "largest_epsilon": 1, "largest_delta": 1e-6, "fewest_silos": 3, "secure_sums": ["secagg"],
    "privacy": ["example_level"], "averages": True,
}  # fmt: skip


def job(*names: str) -> AverageJob:
    sections = {"name": "a", "silos": {"names": names}, "secure_sum": {"kind": "secagg"}, "averages": 5}
    return AverageJob.model_validate(sections)


class HangsUp(Exception):
    """The aggregator is gone, before it has told anybody the average."""


class Liar(AggregatorAverages):
    """An aggregator that keeps the sum to itself."""

    def __init__(self, job: AverageJob, seen: dict[int, np.ndarray]) -> None:
        super().__init__(job, unheard)
        self._seen = seen

    def _opened(self, run: Run, dispatcher: Dispatcher, round: int, given: dict[str, Structure]) -> None:  # type: ignore[override]
        structure = next(iter(given.values()))
        release = average_release(self._job, round, structure.length)
        start = start_of(self._job, round, structure, self._last)
        self._seen[len(given)] = dispatcher.sum(release, run, given, start).total
        raise HangsUp


class Served:
    """A silo with a script, that takes part in whatever it is offered, as its process does."""

    def __init__(self, name: str, state: Path) -> None:
        self.name, self.offered, self.handover = name, job(*NAMES), Handover()
        self._run = b""
        self._part: Participation | None = None
        self._config = SiloConfig.model_validate(
            {
                "name": name, "aggregator": {"host": "localhost", "port": 1}, "identity": "i", "roster": "r",
                "tls": {"certificate": "c", "key": "k", "authority": "a"}, "state": state,
                "data": {"kind": "script"}, "policy": POLICY,
            }
        )  # fmt: skip

    def answer(self, data: bytes) -> bytes:
        request = ReceivedRequest.read(data, silo=self.name)
        if self._part is None or self._run != request.message.run_id:
            self._run, self._part = request.message.run_id, self._take_part(request.message.run_id)
        return self._part.answer(request).data

    def _take_part(self, run: bytes) -> Participation:
        return take_part(
            self._config,
            consortium_pb2.JobOffer(run_id=run, job=self.offered.model_dump_json()),
            self.handover,
            identity=IDENTITIES[self.name],
            roster=ROSTER,
            randomness=SecureRandomness(),
            publish=unheard,
        )

    def script(self) -> SealedAverage:
        module = torch.nn.Linear(3, 2)
        return AveragingSession(self.name, self.handover).average(module, weight=100, exclude=())


@pytest.fixture
def silos(tmp_path: Path) -> Iterator[dict[str, Served]]:
    silos = {name: Served(name, tmp_path / name) for name in NAMES}
    yield silos
    for silo in silos.values():
        silo.handover.end(RunError("the test is over"))


def test_what_was_given_in_one_run_goes_into_no_sum_of_another(silos: dict[str, Served], tmp_path: Path) -> None:
    seen = dict[int, np.ndarray]()
    pool = ThreadPoolExecutor(len(NAMES))
    scripts: dict[str, Future[SealedAverage]] = {name: pool.submit(silo.script) for name, silo in silos.items()}
    pool.shutdown(wait=False)

    def run(*names: str) -> None:
        for name in names:
            silos[name].offered = job(*names)
        among = {name: silos[name] for name in names}
        folder = tmp_path / f"aggregator of {len(names)}"
        folder.mkdir()
        coordinate(job(*names), Liar(job(*names), seen), among, folder, unheard, workers=4)

    with pytest.raises(HangsUp):
        run(*NAMES)
    with pytest.raises(SiloRefused):
        run(*NAMES[:3])
    assert list(seen) == [4], "with the sum over three, the difference would be what west gave"
    for name in NAMES[:3]:
        assert isinstance(scripts[name].exception(), SessionMismatch)
    assert not scripts["west"].done(), "it waits for the run that it is in"
