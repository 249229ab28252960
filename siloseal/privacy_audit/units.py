"""Units that an audit makes up, and the one among them that is the canary."""

from typing import Any

import torch
from torch import Tensor

from siloseal.federation.job.job import Job
from siloseal.federation.job.sections.few_shot import Episodic
from siloseal.federation.randomness import Randomness
from siloseal.models.learner import ExampleLearner, TaskLearner
from siloseal.silo.data.examples import Examples
from siloseal.silo.data.units import Units, units_of
from siloseal.silo.training.gradients import ExampleSource, TaskSource, unit_gradients

OTHERS = 3
"""Most units beside the canary; with it they are a power of two."""
CANDIDATES = 16
"""Number of units among which the canary is chosen."""
SCALES = (1.0, 10.0, 100.0, 1000.0)
"""Scales of made-up inputs, tried in order until a unit's gradient is long enough beside the clip norm."""
UNCLIPPED = 1e30


class CanaryUnits:
    """Some units of a source, of which the last is the canary. `present` says whether the data set holds it.

    It remembers which units the trainer drew last.
    """

    def __init__(self, source: ExampleSource | TaskSource, members: Tensor) -> None:
        self._source, self._members = source, members
        self.present = True
        self.others: tuple[int, ...] = ()
        """The others that were drawn last."""
        self.met = False
        """Whether the last batch had the canary."""
        self.drawn = 0
        """Number of units that were drawn last, the canary with them though it may be absent."""

    @property
    def canary(self) -> int:
        """Number of the canary."""
        return len(self._members) - 1

    def __len__(self) -> int:
        return len(self._members)

    def select(self, indices: Tensor) -> Any:  # rows or tasks, as the source has them
        """The units with these numbers, without the canary where it is absent."""
        is_canary = indices == self.canary
        self.others = tuple(indices[~is_canary].tolist())
        self.met = self.present and bool(is_canary.any())
        self.drawn = len(indices)
        return self._source.select(self._members[indices if self.present else indices[~is_canary]])

    def made_up(self, count: int) -> Any:
        """Rows that the source makes up."""
        return self._source.made_up(count)  # type: ignore[union-attr]  # only learners of examples ask


def made_up_units(job: Job, part: Examples, labels: list[int], scale: float, randomness: Randomness) -> Units:
    """Units as the job forms them, of records that nobody's data entered, in the shapes of these."""
    generator = torch.Generator().manual_seed(1)
    count = CANDIDATES * job.examples_a_unit
    if isinstance(job.learner, Episodic):  # classes are dealt evenly, so that they make up whole tasks
        classes = torch.tensor((labels or [0])[: 2 * job.learner.ways])
        chosen = classes.repeat_interleave(-(-count // len(classes)))
    else:
        classes = torch.tensor(labels or [0])
        size = (count, *part.labels.shape[1:])
        chosen = classes[torch.randint(len(classes), size, generator=generator)]
        if not part.classes:
            chosen = torch.rand(size, generator=generator)
    inputs = scale * torch.rand(len(chosen), *part.shape, generator=generator)
    return units_of(job, Examples(inputs, chosen, part.classes), randomness)


def with_canary(
    learner: ExampleLearner | TaskLearner, source: ExampleSource | TaskSource, known: Randomness
) -> tuple[CanaryUnits, float]:
    """The units with the one of longest gradient as canary, and the length of that gradient.

    They are a power of two, so that sums keep their last bits when an optimizer divides by this number.
    """
    state = {name: tensor.clone() for name, tensor in learner.state().items()}
    gradients = unit_gradients(learner, source, randomness=known)

    def summed(*members: int) -> Tensor:
        known.begin("candidate")
        total = gradients.sum(torch.tensor(members, dtype=torch.int64), clip_norm=UNCLIPPED)
        learner.load_state(state)
        return total

    nobody = summed()
    norms = [float((summed(unit) - nobody).norm()) for unit in range(min(CANDIDATES, len(source)))]
    canary = max(range(len(norms)), key=norms.__getitem__)
    count = min(OTHERS + 1, 1 << (len(norms).bit_length() - 1))
    others = [unit for unit in range(len(norms)) if unit != canary][: count - 1]
    return CanaryUnits(source, torch.tensor([*others, canary])), norms[canary]
