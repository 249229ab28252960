"""What a silo's privacy is counted in: its examples, or the training tasks that they form."""

from siloseal.federation.errors import ConfigError
from siloseal.federation.job.job import Job
from siloseal.federation.job.sections.few_shot import Episodic
from siloseal.federation.job.sections.privacy import NoPrivacy
from siloseal.federation.randomness import Randomness, SecureRandomness
from siloseal.silo.data.examples import Examples
from siloseal.silo.data.tasks import FixedTasks, FreshTasks

Units = Examples | FixedTasks | FreshTasks


def units_of(job: Job, data: Examples, randomness: Randomness) -> Units:
    """The units that the job's learner is trained on, to be counted and drawn from."""
    match job.learner:
        case Episodic(episodes="fixed") as config:
            return FixedTasks(data, config, seed=job.seed, randomness=randomness)
        case Episodic() as config:
            if not isinstance(job.privacy, NoPrivacy):  # the config refuses it, too; this check is the silo's own
                raise ConfigError(
                    "learner.episodes is fresh, which no accounting covers, but the job promises privacy; set it to "
                    "fixed"
                )
            return FreshTasks(data, config, randomness=randomness)
        case _:
            return data


def count_units(job: Job, data: Examples) -> int:
    """Number of units that the labels give."""
    return len(units_of(job, data, SecureRandomness()))
