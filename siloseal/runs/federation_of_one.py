"""A silo by itself, which is trained for comparison with the federation."""

from siloseal.federation.job.job import Job
from siloseal.federation.job.sections.privacy import SiloLevel
from siloseal.federation.job.sections.schedule import TwoPhase
from siloseal.federation.job.sections.server_optimizers import ServerAverage
from siloseal.federation.job.sections.warm_start import LeaderStart
from siloseal.federation.sums.plain.config import PlainSumConfig


def trains_silos_alone(job: Job, silos: int) -> bool:
    """Whether a run of the job trains silos alone, too. A silo's own model under `silo_level` has no noise, so none."""
    return job.evaluation.silo_alone and silos > 1 and not isinstance(job.privacy, SiloLevel)


def federation_of_one(job: Job, name: str) -> Job:
    """The job as a silo would run it by itself, without what serves to agree with others."""
    start = (
        job.warm_start.model_copy(update={"silo": name}) if isinstance(job.warm_start, LeaderStart) else job.warm_start
    )
    silos = job.silos.model_copy(update={"names": (name,)})  # the partition stays: it says which classes are declared
    plain = PlainSumConfig(kind="plain")  # a sum of one hides nothing
    tuned: dict[str, object] = {"tuning_sum": plain} if isinstance(job.schedule, TwoPhase) else {}
    changes: dict[str, object] = {
        "silos": silos,
        "warm_start": start,
        "schedule": job.schedule.model_copy(update={"server": ServerAverage(), **tuned}),
        "secure_sum": plain,
        "mechanism": None,
        "optimizer": job.optimizer.model_copy(update={"proximal": 0.0}),
    }
    return job.model_copy(update=changes)
