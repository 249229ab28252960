"""From what happened in a run of queries to what its folder says: the same files as those of training."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from siloseal.aggregator.coordinator import Outcome
from siloseal.federation.analytics.answers import Answers
from siloseal.federation.analytics.config import AnalyticsJob
from siloseal.federation.analytics.releases import query_releases
from siloseal.federation.job.releases import by_phase
from siloseal.run_folder.metrics import TimingMetric, TrafficMetric
from siloseal.run_folder.summary import RunSummary, SiloSummary, as_kept
from siloseal.runs.closing import Known, most_of_one_example, privacy_of, write_closing
from siloseal.runs.guarantees import Ledgers, protection, query_parameters
from siloseal.runs.notes import QUERY_NOTES
from siloseal.silo.ledger import Ledger
from siloseal.silo.statement import spent_on_one_example, statement_of

RESUMED = "This run was interrupted and resumed: durations are those of its last part."
EXPERIMENTERS = (
    "The silos' numbers of records, and what their ledgers were charged, are known to whoever runs this simulation. "
    "They lie outside the guarantee."
)


def sum_up_queries(
    job: AnalyticsJob,
    run_dir: Path,
    outcome: Outcome[Answers],
    ledgers: Ledgers,
    *,
    records: Mapping[str, int],
    traffic: Sequence[TrafficMetric],
    timings: Sequence[TimingMetric],
    seconds: float,
    resumed: bool,
) -> RunSummary:
    """Write the closing metrics of a run whose tables and ledgers are here, and return the summary."""
    known = Known(
        scores={},
        timings=timings,
        privacy=privacy_of(ledgers),
        silos=[_silo(job, ledger, records[name]) for name, ledger in ledgers.items() if ledger is not None],
        parameters=query_parameters(job, ledgers),
        warnings=[*outcome.notes, *([RESUMED] if resumed else [])],
        notes=[*QUERY_NOTES, EXPERIMENTERS],
        seconds=seconds,
        written_by="experimenter",
    )
    return close_queries(job, run_dir, outcome.result, traffic, known)


def close_queries(
    job: AnalyticsJob,
    run_dir: Path,
    found: Answers,
    traffic: Sequence[TrafficMetric],
    known: Known,
    *,
    mode: int = 0o644,
) -> RunSummary:
    """Write the closing metrics of a run that has answered queries, and return its summary."""
    write_closing(run_dir, known, traffic, protection(by_phase(query_releases(job)), private=True), mode=mode)
    return RunSummary(
        name=job.name,
        accuracy={},
        best_silo_accuracy=None,
        real_data_accuracy=None,
        epsilon=found.epsilon,
        delta=found.delta,
        epsilon_of_one_example=most_of_one_example(known.silos),
        bytes=sum(entry.sent_bytes + entry.received_bytes for entry in traffic),
        seconds=known.seconds,
        run_dir=str(run_dir),
        learner="",
        classifier="",
        silos=known.silos,
        parameters=known.parameters,
        warnings=known.warnings,
        answers=found.answers,
        written_by=known.written_by,
        run_id=known.run_id,
    )


def _silo(job: AnalyticsJob, ledger: Ledger, records: int) -> SiloSummary:
    return SiloSummary(
        name=ledger.silo,
        examples=records,
        labels=None,
        epsilon=ledger.stated_epsilon,
        budget=ledger.budget.epsilon,
        epsilon_of_one_example=as_kept(spent_on_one_example(job, ledger)),
        accuracy_alone=None,
        accuracy_trained=None,
        statement=statement_of(job, ledger.silo, ledger),
    )
