"""Whole runs among real silos of this process, with the engine in the test's hand."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from siloseal.aggregator.coordinator import Coordinator, Outcome
from siloseal.aggregator.queries import AggregatorQueries
from siloseal.aggregator.training import AggregatorTraining, TrainedModel
from siloseal.federation.analytics.answers import Answers
from siloseal.federation.analytics.config import AnalyticsJob
from siloseal.federation.job.job import Job
from siloseal.federation.job.sections.data import Digits
from siloseal.federation.randomness import SeededRandomness
from siloseal.federation.run_events.stream import Subscriber, unheard
from siloseal.federation.transport.engine import Accept, LocalEngine
from siloseal.federation.transport.wire import messages_pb2 as pb
from siloseal.runs.resting_silos import RestingSilo
from siloseal.runs.simulation import Home, deal, open_each, open_journal, open_silos
from siloseal.silo.data.loading import load
from siloseal.silo.data.tables import read_table
from siloseal.silo.opening import open_query_silo
from siloseal.silo.runtime import Silo

Lost = Callable[[str, pb.Request], bool]
"""Whether a silo's reply to a request is lost on its way."""

QUERIES: dict[str, Any] = {
    "name": "look",
    "data": {"kind": "csv", "folder": "."},
    "silos": {"names": ["north", "east", "south", "west"], "fewest": 3},
    "privacy": {"epsilon": 8, "delta": 1e-5},
    "secure_sum": {"kind": "secagg"},
    "queries": [
        {"kind": "histogram", "column": "sex", "values": ["f", "m"]},
        {"kind": "heavy_hitters", "column": "medicine", "letters": 2},
    ],
}
RECORDS = 60


def none_lost(silo: str, request: pb.Request) -> bool:
    return False


class LossyEngine(LocalEngine):
    """An engine past its deadline: silos whose reply is lost have done their work, and count as silent."""

    def __init__(self, silos: Mapping[str, Silo], lost: Lost = none_lost) -> None:
        super().__init__({name: silo.answer for name, silo in silos.items()}, workers=1)
        self.asked = list[tuple[str, str | None]]()
        """Silo and kind of every request, in order."""
        self._lost = lost

    def ask(
        self, requests: Mapping[str, bytes], *, deadline_seconds: float, fewest: int, largest: int, accept: Accept
    ) -> None:
        messages = {silo: pb.Request.FromString(data) for silo, data in requests.items()}
        self.asked += [(silo, message.WhichOneof("body")) for silo, message in messages.items()]

        def heard(silo: str, reply: bytes) -> None:
            if not self._lost(silo, messages[silo]):
                accept(silo, reply)

        super().ask(requests, deadline_seconds=deadline_seconds, fewest=fewest, largest=largest, accept=heard)


@contextmanager
def training_silos(job: Job, folder: Path) -> Iterator[dict[str, Silo]]:
    """The silos of a job on digits."""
    with open_silos(job, deal(job, load(Digits())[0]), folder, _seeded(job.silos.names), unheard) as silos:
        yield awake(silos)


@contextmanager
def query_silos(job: AnalyticsJob, folder: Path) -> Iterator[dict[str, Silo]]:
    """Silos with one small table each."""
    lines = [f"{'fm'[n % 2]},{'aspirin' if n % 3 else 'insulin'}" for n in range(RECORDS)]
    folder.mkdir(exist_ok=True)
    (folder / "all.csv").write_text("sex,medicine\n" + "\n".join(lines))
    table, randomness_of = read_table(folder / "all.csv"), _seeded(job.silos.names)

    def opened(home: Home) -> Silo:
        return open_query_silo(
            job,
            table,
            home.folder,
            identity=home.identity,
            roster=home.roster,
            randomness=randomness_of(home.name),
        )

    with open_each(job.silos.names, folder, opened) as silos:
        yield awake(silos)


def awake(silos: Mapping[str, RestingSilo]) -> dict[str, Silo]:
    """The silos themselves: so few stay in memory."""
    found = dict[str, Silo]()
    for name, resting in silos.items():
        with resting.awake() as silo:
            found[name] = silo
    return found


def train(job: Job, engine: LocalEngine, folder: Path, publish: Subscriber) -> Outcome[TrainedModel]:
    with open_journal(folder, job.digest) as journal:
        training = AggregatorTraining(job, lambda *_: np.zeros(0), publish)
        return Coordinator(job, training, engine, journal, publish).run()


def answer(job: AnalyticsJob, engine: LocalEngine, folder: Path, publish: Subscriber) -> Outcome[Answers]:
    with open_journal(folder, job.digest) as journal:
        return Coordinator(job, AggregatorQueries(job, publish), engine, journal, publish).run()


def _seeded(names: tuple[str, ...]) -> Callable[[str], SeededRandomness]:
    return lambda name: SeededRandomness(names.index(name))
