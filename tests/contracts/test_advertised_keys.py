"""Keys that a silo is told of others are those that the others signed, in this session, or it takes no further part."""

from collections.abc import Iterator

import pytest

from siloseal.federation.errors import (
    CommitmentBroken,
    ProtocolError,
    QuorumLost,
    SignatureInvalid,
    WrongContributors,
)
from siloseal.federation.records.identity import Identity
from siloseal.federation.sums.masked.advertisement import advertise
from siloseal.federation.sums.secure_sum import SecureSum
from siloseal.federation.transport.wire import masked_pb2
from siloseal.federation.transport.wire.codec import decode
from tests.federation.sums.recorded import Recorded, drawn_vectors, identity

from .carried import ADVERTISED, Carried, Carrier
from .ended import require_refused
from .schemes import HIDING, ROSTER, SHORT, finished, name_of

NEW_KEYS = [bytes(range(number, number + 32)) for number in (1, 2)]

every_carrier = pytest.mark.parametrize("carrier", ADVERTISED, ids=str)


def told(carrier: Carrier) -> dict[str, bytes]:
    return carrier.read(carrier.silo, finished(carrier.scheme).body_asked(carrier.number, carrier.silo))


def others(carrier: Carrier) -> Iterator[str]:
    return (silo for silo in told(carrier) if silo != carrier.silo)


def refused(carrier: Carrier, lie: Carried, error: type[ProtocolError] | tuple[type[ProtocolError], ...]) -> None:
    parties = finished(carrier.scheme)
    body = carrier.write(carrier.silo, parties.body_asked(carrier.number, carrier.silo), lie)
    require_refused(parties, carrier.silo, carrier.number, body, error)


def keys_of(advertisement: bytes) -> list[bytes]:
    return list(decode(masked_pb2.Advertisement, advertisement).keys)


@every_carrier
class TestASiloRefuses:
    def test_keys_of_an_aggregator_that_poses_as_another_silo(self, carrier: Carrier) -> None:
        for other in others(carrier):
            drawn = NEW_KEYS[: len(keys_of(told(carrier)[other]))]
            forged = advertise(finished(carrier.scheme).session, Identity.create(other), drawn)
            refused(carrier, {**told(carrier), other: forged}.items(), SignatureInvalid)

    def test_keys_of_another_session(self, carrier: Carrier) -> None:
        """The same silos with the same keys: it is the session that they are signed for."""
        for other in others(carrier):
            earlier = finished(carrier.scheme, 1).body_said(0, other)
            assert keys_of(earlier) == keys_of(told(carrier)[other])
            refused(carrier, {**told(carrier), other: earlier}.items(), SignatureInvalid)

    def test_other_keys_than_its_own_although_it_signed_them(self, carrier: Carrier) -> None:
        drawn = NEW_KEYS[: len(keys_of(told(carrier)[carrier.silo]))]
        again = advertise(finished(carrier.scheme).session, identity(carrier.silo), drawn)
        refused(carrier, {**told(carrier), carrier.silo: again}.items(), CommitmentBroken)

    def test_a_list_without_itself(self, carrier: Carrier) -> None:
        left = {silo: said for silo, said in told(carrier).items() if silo != carrier.silo}
        refused(carrier, left.items(), (WrongContributors, QuorumLost))

    def test_a_stranger_in_the_place_of_a_silo(self, carrier: Carrier) -> None:
        for other in others(carrier):
            changed = {"mallory" if silo == other else silo: said for silo, said in told(carrier).items()}
            refused(carrier, changed.items(), WrongContributors)

    def test_a_silo_named_twice(self, carrier: Carrier) -> None:
        for other in others(carrier):
            refused(carrier, [*told(carrier).items(), (other, told(carrier)[other])], WrongContributors)

    def test_a_key_that_two_silos_have(self, carrier: Carrier) -> None:
        """Signed by both: between two such silos a mask would cancel, or a seal open for the wrong one."""
        one, two = list(others(carrier))[:2]
        copied = advertise(finished(carrier.scheme).session, identity(two), keys_of(told(carrier)[one]))
        refused(carrier, {**told(carrier), two: copied}.items(), WrongContributors)

    def test_a_list_of_too_few(self, carrier: Carrier) -> None:
        needed = min(carrier.scheme.fewest(len(ROSTER)), len(told(carrier)))
        kept = [carrier.silo, *others(carrier)][: needed - 1]
        refused(carrier, [(silo, told(carrier)[silo]) for silo in kept], QuorumLost)


@pytest.mark.parametrize("scheme", HIDING, ids=name_of)
def test_the_aggregator_refuses_a_key_that_two_silos_have(scheme: SecureSum) -> None:
    """Each reply is in order by itself: only all of them together show it."""
    parties = Recorded(scheme, drawn_vectors(ROSTER, SHORT), SHORT, quorum=3, clones={"south": "east"})
    replies = parties.answer(parties.messages)
    for silo, reply in replies.items():
        parties.aggregator.check(silo, reply)
    with pytest.raises(WrongContributors):
        parties.aggregator.advance(replies)
