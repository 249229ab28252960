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
from siloseal.federation.transport.wire import ckks_pb2
from siloseal.federation.transport.wire.codec import decode
from tests.federation.sums.recorded import identity

from .conftest import NAMES, Parties

CHEAT, VICTIM = "west", "east"
HONEST = tuple(name for name in NAMES if name != CHEAT)

Change = Callable[[Parties, ckks_pb2.CkksUpload, dict[str, ckks_pb2.CkksUpload]], None]
"""Changes what the cheat uploads, having seen everyone's upload."""


def _coefficients(parties: Parties, upload: ckks_pb2.CkksUpload) -> np.ndarray:
    return np.stack(list(rows(parties.parameters, upload.ciphertext)))


def malformed(parties: Parties, mine: ckks_pb2.CkksUpload, all_of_them: dict[str, ckks_pb2.CkksUpload]) -> None:
    """A large constant on top, as c1 + Delta did in the joint-key sum."""
    changed = _coefficients(parties, mine)
    parties.parameters.ring.add(changed, np.full_like(changed, 2**30))
    mine.ciphertext = to_bytes(parties.parameters, changed)


def copied(parties: Parties, mine: ckks_pb2.CkksUpload, all_of_them: dict[str, ckks_pb2.CkksUpload]) -> None:
    mine.ciphertext = all_of_them[VICTIM].ciphertext


def copied_with_its_key(
    parties: Parties, mine: ckks_pb2.CkksUpload, all_of_them: dict[str, ckks_pb2.CkksUpload]
) -> None:
    mine.CopyFrom(all_of_them[VICTIM])


def cancelling(parties: Parties, mine: ckks_pb2.CkksUpload, all_of_them: dict[str, ckks_pb2.CkksUpload]) -> None:
    """Minus the sum of the other honest silos: what is left would be the victim's alone."""
    total, primes = np.zeros_like(_coefficients(parties, mine)), parties.parameters.ring.primes[:, None]
    for name in HONEST:
        if name != VICTIM:
            parties.parameters.ring.add(total, _coefficients(parties, all_of_them[name]))
    mine.ciphertext = to_bytes(parties.parameters, (primes - total) % primes)


def constant(parties: Parties, mine: ckks_pb2.CkksUpload, all_of_them: dict[str, ckks_pb2.CkksUpload]) -> None:
    mine.ciphertext = bytes(len(mine.ciphertext))


def malformed_key(parties: Parties, mine: ckks_pb2.CkksUpload, all_of_them: dict[str, ckks_pb2.CkksUpload]) -> None:
    """Key entries as large as the masked words hold."""
    ring = WordRing(parties.parameters.degree, parties.parameters.key_bits)
    words = ring.unpack(mine.masked_key)
    mine.masked_key = ring.pack(words + words.dtype.type(2 ** (parties.parameters.key_bits - 1)))


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
    parties_of: Callable[..., Parties], change: Change, repeatable_seals: Callable[[], None]
) -> None:
    """The aggregator lies, too: it looks at nothing that its accomplice uploads, and goes on to the end."""
    repeatable_seals()
    without = parties_of()
    without.run()
    repeatable_seals()
    attacked = parties_of()

    def cheat(number: int, silo: str, body: bytes) -> bytes:
        if (number, silo) != (Round.UPLOAD, CHEAT):  # who is the last to be asked
            return body
        uploads = {name: attacked.upload(attacked.said[number][name]) for name in HONEST}
        mine, all_of_them = decode(ckks_pb2.CkksUpload, body), {**uploads, CHEAT: decode(ckks_pb2.CkksUpload, body)}
        change(attacked, mine, all_of_them)
        return sign_upload(attacked.session, identity(CHEAT), mine)

    attacked.aggregator.__dict__["_compare"] = lambda silo, upload: None
    try:
        result = attacked.run(reply=cheat, checked=False)
    except ProtocolError:  # in the aggregator's own hands: honest silos have said what they say
        result = None
    assert len(attacked.said) == len(Round), "every honest silo answered to the end"
    for number in Round:
        for name in HONEST:
            assert attacked.said[number][name] == without.said[number][name], (number, name)
    if result is not None:
        assert np.abs(result.total - attacked.vectors[VICTIM]).max() > 0.1


def test_of_two_lists_a_silo_answers_the_one_it_was_told_or_refuses(
    parties_of: Callable[..., Parties], repeatable_seals: Callable[[], None]
) -> None:
    """Each honest message is what it would have been had everyone been told the list that its silo was told.

    The cheat signs both lists. Three silos hear that the victim is there, among them the cheat; one hears that it is not.
    """
    whole, without_victim = parties_of(), parties_of()
    attacked, deceived = parties_of(), "south"
    for parties, silent in ((whole, {}), (without_victim, {VICTIM: Round.UPLOAD})):
        repeatable_seals()
        parties.run(silent=silent)
    repeatable_seals()
    for number in (Round.ADVERTISE, Round.SHARE, Round.UPLOAD):  # up to here nobody lies
        for name in NAMES:
            assert attacked.tell(number, name, whole.body_asked(number, name)) == whole.body_said(number, name)
    lists = {name: to_bits(attacked.session, set(NAMES) - ({VICTIM} if name == deceived else set())) for name in HONEST}
    signed = {name: attacked.tell(Round.CONFIRM, name, bits) for name, bits in lists.items()}
    for name, signature in signed.items():
        assert signature == (without_victim if name == deceived else whole).body_said(Round.CONFIRM, name), name
    for name, bits in lists.items():
        alike = {other: signed[other] for other in HONEST if lists[other] == bits}
        alike[CHEAT] = sign_survivors(attacked.session, identity(CHEAT), bits)
        if name == deceived:
            with pytest.raises(QuorumLost):
                attacked.tell(Round.REVEAL, name, pieces(alike))
        else:
            revealed = attacked.tell(Round.REVEAL, name, pieces(alike))
            assert revealed == whole.body_said(Round.REVEAL, name), name


def test_the_comparison_would_see_a_difference(
    parties_of: Callable[..., Parties], repeatable_seals: Callable[[], None]
) -> None:
    repeatable_seals()
    one = parties_of()
    one.run()
    repeatable_seals()
    other = parties_of(seed=1)
    other.run()
    assert one.said[Round.UPLOAD]["east"] != other.said[Round.UPLOAD]["east"]
