"""The facts that every part of the program asks of a kind of learner, so that none of them asks which kind it is."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from siloseal.federation.config.section import Section

MeasuredAs = Literal["generated", "few_shot", "classification", "own"]
"""Kinds of evaluation: each measures what some learners make."""


@dataclass(frozen=True)
class UserCode:
    """Code that a job names and never carries: every party has it installed, and compares its digest."""

    kind: str
    """Kind of the learner that runs it."""
    target: str
    """Class or function, as MODULE:NAME."""
    source: str | None
    """Digest of the source, as sha256:HEX; None where the job does not pin it."""

    def __str__(self) -> str:
        """The code as a silo's policy lists it."""
        return f"{self.kind}:{self.target}@{self.source or 'sha256:...'}"


class LearnerKind(Section):
    """A learner in a job: its own settings, and what holds for all learners of its kind."""

    kind: str
    of_images: ClassVar[bool]
    """Whether it learns from images with one class each, and from nothing else."""
    units: ClassVar[str] = "examples"
    """What privacy and sizes are counted in, as a word."""
    measured_as: ClassVar[MeasuredAs]
    """The `evaluation.kind` that measures its models."""
    one_output_a_class: ClassVar[bool]
    """Whether the shared model knows the classes of the data, so that all silos must agree on their number."""
    coarsest: ClassVar[float]
    """Largest useful error of a model's weight after a sum."""
    warm_starts: ClassVar[tuple[str, ...]]
    """Warm starts that can begin its training."""

    @property
    def examples_a_unit(self) -> int:
        """Number of examples of one unit of privacy."""
        return 1

    @property
    def personal(self) -> bool:
        """Whether a model is whole only with a part that each silo keeps to itself."""
        return False

    @property
    def code(self) -> UserCode | None:
        """The user's own code that the learner runs, if it runs any."""
        return None

    @property
    def target_of_code(self) -> str | None:
        """The target of the user's own code, MODULE:NAME, if the learner runs any."""
        return None if self.code is None else self.code.target

    @property
    def policy_entry(self) -> str:
        """The learner as a silo's policy lists it."""
        return self.kind if self.code is None else str(self.code)
