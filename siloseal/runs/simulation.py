"""One job on one machine: silos with their own folders, an aggregator with its own, the local engine between them."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

import torch

from siloseal.aggregator.coordinator import Coordinator, Outcome
from siloseal.aggregator.journal import Journal
from siloseal.aggregator.training import AggregatorTraining, TrainedModel
from siloseal.aggregator.work import AggregatorWork
from siloseal.federation.analytics.any_job import AnyJob
from siloseal.federation.errors import RunError, SiloRefused
from siloseal.federation.job.job import Job
from siloseal.federation.job.sections.gan import GanConfig
from siloseal.federation.job.sections.partition import ByClass, DisjointClasses
from siloseal.federation.job.sections.tables import CsvRecords
from siloseal.federation.randomness import Randomness
from siloseal.federation.records.identity import Identity
from siloseal.federation.records.storage import Survives
from siloseal.federation.run_events.stream import Subscriber
from siloseal.federation.transport.engine import LocalEngine
from siloseal.models.building import vector_lengths
from siloseal.runs.resting_silos import MOST_AWAKE, RestingSilo, RestingSilos
from siloseal.silo.data.examples import Examples, joined
from siloseal.silo.data.loading import load
from siloseal.silo.data.partition import partition
from siloseal.silo.opening import open_training_silo
from siloseal.silo.public_start import public_sum
from siloseal.silo.runtime import Silo
from siloseal.silo.state import SiloState
from siloseal.silo.training.device import CPU

Result = TypeVar("Result")

RandomnessOf = Callable[[str], Randomness]
"""Function that gives each silo its own source of randomness."""


@dataclass(frozen=True)
class SimulatedData:
    """The data of a simulation: what each silo trains on, and what the experimenter measures models by."""

    train: Examples
    """Training examples of all silos together."""
    parts: dict[str, Examples]
    """Training examples of each silo."""
    held_out: Examples
    """Held-out examples of all silos together."""
    held_out_of: Mapping[str, Examples]
    """Held-out examples of each silo, where it has a file of its own; none where one data set is dealt."""


def simulated_data(job: Job) -> SimulatedData:
    """Read the data of a job, and deal them to its silos; a silo with a file of its own holds what is in it."""
    if isinstance(job.data, CsvRecords) and job.data.folder is not None:
        read = {name: load(job.data.of_silo(name)) for name in job.silos.names}
        held_out_of = {name: held_out for name, (_, held_out) in read.items()}
        parts = {name: train for name, (train, _) in read.items()}
        return SimulatedData(joined(list(parts.values())), parts, joined(list(held_out_of.values())), held_out_of)
    train, held_out = load(job.data)
    return SimulatedData(train, deal(job, train), held_out, {})


def deal(job: Job, data: Examples) -> dict[str, Examples]:
    """The data that each silo of the simulation holds."""
    shares = partition(data.labels, len(job.silos.names), job.silos.partition, job.seed)
    return {name: data.select(share) for name, share in zip(job.silos.names, shares, strict=True)}


def declared_labels(job: Job, part: Examples) -> list[int]:
    """The classes that a silo says it holds, which are public: its own where the partition is by class, else all.

    It must not follow from single examples: a class with one example would tell on that example.
    """
    of_its_own = isinstance(job.silos.partition, ByClass | DisjointClasses)
    return sorted(part.label_set()) if of_its_own else list(range(part.classes))


@dataclass(frozen=True)
class Home:
    """What a silo of a simulation has of its own, and what it knows of the others."""

    name: str
    folder: Path
    identity: Identity
    roster: Mapping[str, bytes]
    """Public identity key of every silo."""


@contextmanager
def open_each(
    names: Iterable[str], folder: Path, open_one: Callable[[Home], Silo], *, most_awake: int = MOST_AWAKE
) -> Iterator[dict[str, RestingSilo]]:
    """Silos of one process, each in its own folder, where they find what an interrupted run left.

    Each is opened when it is asked for the first time.
    """
    homes = {name: folder / "silos" / name for name in names}
    for home in homes.values():
        if SiloState(home, Survives.KILL).exists() and not (home / "identity.key").exists():
            raise RunError(
                f"{home / 'identity.key'} is gone, and with it the silo's identity in this run; begin another"
            )
    identities = {name: Identity.in_file(name, home / "identity.key", Survives.KILL) for name, home in homes.items()}
    roster = {name: identity.public for name, identity in identities.items()}
    silos = RestingSilos(lambda name: open_one(Home(name, homes[name], identities[name], roster)), most=most_awake)
    with closing(silos):
        yield {name: RestingSilo(name, silos) for name in homes}


@contextmanager
def open_silos(
    job: Job,
    parts: Mapping[str, Examples],
    folder: Path,
    randomness_of: RandomnessOf,
    publish: Subscriber,
    *,
    device: torch.device = CPU,
) -> Iterator[dict[str, RestingSilo]]:
    """The silos of a training job."""
    first, any_part = next(iter(parts.items()))
    at_once = isinstance(job.learner, GanConfig)  # it draws its streams of noise when it is built
    lengths = vector_lengths(job, any_part.shape, any_part.classes)

    def opened(home: Home) -> Silo:
        return open_training_silo(
            job,
            parts[home.name],
            home.folder,
            lengths=lengths,
            labels=declared_labels(job, parts[home.name]),
            identity=home.identity,
            roster=home.roster,
            randomness=randomness_of(home.name),
            publish=publish,
            device=device,
            survives=Survives.KILL,
            networks="now" if at_once or home.name == first else "when_asked",
        )

    with open_each(parts, folder, opened) as silos:
        yield silos


def local_engine(silos: Mapping[str, RestingSilo], *, workers: int) -> LocalEngine:
    """The engine that carries requests to silos of this process, `workers` of which work at the same time."""
    return LocalEngine({name: silo.answer for name, silo in silos.items()}, workers=workers)


@contextmanager
def open_journal(folder: Path, job_digest: bytes) -> Iterator[Journal]:
    """The aggregator's journal in a run's folder."""
    (folder / "aggregator").mkdir(parents=True, exist_ok=True)
    journal = Journal(folder / "aggregator" / "journal.sqlite", job_digest, Survives.KILL)
    try:
        yield journal
    finally:
        journal.close()


def federate(
    job: Job, silos: Mapping[str, RestingSilo], folder: Path, publish: Subscriber, *, workers: int
) -> Outcome[TrainedModel]:
    """Train the model of a job among these silos."""
    training = AggregatorTraining(job, partial(public_sum, own=job.data), publish)
    return coordinate(job, training, silos, folder, publish, workers=workers)


def coordinate(
    job: AnyJob,
    work: AggregatorWork[Result],
    silos: Mapping[str, RestingSilo],
    folder: Path,
    publish: Subscriber,
    *,
    workers: int,
) -> Outcome[Result]:
    """Run the whole job among these silos. Run again after an interruption, it goes on where it stopped."""
    with open_journal(folder, job.digest) as journal:
        try:
            return Coordinator(job, work, local_engine(silos, workers=workers), journal, publish).run()
        except SiloRefused as error:  # a silo tells an aggregator little; here one person has both
            raise SiloRefused(f"{error}; silos keep that log in {folder / 'silos'}") from error
