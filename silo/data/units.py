"""What a silo's privacy is counted in: its examples, or the training tasks that they form."""

from federation.config.few_shot import Episodic
from federation.config.job import Job
from federation.randomness import Randomness, SecureRandomness
from silo.data.labelled_images import LabelledImages
from silo.data.tasks import FixedTasks, FreshTasks

Units = LabelledImages | FixedTasks | FreshTasks


def units_of(job: Job, data: LabelledImages, randomness: Randomness) -> Units:
    """What the job's learner is trained on, to be counted and drawn from."""
    match job.learner:
        case Episodic(episodes="fixed") as config:
            return FixedTasks(data, config, seed=job.seed, randomness=randomness)
        case Episodic() as config:
            return FreshTasks(data, config, randomness=randomness)
        case _:
            return data


def count_units(job: Job, data: LabelledImages) -> int:
    """How many there are."""
    return len(units_of(job, data, SecureRandomness()))
