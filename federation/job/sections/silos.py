"""The silos of a job."""

from typing import Any, Self

from pydantic import Field, model_validator

from siloseal.federation.config.fields import Name
from siloseal.federation.config.section import Section
from siloseal.federation.job.sections.partition import Iid, PartitionSpec

MOST_SILOS = 100_000


class Silos(Section):
    """Who takes part, and what a simulation deals to each."""

    names: tuple[Name, ...] = Field(
        min_length=1,
        description="one name a silo: letters, digits, _ and -; or `count: N` instead, to have them numbered",
    )
    partition: PartitionSpec = Field(default=Iid(), description="how a simulation deals the data to the silos")
    fewest: int | None = Field(
        default=None,
        ge=1,
        description="a sum goes on without silos that stay silent past their deadline while so many, and "
        "as many as the sum needs, are left; all if not given",
    )

    @model_validator(mode="before")
    @classmethod
    def _numbered(cls, values: Any) -> Any:
        """`count: 100` stands for a hundred names."""
        match values:
            case {"count": _, "names": _}:
                raise ValueError("names and count are both given; keep one of them")
            case {"count": count, **others}:
                if type(count) is not int or not 1 <= count <= MOST_SILOS:
                    raise ValueError(f"count is {count!r}, expected how many silos there are, 1 to {MOST_SILOS}")
                return {**others, "names": [f"silo-{number}" for number in range(1, count + 1)]}
        return values

    @model_validator(mode="after")
    def _unique(self) -> Self:
        if len({name.lower() for name in self.names}) != len(self.names):
            raise ValueError("two silos have the same name (upper and lower case count as equal); rename one")
        return self

    def quorum(self, asked: int) -> int:
        """Fewest silos that a sum of this many may end up with."""
        return asked if self.fewest is None else min(self.fewest, asked)
