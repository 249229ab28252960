"""`siloseal analytics`: all queries of a job, among silos of this machine with folders and identities of their own."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np
import torch
from pydantic import Field, ValidationError

from siloseal.federation.analytics.config import AnalyticsJob, CsvTables
from siloseal.federation.analytics.query import Answer
from siloseal.federation.analytics.releases import (
    AnalyticsRun,
    next_release,
    planned_events,
    require_feasible,
    shared_noise,
)
from siloseal.federation.config.loading import load_config, to_yaml
from siloseal.federation.config.section import Section
from siloseal.federation.errors import ConfigError, RunError
from siloseal.federation.privacy.accounting import MEANINGLESS_EPSILON, epsilon_of, epsilon_text
from siloseal.federation.randomness import Randomness, SecureRandomness
from siloseal.federation.records.identity import Identity
from siloseal.federation.records.storage import locked, make_folder, write_atomically
from siloseal.federation.sums.driving import Ask, run_sum
from siloseal.runs.release_log import Told
from siloseal.silo.analytics import AnalyticsSilo, guarantee_of
from siloseal.silo.data.loading import load
from siloseal.silo.data.partition import partition
from siloseal.silo.data.paths import expand
from siloseal.silo.data.tables import Table, image_table, read_table

INTERVALS = (
    "95 % intervals, each on its own, are about the noise: they hold the figure of the silos' pooled records, and say "
    "nothing about a wider population"
)

Say = Callable[[str], None]
RandomnessOf = Callable[[str], Randomness]
"""Each silo's own source."""


class Answers(Section):
    """answers.json."""

    name: str
    job: str = Field(description="digest of the job")
    answers: tuple[Answer, ...]
    epsilon: float
    delta: float
    guarantee: str
    intervals: str = INTERVALS


def run_analytics(
    job: AnalyticsJob, out: Path | None, say: Say, *, randomness_of: RandomnessOf = lambda _: SecureRandomness()
) -> tuple[Answers, Path]:
    """The answers and the run's folder. Where the folder has them already, nothing is released again."""
    folder = Path("runs") / job.name if out is None else out
    if (known := _answers_in(folder, job)) is not None:
        say(f"{folder} has the answers already; nothing is released again")
        return known, folder
    require_feasible(job)
    tables = read_tables(job)
    _begin(job, folder)
    with locked(folder), open_silos(job, tables, folder, randomness_of) as (silos, run, told):
        answers = ask_all(job, run, silos, told, say)
        # What was planned, and not what was charged: whether a query ended early depends on the data.
        epsilon = epsilon_of(planned_events(job, shared_noise(job)), job.privacy.delta)
        found = Answers(
            name=job.name,
            job=job.digest.hex(),
            answers=answers,
            epsilon=epsilon,
            delta=job.privacy.delta,
            guarantee=guarantee(job, epsilon),
        )
        write_atomically(folder / "answers.json", found.model_dump_json(indent=2).encode())
    return found, folder


def ask_all(
    job: AnalyticsJob,
    run: AnalyticsRun,
    silos: Mapping[str, AnalyticsSilo],
    told: Told,
    say: Say,
    ask: Ask | None = None,
) -> tuple[Answer, ...]:
    """Every query, release by release, each by a sum of its own; those that came in before are not asked again."""
    carry = ask or (lambda messages: {name: silos[name].answer(message) for name, message in messages.items()})
    answers = list[Answer]()
    for number, query in enumerate(job.queries):
        say(f"{query.title} ...")
        progress = told.progress(run, number)
        while not query.finished(progress):
            release = next_release(job, run, number, progress)
            for silo in silos.values():
                silo.join(number, progress)
            total = release.read(run_sum(release.scheme, release.session, carry))
            told.add(number, total)
            progress = progress.after(total)
        answers.append(query.answer(progress))
    return tuple(answers)


@contextmanager
def open_silos(
    job: AnalyticsJob, tables: Mapping[str, Table], folder: Path, randomness_of: RandomnessOf
) -> Iterator[tuple[dict[str, AnalyticsSilo], AnalyticsRun, Told]]:
    """The job's silos, each in its own folder, where it finds the ledger of an interrupted run; and what that told."""
    told = Told(job, folder / "told.json")
    homes = {name: folder / "silos" / name for name in job.silos.names}
    identities = {name: Identity.in_file(name, home / "identity.key") for name, home in homes.items()}
    run = AnalyticsRun(os.urandom(32), {name: identity.public for name, identity in identities.items()})
    with ExitStack() as stack:
        silos = dict[str, AnalyticsSilo]()
        for name, home in homes.items():
            silos[name] = AnalyticsSilo(
                job,
                tables[name],
                home,
                identity=identities[name],
                run=run,
                randomness=randomness_of(name),
                told=told.releases,
            )
            stack.callback(silos[name].close)
        yield silos, run, told


def read_tables(job: AnalyticsJob) -> dict[str, Table]:
    """What each silo holds: its own file, or its part of one table or of one set of images."""
    if isinstance(job.data, CsvTables):
        if job.data.folder is not None:
            home = expand(job.data.folder)
            return {name: read_table(home / f"{name}.csv", job.data.delimiter) for name in job.silos.names}
        whole = read_table(expand(job.data.file or Path()), job.data.delimiter)
        labels = torch.zeros(len(whole), dtype=torch.int64)
    else:
        images, _ = load(job.data)
        whole, labels = image_table(images), images.labels
    shares = partition(labels, len(job.silos.names), job.silos.partition, job.seed)
    parts = (np.asarray(share.numpy(), dtype=np.int64) for share in shares)
    return {name: whole.select(part) for name, part in zip(job.silos.names, parts, strict=True)}


def guarantee(job: AnalyticsJob, epsilon: float) -> str:
    """In one line that a person can quote."""
    guarantee = guarantee_of(job)
    weak = " (no meaningful guarantee: epsilon is too large)" if epsilon > MEANINGLESS_EPSILON else ""
    return (
        f"({epsilon_text(epsilon)}, {job.privacy.delta:g})-differential privacy{weak} for {guarantee.unit} "
        f"({guarantee.relation}) over all queries; {guarantee.noise}; Renyi accounting; what other runs on the same "
        "records cost comes on top."
    )


def _answers_in(folder: Path, job: AnalyticsJob) -> Answers | None:
    """What an earlier run of this job left; `RunError` where the folder belongs to something else."""
    path = folder / "answers.json"
    if not path.exists():
        return None
    try:
        found = Answers.model_validate_json(path.read_bytes())
    except ValidationError as error:
        raise RunError(f"{path} is damaged; restore it from a backup, or choose another folder with --out") from error
    if found.job != job.digest.hex():
        raise RunError(f"{folder} has the answers to another job; choose another folder with --out, or another name")
    return found


def _begin(job: AnalyticsJob, folder: Path) -> None:
    config = folder / "config.yaml"
    if config.exists() and not _is_of(job, config):
        raise RunError(f"{folder} was begun with another job; choose another folder with --out, or another name")
    if folder.exists() and not config.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise RunError(f"{folder} is not empty and not a run folder; choose another folder with --out")
    try:
        make_folder(folder)
        write_atomically(config, to_yaml(job).encode())
    except OSError as error:
        raise RunError(f"{folder} cannot be written ({error}); choose another folder or free some space") from error


def _is_of(job: AnalyticsJob, config: Path) -> bool:
    try:
        return load_config(AnalyticsJob, config).digest == job.digest
    except ConfigError:
        return False
