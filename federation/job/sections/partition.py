"""How a simulation deals one data set to several silos, as config sections."""

from math import isclose
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from siloseal.federation.config.section import Section


class Iid(Section):
    """Every silo gets an equal, uniformly drawn part."""

    kind: Literal["iid"] = Field(default="iid", description="equal parts, drawn uniformly")


class Dirichlet(Section):
    """Label skew: each class is dealt in proportions drawn from a symmetric Dirichlet distribution."""

    kind: Literal["dirichlet"] = Field(default="dirichlet", description="label skew")
    alpha: float = Field(gt=0, allow_inf_nan=False, description="evenness of the parts: 0.1 is skewed, 100 is even")
    smallest: int = Field(default=10, ge=1, description="the fewest examples that a silo may end up with")


class ByClass(Section):
    """Every silo holds only some of the classes."""

    kind: Literal["by_class"] = Field(default="by_class", description="a few classes a silo")
    classes_per_silo: int = Field(ge=1, description="how many classes each silo holds")


class DisjointClasses(Section):
    """Every class lies whole at one silo, as where each hospital treats its own diseases."""

    kind: Literal["disjoint_classes"] = Field(default="disjoint_classes", description="each class at one silo only")


class Sizes(Section):
    """Unequal silos with the same distribution."""

    kind: Literal["sizes"] = Field(default="sizes", description="unequal parts, drawn uniformly")
    fractions: tuple[Annotated[float, Field(gt=0, le=1)], ...] = Field(
        min_length=1, description="each silo's part of the whole; they add up to 1"
    )

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        total = sum(self.fractions)
        if not isclose(total, 1.0, abs_tol=1e-6):
            raise ValueError(f"fractions add up to {total:g}, expected 1; scale them")
        return self


class Files(Section):
    """Every silo holds the records of its own file, where data name a folder with a table for each silo."""

    kind: Literal["files"] = Field(default="files", description="nothing is dealt: each silo has a file of its own")


PartitionSpec = Annotated[Iid | Dirichlet | ByClass | DisjointClasses | Sizes | Files, Field(discriminator="kind")]
BY_CLASS = (Dirichlet, ByClass, DisjointClasses)
"""Partitions that deal examples by their class."""
