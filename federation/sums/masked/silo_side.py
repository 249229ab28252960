"""The silo's part that all masked sums share: it advertises keys, seals messages, and remembers where it stands.

The state between rounds is one message, `MaskedSiloState`, so that a silo that was killed takes the session up where
its last reply left it.
"""

from collections.abc import Iterable
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from siloseal.federation.errors import SealBroken, WrongRound
from siloseal.federation.randomness import Randomness
from siloseal.federation.records.identity import Identity
from siloseal.federation.secret import Secret
from siloseal.federation.sums.masked.advertisement import advertise, check_advertisements
from siloseal.federation.sums.masked.words import WordRing
from siloseal.federation.sums.rounds import SiloRounds, read_pieces, require_empty, require_mine
from siloseal.federation.sums.sealing import AgreementKey, ChannelKey
from siloseal.federation.sums.session import Session
from siloseal.federation.transport.wire import masked_pb2 as pb
from siloseal.federation.transport.wire import sums_pb2
from siloseal.federation.transport.wire.codec import decode

S = TypeVar("S", bound=Secret)


class MaskSeed(Secret):
    """The key of a mask that only its silo knows."""

    __slots__ = ("_seed",)

    def __init__(self, seed: bytes) -> None:
        self._seed = seed

    def private_bytes(self) -> bytes:
        """Return the seed, for the mask itself, for the silo's own state, and for shares of it."""
        return self._seed


class MaskedSilo(SiloRounds):
    """The part of a silo's side that does not depend on the scheme."""

    def __init__(
        self, session: Session, me: Identity, values: NDArray[np.int64], randomness: Randomness, ring: WordRing
    ) -> None:
        super().__init__(session, me)
        self._ring, self._randomness = ring, randomness
        self._words = ring.words(values)
        self._channel: ChannelKey | None = None
        self._mask_key: AgreementKey | None = None
        self._seed: MaskSeed | None = None
        self._memory = pb.MaskedSiloState()

    def state(self) -> bytes:
        memory = pb.MaskedSiloState()
        memory.CopyFrom(self._memory)
        memory.answered = self._answered
        if self._channel is not None:
            memory.channel_key = self._channel.private_bytes()
        if self._mask_key is not None:
            memory.mask_key = self._mask_key.private_bytes()
        if self._seed is not None:
            memory.seed = self._seed.private_bytes()
        return memory.SerializeToString()

    def restore(self, state: bytes) -> None:
        memory = decode(pb.MaskedSiloState, state)
        self._channel = ChannelKey(memory.channel_key) if memory.channel_key else None
        self._mask_key = AgreementKey(memory.mask_key) if memory.mask_key else None
        self._seed = MaskSeed(memory.seed) if memory.seed else None
        memory.channel_key = memory.mask_key = memory.seed = b""
        self._memory, self._answered = memory, memory.answered

    def _drop(self) -> None:
        self._forget_words()
        self._channel = self._mask_key = self._seed = None
        self._memory = pb.MaskedSiloState()

    def _advertise(self, body: bytes) -> bytes:
        """Draw the session's keys and advertise them: the first step of every masked sum."""
        require_empty(body)
        self._channel = ChannelKey.draw(self._randomness)
        keys = [self._channel.public]
        if self._mask_key is not None:
            keys.append(self._mask_key.public)
        said = advertise(self._session, self._me, keys)
        self._memory.advertised.add(silo=self._me.name, data=said)
        return said

    def _hear_keys(self, body: bytes, *, known: Iterable[str], fewest: int, keys: int) -> dict[str, tuple[bytes, ...]]:
        """Return the others' keys, and ours as we sent them; they are remembered."""
        said = read_pieces(body, known=known, fewest=fewest)
        require_mine(said, self._me.name, self._memory.advertised[0].data)
        advertised = check_advertisements(self._session, said, keys=keys)
        self._memory.ClearField("advertised")
        self._memory.advertised.extend(sums_pb2.Piece(silo=silo, data=said[silo]) for silo in sorted(said))
        return advertised

    def _known_keys(self) -> dict[str, tuple[bytes, ...]]:
        """Return the keys that `_hear_keys` has checked and remembered."""
        return {piece.silo: tuple(decode(pb.Advertisement, piece.data).keys) for piece in self._memory.advertised}

    def _seal(self, receiver: str, key: bytes, message: bytes) -> bytes:
        """Seal the message for the owner of this public key."""
        return self._own_channel().seal(key, message, sealed_share_context(self._session, self._me.name, receiver))

    def _unseal(self, sender: str, key: bytes, sealed: bytes, *, size: int) -> bytes:
        """Return the message that `sender` sealed for us, which must have this size."""
        context = sealed_share_context(self._session, sender, self._me.name)
        message = self._own_channel().unseal(key, sealed, context)
        if len(message) != size:
            raise SealBroken(f"{sender} sealed {len(message)} bytes for {self._me.name}, expected {size}")
        return message

    def _forget_words(self) -> None:
        self._words = self._ring.none()

    def _own_channel(self) -> ChannelKey:
        return _there(self._channel)

    def _own_mask_key(self) -> AgreementKey:
        return _there(self._mask_key)

    def _own_seed(self) -> bytes:
        return _there(self._seed).private_bytes()


def sealed_share_context(session: Session, sender: str, receiver: str) -> bytes:
    """Return the context in which one silo seals a share, a seed or a total for another."""
    return session.bind("sealed share", sender.encode(), receiver.encode())


def _there(secret: S | None) -> S:
    if secret is None:
        raise WrongRound("this silo's keys for the session are gone; the session cannot go on with it")
    return secret
