"""No honest message depends on anybody's ciphertext: under every attack it is, byte for byte, what it would have been.

A silo cheats together with the aggregator. Everything that honest silos say is compared with what they say in the same
session without a cheat: same vectors, same randomness, same nonces. It is why malformed ciphertexts, which open keys
in sums with partial decryptions, gain nothing here.
"""

from collections.abc import Callable

import numpy as np
import pytest

from federation.ckks.uploads import sign_upload
from federation.ckks.wire import rows, to_bytes
from federation.errors import ProtocolError
from federation.masked.words import WordRing
from federation.secagg.plan import Round
from federation.wire import messages_pb2 as pb

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
@pytest.mark.parametrize("checked", [True, False], ids=["honest aggregator", "lying aggregator"])
def test_honest_messages_are_what_they_would_have_been(
    table_of: Callable[..., Table], change: Change, checked: bool, repeatable_seals: Callable[[], None]
) -> None:
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

    if not checked:  # an aggregator that lies does not look at what its accomplice uploads
        attacked.side.__dict__["_seen"] = _SeesNothing()
    try:
        result = attacked.run(carry=cheat, checked=checked)
    except ProtocolError:  # in the aggregator's own hands: honest silos have said what they say
        result = None
    assert attacked.said[Round.UPLOAD].keys() == set(NAMES)
    if not checked:
        assert attacked.said.keys() == set(Round), "every honest silo answered to the end"
    for number, replies in attacked.said.items():
        for name in HONEST:
            assert replies[name] == without.said[number][name], (number, name)
    if result is not None:
        assert np.abs(result.total - attacked.vectors[VICTIM]).max() > 0.1


class _SeesNothing(dict[str, dict[str, bytes]]):
    """Forgets which uploads came, so that copies pass."""

    def __setitem__(self, key: str, value: dict[str, bytes]) -> None:
        pass


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
