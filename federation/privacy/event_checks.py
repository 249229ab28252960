"""The checks of an event's numbers: one that no theorem covers is an `UncountableEvent`, which says what would do."""

import math

from siloseal.federation.errors import UncountableEvent


def require_noise(event: object, noise: float) -> None:
    """`UncountableEvent` unless the noise is finite and above 0."""
    if not 0 < noise < math.inf:  # NaN fails this too
        raise UncountableEvent(
            f"{event} has no finite epsilon; set a finite noise multiplier above 0, or switch privacy off by name "
            "(privacy: {kind: none})"
        )


def require_steps(event: object, sampling_rate: float, noise: float, steps: int) -> None:
    """`UncountableEvent` unless these are noised steps on samples."""
    require_noise(event, noise)
    if not 0 < sampling_rate <= 1:
        raise UncountableEvent(f"{event} cannot be counted: a rate lies in (0, 1]")
    if not (isinstance(steps, int) and steps > 0):
        raise UncountableEvent(f"{event} cannot be counted: steps are at least one")


def require_all_units(event: object, sampling_rate: float) -> None:
    """`UncountableEvent` unless every unit joins."""
    if sampling_rate != 1:
        raise UncountableEvent(f"{event} cannot be counted: its noise is counted where all units join, at a rate of 1")


def require_positive(event: object, *numbers: float) -> None:
    """`UncountableEvent` unless all these numbers are finite and above 0."""
    if not all(0 < number < math.inf for number in numbers):
        raise UncountableEvent(f"{event} cannot be counted: sensitivities are finite and above 0")


def require_counts(event: object, *numbers: float) -> None:
    """`UncountableEvent` unless all these are whole numbers above 0."""
    if not all(number > 0 and float(number).is_integer() for number in numbers):  # NaN and infinity fail this too
        raise UncountableEvent(f"{event} cannot be counted: counts are whole numbers, and at least one")
