"""Cheats that need to know nothing of a scheme: the aggregator follows the protocol, but for one lie.

Each attacks one sum, and yields the ways in which it can be played.

`two_sessions` tells no lie that a sum could notice: sums know nothing of each other, and any two that differ by one
silo tell its vector. What stands against it is outside of the sums:

- Within a run, the silo's runtime. A contribution goes into one sum, and only into the one that the job says, with the
  job's roster (`silo.runtime.Silo._join`, `silo.agreed_session.require_agreed`; in `tests/silo`:
  `test_what_was_prepared_is_summed_once`, `test_a_sum_that_is_not_the_jobs_is_refused`, and for kernel means and
  statistics `test_it_leaves_once_whatever_the_aggregator_tries` and `test_a_release_happens_once`).
- Across rounds and runs, the policy and the noise in what is summed. The others train anew, so that two sums differ by
  their noise as well; each run is charged, and a policy's epsilon counts all of them (`silo.earlier_runs.spent_in`).
  Nothing covers jobs without privacy that a policy allows, for as many runs as there are.
"""

import copy
from collections.abc import Iterator
from functools import partial
from itertools import chain

from siloseal.experiments.attacks.attacked_sum import (
    OTHERS,
    ROSTER,
    VICTIM,
    AttackedSum,
    DoesNotApply,
    Messages,
    Refused,
    Round,
    Way,
)
from siloseal.experiments.attacks.lying_aggregators import unchecked
from siloseal.federation.errors import ProtocolError
from siloseal.federation.records.identity import Identity
from siloseal.federation.sums.envelope import wrap
from siloseal.federation.sums.secure_sum import AggregatorSide, Sum
from siloseal.federation.sums.session import Vector
from siloseal.federation.transport.wire import sums_pb2 as pb
from siloseal.federation.transport.wire.codec import decode


def reads_uploads(attacked: AttackedSum) -> Iterator[Way]:
    """Follow the protocol, and look at every message."""
    yield lambda: [attacked.record()[1].total]


def swaps_keys(attacked: AttackedSum) -> Iterator[Way]:
    """Put silos of its own, with keys of its own and zeros to add, in the place of all others: the sum is one silo's.

    Silos know each other's identity keys from the session, and the aggregator cannot sign with those.
    """
    false = {name: Identity.create(name) for name in OTHERS}
    keys = [false[name].public if name in false else attacked.identities[name].public for name in ROSTER]
    session = attacked.forged(identities=tuple(keys))
    for name, me in false.items():
        attacked.silos[name] = attacked.silo(session, me, 0 * attacked.secret)
    yield lambda: [_one_by_one(attacked, unchecked(attacked.scheme.aggregator(session))).total]


def opens_twice(attacked: AttackedSum) -> Iterator[Way]:
    """Have the sum of all opened, then once more without the victim, from each round on: the difference is its vector.

    The aggregator keeps every reply, and takes the sum up where it likes. It would work on silos that go back to where
    they stood before; not in the ring, where every total that can be opened has the first silo's vector in it.
    """
    kept = list[tuple[AggregatorSide, dict[str, bytes]]]()
    side = unchecked(attacked.scheme.aggregator(attacked.session))
    step: Messages | Sum = side.open()
    while not isinstance(step, Sum):
        replies = attacked.ask(step)
        kept.append((copy.deepcopy(side), replies))
        step = side.advance(replies)
    for earlier, replies in kept:
        try:
            again = earlier.advance({name: replies[name] for name in replies if name in OTHERS})
        except (ProtocolError, LookupError):
            continue  # nothing to send: without the first silo nobody begins the ring, or draws the one key
        yield partial(_second_sum, attacked, step, earlier, again)


def replays_session(attacked: AttackedSum) -> Iterator[Way]:
    """Repeat in a later session what was said in the first: as it was, and then as if it were of this one.

    A silo that took old keys for new ones, or drew the same masks again, would hide its next vector as it did the last:
    then its uploads differ by what the vectors do. Words are subtracted, after a session without any lie and after the
    one with old messages. Ciphertexts are not.
    """
    first, _ = attacked.record()
    attacked.meet(fresh_vectors=True)
    second, _ = attacked.record()
    yield lambda: _changes(attacked, first, second)
    attacked.meet()
    yield lambda: _changes(attacked, first, [_said_again(attacked, messages) for messages, _ in first])


def two_sessions(attacked: AttackedSum) -> Iterator[Way]:
    """Say that the first session failed, and sum once more without the victim. See the module's text."""
    _, total = attacked.record()
    attacked.meet(roster=OTHERS)
    yield lambda: [attacked.difference(total.total, attacked.record()[1].total)]


def _one_by_one(attacked: AttackedSum, side: AggregatorSide) -> Sum:
    """Play the session round by round. If the victim, who is asked first, refuses, it is over."""
    step: Messages | Sum = side.open()
    while not isinstance(step, Sum):
        replies = [attacked.ask({name: message}) for name, message in step.items()]
        step = side.advance(dict(chain.from_iterable(reply.items() for reply in replies)))
    return step


def _second_sum(attacked: AttackedSum, first: Sum, side: AggregatorSide, step: Messages | Sum) -> list[Vector]:
    second = attacked.drive(side, step)
    if second.contributors == first.contributors and not attacked.difference(first.total, second.total).any():
        raise DoesNotApply("it is the same sum again")
    return [attacked.difference(first.total, second.total)]


def _said_again(attacked: AttackedSum, messages: Messages) -> Round:
    try:
        return messages, attacked.ask(messages)
    except Refused:  # it carries the digest of the first session, so give it that of this one
        renewed = {name: _renewed(attacked, message) for name, message in messages.items()}
        return renewed, attacked.ask(renewed)


def _renewed(attacked: AttackedSum, message: bytes) -> bytes:
    said = decode(pb.SumMessage, message)
    return wrap(attacked.session, round=said.round, body=said.body)


def _changes(attacked: AttackedSum, first: list[Round], second: list[Round]) -> list[Vector]:
    """Return the differences of the victim's words, wherever it sent some in both sessions."""
    found = list[Vector]()
    for (_, before), (_, after) in zip(first, second, strict=True):
        if VICTIM in before and VICTIM in after:
            old, new = attacked.packed_words(before[VICTIM]), attacked.packed_words(after[VICTIM])
            if old is not None and new is not None:
                found.append(attacked.difference(new, old))
    return found
