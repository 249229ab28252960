"""How a silo of a job comes to be: its ledger, its work, and the runtime around both."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from siloseal.federation.errors import DataError
from siloseal.federation.job.contributions import require_precision
from siloseal.federation.job.job import Job
from siloseal.federation.job.planning import plan_silo
from siloseal.federation.randomness import Randomness
from siloseal.federation.records.identity import Identity
from siloseal.models.building import vector_lengths
from siloseal.silo.data.labelled_images import LabelledImages
from siloseal.silo.data.units import units_of
from siloseal.silo.ledger import open_ledger
from siloseal.silo.runtime import Silo
from siloseal.silo.state import SiloState
from siloseal.silo.training.work import OnTraining, Training


def open_training_silo(
    job: Job,
    data: LabelledImages,
    folder: Path,
    *,
    labels: Sequence[int],
    identity: Identity,
    roster: Mapping[str, bytes],
    randomness: Randomness,
    on_progress: OnTraining,
) -> Silo:
    """A silo that trains on these data, in its folder, where it finds what an interrupted run left."""
    if undeclared := data.label_set() - set(labels):
        raise DataError(f"{identity.name} holds classes {sorted(undeclared)} that it does not declare; declare them")
    units = units_of(job, data, randomness)
    lengths = vector_lengths(job, data.image_shape, data.classes)
    plan = plan_silo(job, identity.name, len(units), lengths)
    require_precision(job, identity.name, len(units))
    ledger = open_ledger(job, identity.name, folder, worked_before=SiloState(folder).exists())
    try:
        work = Training(
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
            on_progress=on_progress,
        )
        return Silo(job, work, folder, identity=identity, roster=roster, ledger=ledger, randomness=randomness)
    except BaseException:
        if ledger is not None:
            ledger.close()
        raise
