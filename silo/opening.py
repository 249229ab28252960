"""How a silo of a job comes to be: its ledger, its work, and the runtime around both."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal

import torch

from siloseal.federation.analytics.config import AnalyticsJob
from siloseal.federation.analytics.releases import require_feasible
from siloseal.federation.averages.config import AverageJob
from siloseal.federation.errors import BudgetExceeded, DataError
from siloseal.federation.job.contributions import require_precision
from siloseal.federation.job.job import Job
from siloseal.federation.job.planning import plan_silo
from siloseal.federation.job.releases import Lengths
from siloseal.federation.privacy.accounting import epsilon_of
from siloseal.federation.privacy.events import Event
from siloseal.federation.randomness import Randomness
from siloseal.federation.records.identity import Identity
from siloseal.federation.records.storage import Survives
from siloseal.federation.run_events.stream import Subscriber
from siloseal.silo.allowance import Allowance
from siloseal.silo.averages import SiloAverages
from siloseal.silo.data.examples import Examples, require_images
from siloseal.silo.data.tables import Table
from siloseal.silo.data.units import units_of
from siloseal.silo.handover import Handover
from siloseal.silo.ledger import Ledger, open_ledger
from siloseal.silo.promises.requiring import require_promises
from siloseal.silo.queries import SiloQueries, events_of_queries
from siloseal.silo.runtime import Silo
from siloseal.silo.state import SiloState
from siloseal.silo.training.device import CPU
from siloseal.silo.training.work import SiloTraining

Allow = Callable[[Sequence[Event]], Allowance]
"""Decision of a silo's policy on the events that a run plans: `PolicyRefused`, or what the run's ledger may charge."""


def open_training_silo(
    job: Job,
    data: Examples,
    folder: Path,
    *,
    lengths: Lengths,
    labels: Sequence[int],
    identity: Identity,
    roster: Mapping[str, bytes],
    randomness: Randomness,
    publish: Subscriber,
    device: torch.device = CPU,
    survives: Survives = Survives.POWER_CUT,
    networks: Literal["now", "when_asked"] = "now",
    allow: Allow | None = None,
) -> Silo:
    """A silo that trains on these data, in its folder, where it finds what an interrupted run left.

    A policy is asked to `allow` what is planned, which only the data tell; a simulated silo has none. `lengths` are
    those of the job's vectors for examples of this shape (`models.building.vector_lengths`). `networks` says when they
    are built: a real silo refuses at once what it cannot train, a thousand simulated ones need not.
    """
    _require_fitting(job, data)
    require_promises(job, data)
    if len(labels) < data.classes and (undeclared := data.label_set() - set(labels)):
        raise DataError(f"{identity.name} holds classes {sorted(undeclared)} that it does not declare; declare them")
    units = units_of(job, data, randomness)
    plan = plan_silo(job, identity.name, len(units), lengths, examples=len(data))
    require_precision(job, identity.name, len(units))
    allowance = allow([event for events in plan.events().values() for event in events]) if allow else None
    worked = SiloState(folder, survives).exists()
    ledger = open_ledger(job, identity.name, folder, worked_before=worked, survives=survives, allowance=allowance)
    try:
        work = SiloTraining(
            job,
            identity.name,
            data,
            units,
            plan,
            folder,
            lengths=lengths,
            labels=labels,
            ledger=ledger,
            randomness=randomness,
            publish=publish,
            device=device,
            survives=survives,
        )
        if networks == "now":
            work.build()
        return Silo(
            job, work, folder, identity=identity, roster=roster, ledger=ledger, randomness=randomness, survives=survives
        )
    except BaseException:
        _close(ledger)
        raise


def open_query_silo(
    job: AnalyticsJob,
    table: Table,
    folder: Path,
    *,
    identity: Identity,
    roster: Mapping[str, bytes],
    randomness: Randomness,
    survives: Survives = Survives.POWER_CUT,
    allow: Allow | None = None,
) -> Silo:
    """A silo that answers queries about these records, in its folder, where it finds what an interrupted run left."""
    require_feasible(job)
    work = SiloQueries(job, identity.name, table)
    allowance = allow(events_of_queries(job, [])) if allow else None
    worked = SiloState(folder, survives).exists()
    ledger = open_ledger(job, identity.name, folder, worked_before=worked, survives=survives, allowance=allowance)
    if ledger is None:
        raise AssertionError("every job of queries has a budget")
    try:
        _require_budget(job, ledger)
        return Silo(
            job, work, folder, identity=identity, roster=roster, ledger=ledger, randomness=randomness, survives=survives
        )
    except BaseException:
        _close(ledger)
        raise


def open_averaging_silo(
    job: AverageJob,
    handover: Handover,
    folder: Path,
    *,
    identity: Identity,
    roster: Mapping[str, bytes],
    randomness: Randomness,
) -> Silo:
    """A silo that averages what its own script hands over. It has no ledger: an average opens without noise."""
    work = SiloAverages(job, identity.name, handover, folder)
    return Silo(job, work, folder, identity=identity, roster=roster, ledger=None, randomness=randomness)


def _require_fitting(job: Job, data: Examples) -> None:
    """`DataError` where the job's learner cannot learn from these data."""
    if job.learner.of_images:
        require_images(data)
    elif job.learner.kind == "classifier" and (data.classes == 0 or data.labels.ndim != 1):
        raise DataError(
            "learner.kind is classifier, but the data hold measured targets, or several labels an example; give each "
            "example one class number, or choose learner.kind python"
        )


def _close(ledger: Ledger | None) -> None:
    if ledger is not None:
        ledger.close()


def _require_budget(job: AnalyticsJob, ledger: Ledger) -> None:
    """`BudgetExceeded` where the last query could not be paid for: what the first ones cost would be wasted."""
    epsilon = epsilon_of(events_of_queries(job, ledger.charges), job.privacy.delta)
    if not epsilon <= job.privacy.epsilon:
        raise BudgetExceeded(
            f"{ledger.silo} has spent epsilon {ledger.epsilon:.3f} of {job.privacy.epsilon:g}, more than its queries "
            f"so far cost, and what is left of them would make {epsilon:.3f}; restore its ledger from a backup, or "
            "begin another run, if the silos agree to spend as much once more"
        )
