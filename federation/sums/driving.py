"""The loop that drives one session of a sum from its first message to its total."""

from collections.abc import Callable, Mapping

from siloseal.federation.sums.secure_sum import AggregatorSide, SecureSum, Sum
from siloseal.federation.sums.session import Session

Ask = Callable[[Mapping[str, bytes]], Mapping[str, bytes]]
"""Sends each silo its message and returns the replies."""


def run_sum(scheme: SecureSum, session: Session, ask: Ask) -> Sum:
    """Drive one session from its first message to its sum."""
    scheme.admit(session.domain, len(session.roster))
    side = scheme.aggregator(session)

    def checked(messages: Mapping[str, bytes]) -> Mapping[str, bytes]:
        replies = ask(messages)
        for silo, reply in replies.items():
            side.check(silo, reply)
        return replies

    return drive(side, checked)


def drive(side: AggregatorSide, ask: Ask) -> Sum:
    """Ask for every round's replies, which have passed `check`, until the side has its sum."""
    step: Mapping[str, bytes] | Sum = side.open()
    while not isinstance(step, Sum):
        step = side.advance(ask(step))
    return step
