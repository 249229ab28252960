"""One job on one machine: silos with their own folders, an aggregator with its own, the local engine between them."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from aggregator.coordinator import Coordinator, Observer, Outcome
from aggregator.journal import Journal
from federation.config.job import Job
from federation.engine import LocalEngine
from federation.randomness import Randomness
from silo.data.labelled_images import LabelledImages
from silo.data.partition import partition
from silo.public_start import train_on_public_data
from silo.runtime import Silo
from silo.training.trainer import TrainingProgress

RandomnessOf = Callable[[str], Randomness]
"""Each silo's own source."""

OnTraining = Callable[[str, TrainingProgress], None]


def deal(job: Job, data: LabelledImages) -> dict[str, LabelledImages]:
    """What each silo of the simulation holds."""
    shares = partition(data.labels, len(job.silos.names), job.silos.partition, job.seed)
    return {name: data.select(share) for name, share in zip(job.silos.names, shares, strict=True)}


@contextmanager
def open_silos(
    job: Job, parts: Mapping[str, LabelledImages], folder: Path, randomness_of: RandomnessOf, on_training: OnTraining
) -> Iterator[dict[str, Silo]]:
    """The job's silos, each in its own folder, where they find what an interrupted run left."""
    with ExitStack() as stack:
        silos = dict[str, Silo]()
        for name, part in parts.items():
            silos[name] = Silo(
                name, job, part, folder / "silos" / name, randomness=randomness_of(name), on_progress=on_training
            )
            stack.callback(silos[name].close)
        yield silos


def federate(job: Job, silos: Mapping[str, Silo], folder: Path, observer: Observer, *, workers: int) -> Outcome:
    """The whole job among these silos. Run again after an interruption, it goes on where it stopped."""
    aggregator_folder = folder / "aggregator"
    aggregator_folder.mkdir(parents=True, exist_ok=True)
    engine = LocalEngine({name: silo.answer for name, silo in silos.items()}, workers=workers)
    journal = Journal(aggregator_folder / "journal.sqlite", job.digest)
    try:
        coordinator = Coordinator(
            job,
            engine,
            journal,
            observer,
            lambda start, shape, classes: train_on_public_data(job, start, shape, classes),
        )
        return coordinator.run()
    finally:
        journal.close()
