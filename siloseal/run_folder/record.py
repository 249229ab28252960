"""What every part of a run's folder is made of."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Share = Annotated[float, Field(ge=0, le=1)]


class Record(BaseModel):
    """A part of the run folder: no unknown field, no NaN, no change after it is made."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)
