"""Sparse sums: silos send a few messages each, and the aggregator learns the multiset of all of them.

Any sum of integers carries them, because tables of messages add up (`lookup_table.py`). Over a sum that hides
contributions the aggregator learns no silo's messages, nor how many it sent. It is a shuffler and no more: the multiset
itself is revealed, exactly, so it is not differentially private, and a message that only one silo could have sent names
it. A silo that lies can spoil a sum, or take out a message that it knows to be there.

Where the messages cannot be told apart the sum is repeated in a session of its own. Each session gives its table
another seed, and both sides derive both from the first session. A repetition tells nothing beyond the multiset: the
tables that failed are functions of it and of public seeds. That holds only if the silos and their messages are the same
each time; or else the multiset of one sum, taken out of the table of another, would leave what the missing silo sent.
So a sum that may be repeated needs all its silos, and a silo gives the same messages to every attempt.

Seeds are known before the messages are, so a silo can choose messages that share their cells under all of them; it
gains no more than by sending noise.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from siloseal.experiments.sparse.errors import TableStuck
from siloseal.experiments.sparse.lookup_table import Message, SparseTable, TableShape
from siloseal.federation.errors import DomainError
from siloseal.federation.records.identity import Identity
from siloseal.federation.sums.driving import Ask, drive
from siloseal.federation.sums.in_process import InProcess
from siloseal.federation.sums.new_session import new_session
from siloseal.federation.sums.secure_sum import SecureSum, Sum
from siloseal.federation.sums.session import Session


@dataclass(frozen=True)
class SparseSum:
    """All messages with their multiplicities, the silos that sent them together, and how many sums it took."""

    messages: Counter[Message]
    contributors: tuple[str, ...]
    attempts: int


def run_sparse_sum(
    scheme: SecureSum, session: Session, shape: TableShape, ask_for: Callable[[Session], Ask], *, attempts: int = 3
) -> SparseSum:
    """Sum until the messages can be told apart; `TableStuck` where the last attempt failed too.

    `ask_for` carries the messages of one attempt's session. A full table fails in one attempt of forty at most.
    """
    attempt_session(session, attempts)  # refused before anything is sent
    for attempt in range(1, attempts):
        with suppress(TableStuck):
            return _attempt(scheme, session, shape, ask_for, attempt)
    return _attempt(scheme, session, shape, ask_for, attempts)


def sparse_sum_in_process(
    scheme: SecureSum,
    messages: Mapping[str, Sequence[Message]],
    shape: TableShape,
    *,
    quorum: int | None = None,
    attempts: int = 3,
) -> SparseSum:
    """Return the multiset of the silos' messages, with all parties in this process."""
    identities = {silo: Identity.create(silo) for silo in messages}

    def ask_for(session: Session) -> Ask:
        tables = {silo: sparse_contribution(session, shape, said) for silo, said in messages.items()}
        parties = InProcess(
            scheme, tables, domain=shape.domain, quorum=session.quorum, identities=identities, session_id=session.id
        )
        return parties.answer

    first = new_session(scheme, identities, shape.domain, quorum=quorum)
    return run_sparse_sum(scheme, first, shape, ask_for, attempts=attempts)


def sparse_contribution(session: Session, shape: TableShape, messages: Sequence[Message]) -> NDArray[np.int64]:
    """Return a silo's contribution of these messages to an attempt's session, which it derives by `attempt_session`."""
    return _table(session, shape).encode(messages)


def attempt_session(first: Session, attempt: int) -> Session:
    """Return the session of the attempt with this number, from 1. A silo joins no other."""
    if attempt < 1:
        raise DomainError(f"a sparse sum takes one attempt or more, found {attempt}")
    if attempt == 1:
        return first
    if first.quorum < len(first.roster):
        raise DomainError(
            f"a sparse sum of {len(first.roster)} silos may do with {first.quorum}, but one that may be repeated needs "
            "them all, or two attempts would show what a missing silo sent; raise the quorum, or allow one attempt"
        )
    return replace(first, id=first.bind("sparse sum, attempt", attempt.to_bytes(8, "little")))


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


def _attempt(
    scheme: SecureSum, first: Session, shape: TableShape, ask_for: Callable[[Session], Ask], attempt: int
) -> SparseSum:
    session = attempt_session(first, attempt)
    table = _table(session, shape)
    result = run_sum(scheme, session, ask_for(session))
    return SparseSum(table.decode(result.total), result.contributors, attempt)


def _table(session: Session, shape: TableShape) -> SparseTable:
    """Return the session's table. Its seed binds the shape as well, because several shapes have the same domain."""
    if session.domain != shape.domain:
        raise DomainError(f"the session agreed on {session.domain}, but its table needs {shape.domain}")
    sizes = (shape.capacity, shape.key_bits, shape.value_bits)
    return SparseTable(shape, session.bind("sparse table", *(size.to_bytes(8, "little") for size in sizes)))
