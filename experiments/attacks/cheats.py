"""Cheats that need to know nothing of a scheme: the aggregator follows the protocol, but for one lie.

Each plays at a table, and yields the ways in which it can be played.

`two_sessions` tells no lie that a sum could notice: sums know nothing of each other, and any two that differ by one
silo tell its vector. What stands against it is outside of the sums:

- Within a run, the silo's runtime. A contribution goes into one sum, and only into the one that the job says, with the
  job's roster (`silo.runtime.Silo._join`, `silo.agreed_session.require_agreed`; in `tests/silo`:
  `test_what_was_prepared_is_summed_once`, `test_a_sum_that_is_not_the_jobs_is_refused`, and for kernel means and
  statistics `test_it_leaves_once_whatever_the_aggregator_tries` and `test_a_release_happens_once`).
- Across rounds and runs, the policy and the noise in what is summed. The others train anew, so that two sums differ by
  their noise as well; each run is charged, and a policy's epsilon counts all of them (`silo.policy.spent_in`). Nothing
  covers jobs without privacy that a policy allows, for as many runs as there are.
"""

import copy
from collections.abc import Iterator
from functools import partial
from itertools import chain

from siloseal.experiments.attacks.lying_aggregators import unchecked
from siloseal.experiments.attacks.table import (
    OTHERS,
    ROSTER,
    VICTIM,
    CheatersTable,
    DoesNotApply,
    Messages,
    Refused,
    Round,
    Way,
)
from siloseal.federation.errors import ProtocolError
from siloseal.federation.records.identity import Identity
from siloseal.federation.sums.secure_sum import AggregatorSide, Sum
from siloseal.federation.sums.session import Vector
from siloseal.federation.transport.wire import sums_pb2 as pb
from siloseal.federation.transport.wire.codec import decode, wrap


def reads_uploads(table: CheatersTable) -> Iterator[Way]:
    """Follow the protocol, and look at every message."""
    yield lambda: [table.record()[1].total]


def swaps_keys(table: CheatersTable) -> Iterator[Way]:
    """Put silos of its own, with keys of its own and zeros to add, in the place of all others: the sum is one silo's.

    Silos know each other's identity keys from the session, and the aggregator cannot sign with those.
    """
    false = {name: Identity.create(name) for name in OTHERS}
    keys = [false[name].public if name in false else table.identities[name].public for name in ROSTER]
    session = table.forged(identities=tuple(keys))
    for name, me in false.items():
        table.silos[name] = table.silo(session, me, 0 * table.secret)
    yield lambda: [_one_by_one(table, unchecked(table.scheme.aggregator(session))).total]


def opens_twice(table: CheatersTable) -> Iterator[Way]:
    """Have the sum of all opened, then once more without the victim, from each round on: the difference is its vector.

    The aggregator keeps every reply, and takes the sum up where it likes. It would work on silos that go back to where
    they stood before; not in the ring, where every total that can be opened has the first silo's vector in it.
    """
    kept = list[tuple[AggregatorSide, dict[str, bytes]]]()
    side = unchecked(table.scheme.aggregator(table.session))
    step: Messages | Sum = side.open()
    while not isinstance(step, Sum):
        replies = table.ask(step)
        kept.append((copy.deepcopy(side), replies))
        step = side.advance(replies)
    for earlier, replies in kept:
        try:
            again = earlier.advance({name: replies[name] for name in replies if name in OTHERS})
        except (ProtocolError, LookupError):
            continue  # nothing to send: without the first silo nobody begins the ring, or draws the one key
        yield partial(_second_sum, table, step, earlier, again)


def replays_session(table: CheatersTable) -> Iterator[Way]:
    """In a later session, say what was said in the first: as it was, and then as if it were of this one.

    A silo that took old keys for new ones, or drew the same masks again, would hide its next vector as it did the last:
    then its uploads differ by what the vectors do. Words are subtracted, after a session without any lie and after the
    one with old messages. Ciphertexts are not.
    """
    first, _ = table.record()
    table.meet(fresh_vectors=True)
    second, _ = table.record()
    yield lambda: _changes(table, first, second)
    table.meet()
    yield lambda: _changes(table, first, [_said_again(table, messages) for messages, _ in first])


def two_sessions(table: CheatersTable) -> Iterator[Way]:
    """Say that the first session failed, and sum once more without the victim. See the module's text."""
    _, total = table.record()
    table.meet(roster=OTHERS)
    yield lambda: [table.difference(total.total, table.record()[1].total)]


def _one_by_one(table: CheatersTable, side: AggregatorSide) -> Sum:
    """If the victim, who is asked first, refuses, it is over, whatever the false silos answer."""
    step: Messages | Sum = side.open()
    while not isinstance(step, Sum):
        replies = [table.ask({name: message}) for name, message in step.items()]
        step = side.advance(dict(chain.from_iterable(reply.items() for reply in replies)))
    return step


def _second_sum(table: CheatersTable, first: Sum, side: AggregatorSide, step: Messages | Sum) -> list[Vector]:
    second = table.drive(side, step)
    if second.contributors == first.contributors and not table.difference(first.total, second.total).any():
        raise DoesNotApply("it is the same sum again")
    return [table.difference(first.total, second.total)]


def _said_again(table: CheatersTable, messages: Messages) -> Round:
    try:
        return messages, table.ask(messages)
    except Refused:  # it carries the digest of the first session, so give it that of this one
        renewed = {name: _renewed(table, message) for name, message in messages.items()}
        return renewed, table.ask(renewed)


def _renewed(table: CheatersTable, message: bytes) -> bytes:
    said = decode(pb.SumMessage, message)
    return wrap(table.session, round=said.round, body=said.body)


def _changes(table: CheatersTable, first: list[Round], second: list[Round]) -> list[Vector]:
    """By how much the victim's words differ, wherever it sent some in both sessions."""
    found = list[Vector]()
    for (_, before), (_, after) in zip(first, second, strict=True):
        if VICTIM in before and VICTIM in after:
            old, new = table.packed_words(before[VICTIM]), table.packed_words(after[VICTIM])
            if old is not None and new is not None:
                found.append(table.difference(new, old))
    return found
