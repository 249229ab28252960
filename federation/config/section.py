"""What all sections of a config have in common."""

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """A part of a config: unknown keys are refused, values never change, infinities and NaN are not numbers."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)
