"""All parties of an encrypted sum."""

from collections.abc import Callable

import pytest

from siloseal.federation.sums import sealing
from siloseal.federation.sums.ckks.ckks_sum import CkksSum
from siloseal.federation.sums.envelope import unwrap, wrap
from siloseal.federation.sums.secagg.plan import Round
from siloseal.federation.sums.session import RealDomain
from siloseal.federation.transport.wire import ckks_pb2
from siloseal.federation.transport.wire.codec import decode
from tests.federation.sums.recorded import Recorded, drawn_vectors

NAMES = ("east", "north", "south", "west")


class Parties(Recorded):
    """Four silos, of which three are enough, and an aggregator in one session over 500 entries up to 4."""

    def __init__(self, *, id: int = 0, seed: int = 0) -> None:
        scheme, domain = CkksSum(precision_bits=20), RealDomain(500, 4.0)
        super().__init__(scheme, drawn_vectors(NAMES, domain), domain, quorum=3, id=id, seed=seed)
        self.parameters = scheme.parameters(domain, len(NAMES))

    def upload(self, reply: bytes) -> ckks_pb2.CkksUpload:
        return decode(ckks_pb2.CkksUpload, unwrap(self.session, round=2 * Round.UPLOAD + 1, data=reply))

    def wrapped(self, upload: ckks_pb2.CkksUpload) -> bytes:
        return wrap(self.session, round=2 * Round.UPLOAD + 1, body=upload.SerializeToString())


@pytest.fixture
def parties_of() -> Callable[..., Parties]:
    return Parties


@pytest.fixture
def parties() -> Parties:
    return Parties()


@pytest.fixture
def repeatable_seals(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Nonces of sealed shares come from a counter that the returned function sets back: sessions can be compared."""
    drawn = [0]

    def urandom(count: int) -> bytes:
        drawn[0] += 1
        return drawn[0].to_bytes(count, "little")

    def rewind() -> None:
        drawn[0] = 0

    monkeypatch.setattr(sealing.os, "urandom", urandom)
    return rewind
