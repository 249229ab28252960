"""What a silo's earlier runs have cost one of its examples, by their jobs and ledgers."""

from pathlib import Path

from siloseal.federation.analytics.any_job import AnyJob, load_any_job
from siloseal.federation.analytics.guarantee import guarantee_in
from siloseal.federation.errors import LedgerDamaged
from siloseal.federation.job.sections.privacy import NoPrivacy
from siloseal.silo.allowance import NOTHING_SPENT, Spent, cost_of_one_example
from siloseal.silo.ledger import LEDGER_FILE, Budget, has_redrawn_tasks
from siloseal.silo.ledger_reading import LedgerReading, read_ledger
from siloseal.silo.queries import events_of_run
from siloseal.silo.state import SiloState

JOB_FILE = "job.yaml"
"""Name of the file, in a run's folder, with the job that the silo was offered in this run, and no other."""

NO_NOISE = "a run opened something without noise"
REDRAWN_TASKS = (
    "a task-level run of an earlier version formed its tasks from all images together, so that one image could redraw "
    "them all, which nothing counts"
)


def spent_in(runs: list[Path], silo: str) -> Spent:
    """What these runs of the silo have cost one example together. A run that cannot be read is an error."""
    spent = NOTHING_SPENT
    for folder in runs:
        job, trained = load_any_job(folder / JOB_FILE), SiloState(folder).has_trained()
        if isinstance(job.privacy, NoPrivacy):
            spent = spent.plus(Spent(unbounded=NO_NOISE if trained else ""))
        elif (path := folder / LEDGER_FILE).exists():
            budget = Budget(job.privacy.epsilon, job.privacy.delta)
            spent = spent.plus(_cost(job, _whole_ledger(path, silo, job, budget, SiloState(folder).kept_charges())))
        elif trained:
            raise LedgerDamaged(
                f"{path} is gone, but the silo has trained in that run: what it spent is not known; restore the file "
                "from a backup"
            )
    return spent


def _whole_ledger(path: Path, silo: str, job: AnyJob, budget: Budget, kept: int) -> LedgerReading:
    """The ledger of an earlier run, if all charges are there: a checkpoint of that run has counted them."""
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
    return ledger


def _cost(job: AnyJob, ledger: LedgerReading) -> Spent:
    """What a run cost one example."""
    if not ledger.charges:
        return NOTHING_SPENT
    if has_redrawn_tasks(ledger.unit, ledger.relation):
        return Spent(unbounded=REDRAWN_TASKS)
    return cost_of_one_example(job, events_of_run(job, ledger.charges))
