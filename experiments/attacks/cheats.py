"""Cheats that need to know nothing of a scheme: the aggregator follows the protocol, but for one lie.

Each plays at a table and returns the vectors that it makes out to be the victim's.
"""

import copy

from experiments.attacks.table import OTHERS, ROSTER, DoesNotApply, Messages, Refused, Table
from federation.errors import ProtocolError
from federation.identity import Identity
from federation.secure_sum import AggregatorSide, Sum
from federation.session import Vector
from federation.wire import messages_pb2 as pb
from federation.wire.codec import decode, wrap


def reads_uploads(table: Table) -> list[Vector]:
    """Follow the protocol, and look at every message."""
    table.drive(table.scheme.aggregator(table.session))
    return []


def swaps_keys(table: Table) -> list[Vector]:
    """Put silos of its own, with keys of its own and zeros to add, in the place of all others: the sum is one silo's.

    Silos know each other's identity keys from the session, and the aggregator cannot sign with those.
    """
    false = {name: Identity.create(name) for name in OTHERS}
    keys = [false[name].public if name in false else table.identities[name].public for name in ROSTER]
    session = table.forged(identities=tuple(keys))
    for name, me in false.items():
        table.silos[name] = table.silo(session, me, 0 * table.secret)
    side = table.scheme.aggregator(session)
    step: Messages | Sum = side.open()
    while not isinstance(step, Sum):
        # One after the other: if the victim refuses, it is over, whatever the false silos answer.
        replies = [table.ask({name: message}) for name, message in step.items()]
        step = side.advance({name: reply for said in replies for name, reply in said.items()})
    return [step.total]


def opens_twice(table: Table) -> list[Vector]:
    """Have the sum of all opened, then once more without the victim, from each round on: the difference is its vector.

    The aggregator keeps every reply, and takes the sum up where it likes.
    """
    kept = list[tuple[AggregatorSide, dict[str, bytes]]]()
    side = table.scheme.aggregator(table.session)
    step: Messages | Sum = side.open()
    while not isinstance(step, Sum):
        replies = table.ask(step)
        kept.append((copy.deepcopy(side), replies))
        step = side.advance(replies)
    found, refusals = list[Vector](), list[Refused]()
    for earlier, replies in kept:
        try:
            second = table.drive(earlier, earlier.advance({name: replies[name] for name in replies if name in OTHERS}))
        except Refused as refusal:
            refusals.append(refusal)
        except ProtocolError:
            continue  # the aggregator itself cannot go on from there
        else:
            if second.contributors != step.contributors:  # else it is the same sum again
                found.append(table.difference(step.total, second.total))
    if not (refusals or found):
        raise DoesNotApply("no round goes on without the victim: there is one sum, that of all silos")
    if not found:
        raise refusals[-1]
    return found


def replays_session(table: Table) -> list[Vector]:
    """In a second session, say what was said in the first: as it was, and then as if it were of the second.

    A silo that took old keys for new ones would mask or encrypt its next vector as it did the last. The cheat ends at
    the first refusal; had it all gone through, it would look at the messages, and not compute from reused masks.
    """
    recorded = list[Messages]()
    side = table.scheme.aggregator(table.session)
    step: Messages | Sum = side.open()
    while not isinstance(step, Sum):
        recorded.append(step)
        step = side.advance(table.ask(step))
    table.meet(fresh_vectors=True)
    for messages in recorded:
        try:
            table.ask(messages)
        except Refused:  # it carries the digest of the first session, so give it that of the second
            table.ask({name: _renewed(table, message) for name, message in messages.items()})
    return []


def _renewed(table: Table, message: bytes) -> bytes:
    said = decode(pb.SumMessage, message)
    return wrap(table.session, round=said.round, body=said.body)
