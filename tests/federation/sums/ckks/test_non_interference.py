"""No honest message depends on anybody's ciphertext: under every attack it is, byte for byte, what it would have been.

A silo cheats together with the aggregator. Everything that honest silos say is compared with what they say in the same
session without a cheat: same vectors, same randomness, same nonces. It is why malformed ciphertexts, which open keys
in sums with partial decryptions, gain nothing here.
"""

from collections.abc import Callable

import numpy as np
import pytest

from siloseal.federation.errors import ProtocolError, QuorumLost
from siloseal.federation.sums.ckks.uploads import sign_upload
from siloseal.federation.sums.ckks.wire import rows, to_bytes
from siloseal.federation.sums.masked.words import WordRing
from siloseal.federation.sums.rounds import pieces
from siloseal.federation.sums.secagg.plan import Round
from siloseal.federation.sums.secagg.survivors import sign_survivors, to_bits
from siloseal.federation.transport.wire import ckks_pb2 as pb
from siloseal.federation.transport.wire.codec import unwrap, wrap

from .conftest import IDENTITIES, NAMES, Table

CHEAT, VICTIM = "west", "east"
HONEST = tuple(name for name in NAMES if name != CHEAT)

Change = Callable[[Table, pb.CkksUpload, dict[str, pb.CkksUpload]], None]
"""Changes what the cheat uploads, having seen everyone's upload."""


def _coefficients(table: Table, upload: pb.CkksUpload) -> np.ndarray:
    return np.stack(list(rows(table.parameters, upload.ciphertext)))


def malformed(table: Table, mine: pb.CkksUpload, all_of_them: dict[str, pb.CkksUpload]) -> None:
    """A large constant on top, as c1 + Delta did in the joint-key sum."""
    changed = _coefficients(table, mine)
    table.parameters.ring.add(changed, np.full_like(changed, 2**30))
    mine.ciphertext = to_bytes(table.parameters, changed)


def copied(table: Table, mine: pb.CkksUpload, all_of_them: dict[str, pb.CkksUpload]) -> None:
    mine.ciphertext = all_of_them[VICTIM].ciphertext


def copied_with_its_key(table: Table, mine: pb.CkksUpload, all_of_them: dict[str, pb.CkksUpload]) -> None:
    mine.CopyFrom(all_of_them[VICTIM])


def cancelling(table: Table, mine: pb.CkksUpload, all_of_them: dict[str, pb.CkksUpload]) -> None:
    """Minus the sum of the other honest silos: what is left would be the victim's alone."""
    total, primes = np.zeros_like(_coefficients(table, mine)), table.parameters.ring.primes[:, None]
    for name in HONEST:
        if name != VICTIM:
            table.parameters.ring.add(total, _coefficients(table, all_of_them[name]))
    mine.ciphertext = to_bytes(table.parameters, (primes - total) % primes)


def constant(table: Table, mine: pb.CkksUpload, all_of_them: dict[str, pb.CkksUpload]) -> None:
    mine.ciphertext = bytes(len(mine.ciphertext))


def malformed_key(table: Table, mine: pb.CkksUpload, all_of_them: dict[str, pb.CkksUpload]) -> None:
    """Key entries as large as the masked words hold."""
    ring = WordRing(table.parameters.degree, table.parameters.key_bits)
    words = ring.unpack(mine.masked_key)
    mine.masked_key = ring.pack(words + words.dtype.type(2 ** (table.parameters.key_bits - 1)))


