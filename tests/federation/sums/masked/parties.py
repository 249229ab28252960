"""All parties of a masked sum of integers, and what a test opens of what they sealed."""

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from siloseal.federation.sums.masked.silo_side import sealed_share_context
from siloseal.federation.sums.masked.words import WordRing, ring_for
from siloseal.federation.sums.sealing import ChannelKey
from siloseal.federation.sums.secure_sum import SecureSum
from siloseal.federation.sums.session import IntegerDomain
from siloseal.federation.transport.wire import masked_pb2
from siloseal.federation.transport.wire.codec import decode
from tests.federation.sums.recorded import Recorded, drawn_vectors

NAMES = ("east", "north", "south", "west", "coast", "hill")
DOMAIN = IntegerDomain(200, 2**20)


class MaskedParties(Recorded):
    """Silos in one session. Equal ones draw equal keys, seeds and masks, whatever the silos contribute."""

    SCHEME: ClassVar[SecureSum]

    def __init__(
        self, count: int = 4, *, domain: IntegerDomain = DOMAIN, vectors: NDArray[np.int64] | None = None
    ) -> None:
        names = NAMES[:count]
        given = drawn_vectors(names, domain) if vectors is None else dict(zip(names, vectors, strict=True))
        super().__init__(self.SCHEME, given, domain, quorum=2)

    @property
    def ring(self) -> WordRing:
        """The words that are summed."""
        return ring_for(self.session.domain, len(self.roster))

    def public(self, silo: str) -> bytes:
        """The silo's key for what is sealed to it, as it advertised it."""
        return decode(masked_pb2.Advertisement, self.body_said(0, silo)).keys[0]

    def memory(self, number: int, silo: str) -> masked_pb2.MaskedSiloState:
        """What the silo kept after a round."""
        return decode(masked_pb2.MaskedSiloState, self.states[number][silo])

    def channel(self, silo: str) -> ChannelKey:
        """The silo's own key, from what it kept."""
        return ChannelKey(self.memory(0, silo).channel_key)

    def opened(self, sender: str, receiver: str, sealed: bytes) -> bytes:
        """What `sender` sealed for `receiver`, opened with the receiver's own key."""
        context = sealed_share_context(self.session, sender, receiver)
        return self.channel(receiver).unseal(self.public(sender), sealed, context)
