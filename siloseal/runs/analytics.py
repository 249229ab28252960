"""A whole run of queries: tables, silos, the job, and the folder with its answers."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from pydantic import Field, ValidationError

from siloseal.aggregator.queries import QueryCoordinator, QueryOutcome
from siloseal.federation.analytics.config import AnalyticsJob, CsvTables
from siloseal.federation.analytics.guarantee import analytics_guarantee
from siloseal.federation.analytics.query import Answer
from siloseal.federation.analytics.releases import planned_epsilon, require_feasible
from siloseal.federation.config.section import Section
from siloseal.federation.errors import RunError
from siloseal.federation.privacy.epsilon import epsilon_text, weakness
from siloseal.federation.randomness import SecureRandomness
from siloseal.federation.records.storage import locked, write_atomically
from siloseal.federation.run_events.experimenter import AnswersFound
from siloseal.federation.run_events.stream import Subscriber, unheard
from siloseal.runs.folder import begin_folder
from siloseal.runs.simulation import Home, RandomnessOf, local_engine, open_each, open_journal
from siloseal.silo.data.loading import load
from siloseal.silo.data.partition import partition
from siloseal.silo.data.paths import expand
from siloseal.silo.data.tables import Table, image_table, read_table
from siloseal.silo.opening import open_query_silo
from siloseal.silo.runtime import Silo

INTERVALS = (
    "95 % intervals, each on its own, are about the noise: they hold the figure of the silos' pooled records, and say "
    "nothing about a wider population"
)


class Answers(Section):
    """The content of answers.json."""

    name: str
    job: str = Field(description="digest of the job")
    answers: tuple[Answer, ...]
    epsilon: float
    delta: float
    guarantee: str
    intervals: str = INTERVALS


def run_analytics(
    job: AnalyticsJob,
    out: Path | None,
    show: Subscriber = unheard,
    *,
    randomness_of: RandomnessOf = lambda _: SecureRandomness(),
) -> tuple[Answers, Path]:
    """Answer the job's queries in its folder. Where the folder has the answers already, nothing is released again."""
    folder = Path("runs") / job.name if out is None else out
    if (known := _answers_in(folder, job)) is not None:
        show(AnswersFound(str(folder)))
        return known, folder
    require_feasible(job)
    tables = read_tables(job)
    begin_folder(job, folder)
    with locked(folder):
        outcome = answer_queries(job, tables, folder, randomness_of, show)
        # What was planned, and not what was charged: whether a query ended early depends on the data.
        epsilon = planned_epsilon(job)
        found = Answers(
            name=job.name,
            job=job.digest.hex(),
            answers=outcome.answers,
            epsilon=epsilon,
            delta=job.privacy.delta,
            guarantee=guarantee(job, epsilon),
        )
        write_atomically(folder / "answers.json", found.model_dump_json(indent=2).encode())
    return found, folder


def answer_queries(
    job: AnalyticsJob,
    tables: Mapping[str, Table],
    folder: Path,
    randomness_of: RandomnessOf,
    publish: Subscriber,
) -> QueryOutcome:
    """Answer all queries among silos of this process. Run again after an interruption, it goes on where it stopped."""

    def opened(home: Home) -> Silo:
        return open_query_silo(
            job,
            tables[home.name],
            home.folder,
            identity=home.identity,
            roster=home.roster,
            randomness=randomness_of(home.name),
        )

    with open_each(job.silos.names, folder, opened) as silos, open_journal(folder, job.digest) as journal:
        return QueryCoordinator(job, local_engine(silos, workers=1), journal, publish).run()


def read_tables(job: AnalyticsJob) -> dict[str, Table]:
    """The records of each silo: its own file, or its part of one table or of one set of images."""
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
    """The guarantee in one line that a person can quote."""
    protects = analytics_guarantee(job)
    return (
        f"({epsilon_text(epsilon)}, {job.privacy.delta:g})-differential privacy{weakness(epsilon)} for {protects.unit} "
        f"({protects.relation}) over all queries; {protects.noise}; Renyi accounting; what other runs on the same "
        "records cost comes on top."
    )


def _answers_in(folder: Path, job: AnalyticsJob) -> Answers | None:
    """The answers that an earlier run of this job left; `RunError` where the folder belongs to something else."""
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