CHANGES: dict[str, Change] = {
    "malformed ciphertext": malformed,
    "copied ciphertext": copied,
    "copied ciphertext and key": copied_with_its_key,
    "cancelling ciphertext": cancelling,
    "constant ciphertext": constant,
    "malformed key share": malformed_key,
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_honest_messages_are_what_they_would_have_been(
    table_of: Callable[..., Table], change: Change, repeatable_seals: Callable[[], None]
) -> None:
    """The aggregator lies, too: it looks at nothing that its accomplice uploads, and goes on to the end."""
    repeatable_seals()
    without = table_of()
    without.run()
    repeatable_seals()
    attacked = table_of()

    def cheat(number: Round, replies: dict[str, bytes]) -> dict[str, bytes]:
        if number != Round.UPLOAD:
            return replies
        uploads = {name: attacked.upload(reply) for name, reply in replies.items()}
        change(attacked, uploads[CHEAT], {name: attacked.upload(reply) for name, reply in replies.items()})
        sign_upload(attacked.session, IDENTITIES[CHEAT], uploads[CHEAT])
        return {**replies, CHEAT: attacked.wrapped(uploads[CHEAT])}

    attacked.side.__dict__["_compare"] = lambda silo, upload: None
    try:
        result = attacked.run(carry=cheat, checked=False)
    except ProtocolError:  # in the aggregator's own hands: honest silos have said what they say
        result = None
    assert attacked.said.keys() == set(Round), "every honest silo answered to the end"
    for number, replies in attacked.said.items():
        for name in HONEST:
            assert replies[name] == without.said[number][name], (number, name)
    if result is not None:
        assert np.abs(result.total - attacked.vectors[VICTIM]).max() > 0.1


def test_of_two_lists_a_silo_answers_the_one_it_was_told_or_refuses(
    table_of: Callable[..., Table], repeatable_seals: Callable[[], None]
) -> None:
    """Each honest message is what it would have been had everyone been told the list that its silo was told.

    The cheat signs both lists. Three silos hear that the victim is there, among them the cheat; one hears that it is not.
    """
    whole, without_victim = table_of(), table_of()
    attacked, deceived = table_of(), "south"
    for table, silent in ((whole, {}), (without_victim, {VICTIM: Round.UPLOAD})):
        repeatable_seals()
        table.run(silent=silent)
    repeatable_seals()
    for number in (Round.ADVERTISE, Round.SHARE, Round.UPLOAD):  # up to here nobody lies
        for name in NAMES:
            assert answer(attacked, number, name, body_asked(whole, number, name)) == body_said(whole, number, name)
    lists = {name: to_bits(attacked.session, set(NAMES) - ({VICTIM} if name == deceived else set())) for name in HONEST}
    signed = {name: answer(attacked, Round.CONFIRM, name, bits) for name, bits in lists.items()}
    for name, signature in signed.items():
        assert signature == body_said(without_victim if name == deceived else whole, Round.CONFIRM, name), name
    for name, bits in lists.items():
        alike = {other: signed[other] for other in HONEST if lists[other] == bits}
        alike[CHEAT] = sign_survivors(attacked.session, IDENTITIES[CHEAT], bits)
        if name == deceived:
            with pytest.raises(QuorumLost):
                answer(attacked, Round.REVEAL, name, pieces(alike))
        else:
            revealed = answer(attacked, Round.REVEAL, name, pieces(alike))
            assert revealed == body_said(whole, Round.REVEAL, name), name


def answer(table: Table, number: Round, name: str, body: bytes) -> bytes:
    reply = table.silos[name].answer(wrap(table.session, round=2 * number, body=body))
    return unwrap(table.session, round=2 * number + 1, data=reply)


def body_asked(table: Table, number: Round, name: str) -> bytes:
    return unwrap(table.session, round=2 * number, data=table.asked[number][name])


def body_said(table: Table, number: Round, name: str) -> bytes:
    return unwrap(table.session, round=2 * number + 1, data=table.said[number][name])


def test_the_comparison_would_see_a_difference(
    table_of: Callable[..., Table], repeatable_seals: Callable[[], None]
) -> None:
    repeatable_seals()
    one = table_of()
    one.run()
    repeatable_seals()
    other = table_of(seed=1)
    other.run()
    assert one.said[Round.UPLOAD]["east"] != other.said[Round.UPLOAD]["east"]
