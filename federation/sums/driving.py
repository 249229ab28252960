"""The loop that drives one session of a sum from its first message to its total."""

from collections.abc import Callable, Mapping

from siloseal.federation.sums.secure_sum import AggregatorSide, Sum

Ask = Callable[[Mapping[str, bytes]], Mapping[str, bytes]]
"""Sends each silo its message and returns the replies."""


def drive(side: AggregatorSide, ask: Ask) -> Sum:
    """Ask for every round's replies, which have passed `check`, until the side has its sum."""
    step: Mapping[str, bytes] | Sum = side.open()
    while not isinstance(step, Sum):
        step = side.advance(ask(step))
    return step
