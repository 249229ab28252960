"""What a silo's earlier runs have cost one of its examples, by their jobs and ledgers."""

from pathlib import Path

from siloseal.federation.analytics.any_job import AnyJob, load_any_job
from siloseal.federation.analytics.config import AnalyticsJob
from siloseal.federation.analytics.guarantee import guarantee_in
from siloseal.federation.errors import LedgerDamaged
from siloseal.federation.job.sections.privacy import NoPrivacy
from siloseal.federation.privacy.events import Event
from siloseal.silo.allowance import Spent, events_of_one_example
from siloseal.silo.ledger import LEDGER_FILE, Budget, Charge
from siloseal.silo.ledger_reading import read_ledger
from siloseal.silo.queries import events_of_queries
from siloseal.silo.state import SiloState

JOB_FILE = "job.yaml"
"""Name of the file, in a run's folder, with the job that the silo was offered in this run, and no other."""


def spent_in(runs: list[Path], silo: str) -> Spent:
    """What these runs of the silo have cost one example together. A run that cannot be counted is an error."""
    events, unbounded = list[Event](), False
    for folder in runs:
        job, trained = load_any_job(folder / JOB_FILE), SiloState(folder).has_trained()
        if isinstance(job.privacy, NoPrivacy):
            unbounded = unbounded or trained
        elif (path := folder / LEDGER_FILE).exists():
            budget = Budget(job.privacy.epsilon, job.privacy.delta)
            events += _costs(job, _charged(path, silo, job, budget, SiloState(folder).kept_charges()))
        elif trained:
            raise LedgerDamaged(
                f"{path} is gone, but the silo has trained in that run: what it spent is not known; restore the file "
                "from a backup"
            )
    return Spent(tuple(events), unbounded)


def _charged(path: Path, silo: str, job: AnyJob, budget: Budget, kept: int) -> tuple[Charge, ...]:
    """The charges of an earlier run, if they are all there: a checkpoint of that run has counted them."""
    ledger, guarantee = read_ledger(path), guarantee_in(job)
    relation = guarantee.relation if guarantee.goes_by(ledger.relation) else ledger.relation
    found = (ledger.silo, ledger.budget, ledger.unit, relation)
    if found != (expected := (silo, budget, guarantee.unit, guarantee.relation)):
        raise LedgerDamaged(
            f"{path} is the ledger of {found}, but the job beside it has {expected}: one of the two files is another "
            "run's; restore them from a backup"
        )
    if len(ledger.charges) < kept:
        raise LedgerDamaged(
            f"{path} holds {len(ledger.charges)} charges, but the silo had made {kept} by its last checkpoint: lines "
            "are missing; restore the file from a backup"
        )
    return ledger.charges


def _costs(job: AnyJob, charges: tuple[Charge, ...]) -> list[Event]:
    """The events of one example in a run: of queries all that were planned, because records decide when they end."""
    if isinstance(job, AnalyticsJob):
        return events_of_queries(job, charges) if charges else []
    return events_of_one_example(job, [charge.event for charge in charges])
