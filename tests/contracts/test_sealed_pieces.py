"""What silos seal for each other opens for the silo, the session and the direction that it was sealed for only."""

import pytest

from siloseal.federation.errors import ProtocolError, QuorumLost, SealBroken, WrongContributors
from siloseal.federation.sums.envelope import wrap
from siloseal.federation.sums.masked.silo_side import sealed_share_context
from siloseal.federation.sums.sealing import SEAL_BYTES, ChannelKey
from siloseal.federation.transport.wire import masked_pb2
from siloseal.federation.transport.wire.codec import decode

from .carried import SEALED, SEALED_FOR_ALL, Carried, Carrier, of_pieces
from .ended import require_refused
from .schemes import JOINT_KEY, PAILLIER, ROSTER, STOCK_CKKS, finished

every_carrier = pytest.mark.parametrize("carrier", SEALED, ids=str)
masked = pytest.mark.parametrize(
    "carrier", [each for each in SEALED if each.scheme not in (JOINT_KEY, PAILLIER, STOCK_CKKS)], ids=str
)
listed = pytest.mark.parametrize("carrier", [each for each in SEALED if each.write is of_pieces], ids=str)


def carried(carrier: Carrier, *, id: int = 0) -> dict[str, bytes]:
    """Sealed pieces that the silo got, by the silos that sealed them."""
    found = carrier.read(carrier.silo, finished(carrier.scheme, id).body_asked(carrier.number, carrier.silo))
    return {sender: sealed for sender, sealed in found.items() if sender != carrier.silo}


def refused(carrier: Carrier, lie: Carried, error: type[ProtocolError] | tuple[type[ProtocolError], ...]) -> None:
    parties = finished(carrier.scheme)
    body = carrier.write(carrier.silo, parties.body_asked(carrier.number, carrier.silo), lie)
    require_refused(parties, carrier.silo, carrier.number, body, error)


@every_carrier
class TestASiloRefuses:
    @pytest.mark.parametrize("place", [0, 12, 43, -1], ids=["nonce", "first", "middle", "tag"])
    def test_an_altered_piece(self, carrier: Carrier, place: int) -> None:
        for sender, sealed in carried(carrier).items():
            altered = bytearray(sealed)
            altered[place] ^= 1
            refused(carrier, {**carried(carrier), sender: bytes(altered)}.items(), SealBroken)

    def test_an_empty_piece(self, carrier: Carrier) -> None:
        for sender in carried(carrier):
            refused(carrier, {**carried(carrier), sender: b""}.items(), SealBroken)

    def test_a_piece_of_another_session_with_the_same_keys(self, carrier: Carrier) -> None:
        for sender, earlier in carried(carrier, id=1).items():
            refused(carrier, {**carried(carrier), sender: earlier}.items(), SealBroken)

    def test_every_other_piece_of_the_session(self, carrier: Carrier) -> None:
        """For another silo, of another sender, of another turn, and its own sent back."""
        pieces = {sealed for each in SEALED_FOR_ALL[carrier.scheme] for sealed in carried(each).values()}
        for sender, right in carried(carrier).items():
            for wrong in pieces - {right}:
                refused(carrier, {**carried(carrier), sender: wrong}.items(), SealBroken)


@masked
def test_a_silo_refuses_a_piece_of_another_size_though_its_sender_sealed_it(carrier: Carrier) -> None:
    parties = finished(carrier.scheme)
    for sender, sealed in carried(carrier).items():
        keys = {
            silo: ChannelKey(decode(masked_pb2.MaskedSiloState, parties.states[0][silo]).channel_key)
            for silo in (sender, carrier.silo)
        }
        context = sealed_share_context(parties.session, sender, carrier.silo)
        right = len(sealed) - SEAL_BYTES
        sizes = {
            size: keys[sender].seal(keys[carrier.silo].public, bytes(size), context)
            for size in (0, right - 1, right, right + 1)
        }
        accepted = {**carried(carrier), sender: sizes.pop(right)}
        body = carrier.write(carrier.silo, parties.body_asked(carrier.number, carrier.silo), accepted.items())
        parties.restored(carrier.silo, carrier.number).answer(
            wrap(parties.session, round=2 * carrier.number, body=body)
        )
        for wrong in sizes.values():
            refused(carrier, {**carried(carrier), sender: wrong}.items(), SealBroken)


@listed
def test_a_silo_refuses_pieces_of_a_stranger_or_in_its_own_name(carrier: Carrier) -> None:
    for name in ("mallory", carrier.silo):
        refused(carrier, [*carried(carrier).items(), (name, next(iter(carried(carrier).values())))], WrongContributors)


@listed
def test_a_silo_refuses_pieces_of_too_few(carrier: Carrier) -> None:
    fewest = carrier.scheme.fewest(len(ROSTER))
    refused(carrier, list(carried(carrier).items())[: fewest - 2], QuorumLost)
