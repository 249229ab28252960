"""A whole run of queries on one machine: tables, silos, the job, and the run folder with its answers and report."""

import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from pydantic import ValidationError

from siloseal.aggregator.coordinator import Outcome
from siloseal.aggregator.queries import AggregatorQueries
from siloseal.aggregator.traffic import Traffic
from siloseal.federation.analytics.answers import ANSWERS_FILE, Answers
from siloseal.federation.analytics.config import AnalyticsJob
from siloseal.federation.analytics.releases import require_feasible, stage_of
from siloseal.federation.errors import RunError
from siloseal.federation.job.sections.tables import CsvTables
from siloseal.federation.randomness import SecureRandomness
from siloseal.federation.records.storage import Survives, locked, write_atomically
from siloseal.federation.run_events.experimenter import AnswersFound, RunOpened
from siloseal.federation.run_events.stream import EventStream, Subscriber, unheard
from siloseal.run_folder.location import begin_folder, is_finished, run_folder
from siloseal.runs.closing import finish_folder, open_ledgers
from siloseal.runs.closing_queries import sum_up_queries
from siloseal.runs.result import as_metrics
from siloseal.runs.simulation import Home, RandomnessOf, coordinate, open_each
from siloseal.runs.stopwatch import Stopwatch
from siloseal.silo.data.loading import load
from siloseal.silo.data.own import read_own_table
from siloseal.silo.data.partition import partition
from siloseal.silo.data.paths import located
from siloseal.silo.data.tables import Table, example_table, read_table
from siloseal.silo.opening import open_query_silo
from siloseal.silo.runtime import Silo


def run_analytics(
    job: AnalyticsJob,
    out: Path | None,
    show: Subscriber = unheard,
    *,
    randomness_of: RandomnessOf = lambda _: SecureRandomness(),
) -> tuple[Answers, Path]:
    """Answer the job's queries in its folder. Where the folder has the answers already, nothing is released again."""
    run_dir = run_folder(job, out)
    if is_finished(run_dir) and (run_dir / ANSWERS_FILE).exists():
        show(AnswersFound(str(run_dir)))
        return _read_answers(run_dir), run_dir
    require_feasible(job)
    tables = read_tables(job)
    begin_folder(job, run_dir)
    repeated = out is None and run_dir.name != job.name
    show(RunOpened(job.name, str(run_dir), repeated, _stage_lengths(job)))
    with locked(run_dir):
        resumed = (run_dir / "aggregator").exists()
        began, traffic, stopwatch = time.monotonic(), Traffic(), Stopwatch()
        publish = EventStream(traffic.hear, stopwatch.hear, show).publish
        outcome = answer_queries(job, tables, run_dir, randomness_of, publish)
        write_atomically(run_dir / ANSWERS_FILE, outcome.result.to_json())
        with open_ledgers(job, run_dir, tables) as ledgers:
            summary = sum_up_queries(
                job,
                run_dir,
                outcome,
                ledgers,
                records={name: len(table) for name, table in tables.items()},
                traffic=as_metrics(traffic.counted()),
                timings=stopwatch.timings(),
                seconds=time.monotonic() - began,
                resumed=resumed,
            )
        finish_folder(run_dir, summary)
    return outcome.result, run_dir


def answer_queries(
    job: AnalyticsJob,
    tables: Mapping[str, Table],
    folder: Path,
    randomness_of: RandomnessOf,
    publish: Subscriber,
) -> Outcome[Answers]:
    """Answer all queries among silos of this process. Run again after an interruption, it goes on where it stopped."""

    def opened(home: Home) -> Silo:
        return open_query_silo(
            job,
            tables[home.name],
            home.folder,
            identity=home.identity,
            roster=home.roster,
            randomness=randomness_of(home.name),
            survives=Survives.KILL,
        )

    with open_each(job.silos.names, folder, opened) as silos:
        return coordinate(job, AggregatorQueries(job, publish), silos, folder, publish, workers=1)


def read_tables(job: AnalyticsJob) -> dict[str, Table]:
    """The records of each silo: its own file, or its part of one table or of one set of examples."""
    if isinstance(job.data, CsvTables):
        if job.data.folder is not None:
            return {name: read_own_table(job.data, name) for name in job.silos.names}
        whole = read_table(located(job.data.file or Path()), job.data.delimiter)
        labels = torch.zeros(len(whole), dtype=torch.int64)
    else:
        examples, _ = load(job.data)
        whole, labels = example_table(examples), examples.labels
    shares = partition(labels, len(job.silos.names), job.silos.partition, job.seed)
    parts = (np.asarray(share.numpy(), dtype=np.int64) for share in shares)
    return {name: whole.select(part) for name, part in zip(job.silos.names, parts, strict=True)}


def _stage_lengths(job: AnalyticsJob) -> dict[str, int]:
    """The most releases that each query takes."""
    return {stage_of(query, number): query.releases for number, query in enumerate(job.queries)}


def _read_answers(folder: Path) -> Answers:
    path = folder / ANSWERS_FILE
    try:
        return Answers.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise RunError(
            f"{path} is damaged; restore it from a backup, or remove it, and the same command writes it again from the "
            "journal, at no cost"
        ) from error
