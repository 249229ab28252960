"""Whole numbers that come from a caller, who may also mean 3.0, True or "3"."""

from numbers import Integral
from typing import TypeGuard


def is_whole(value: object) -> TypeGuard[int]:
    """Whether a value is a whole number of Python or of numpy. True and False count as none."""
    return isinstance(value, Integral) and not isinstance(value, bool)
