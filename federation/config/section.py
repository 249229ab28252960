"""What all sections of a config have in common."""

from typing import Any

from pydantic import BaseModel, ConfigDict, model_validator


class Section(BaseModel):
    """A part of a config: unknown keys are refused, values never change, infinities and NaN are not numbers."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _no_number_is_true(cls, values: Any) -> Any:
        """Python counts true as 1; an epsilon of `true` is a mistake."""
        for name, value in values.items() if isinstance(values, dict) else ():
            if isinstance(value, bool) and name in cls.model_fields and cls.model_fields[name].annotation is not bool:
                raise ValueError(f"{name} is true or false, expected a number or a word")
        return values
