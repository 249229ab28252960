"""One silo's part of a sum under one key, whatever the cipher.

It cannot check what it decrypts, and does not hear what the other silos were given. That is why the scheme's `exposure`
assumes that the aggregator does not lie.
"""

from collections.abc import Mapping

import numpy as np

from siloseal.federation.errors import SealBroken, WrongRound
from siloseal.federation.randomness import Randomness
from siloseal.federation.records.identity import Identity
from siloseal.federation.sums.masked.advertisement import advertise, check_advertisements
from siloseal.federation.sums.one_key.cipher import Cipher, Key
from siloseal.federation.sums.one_key.statements import Round, digest_of, leader, opening_statement, sealed_key_context
from siloseal.federation.sums.rounds import SiloRounds, Step, read_pieces, require_empty, require_mine
from siloseal.federation.sums.sealing import ChannelKey
from siloseal.federation.sums.session import Session, Vector
from siloseal.federation.transport.wire import one_key_pb2 as pb
from siloseal.federation.transport.wire import sums_pb2
from siloseal.federation.transport.wire.codec import decode, to_array


class OneKeySilo(SiloRounds):
    """One silo's part. It holds the key from the second or third round until it has opened."""

    def __init__(
        self, session: Session, me: Identity, contribution: Vector, randomness: Randomness, cipher: Cipher
    ) -> None:
        super().__init__(session, me)
        self._cipher, self._randomness = cipher, randomness
        self._vector: Vector = session.domain.check(contribution)
        self._channel: ChannelKey | None = None
        self._key: Key | None = None
        self._memory = pb.OneKeySiloState()

    @property
    def _steps(self) -> Mapping[int, Step]:
        """Steps of the rounds. Only the leader draws a key, and one silo at most is asked for the sum."""
        everyone: dict[int, Step] = {Round.UPLOAD: self._upload, Round.OPEN: self._open, Round.TELL: self._tell}
        if self._me.name == leader(self._session):
            return {Round.ADVERTISE: self._advertise, Round.DRAW_KEY: self._draw_key, **everyone}
        return {Round.ADVERTISE: self._advertise, **everyone}

    def state(self) -> bytes:
        memory = pb.OneKeySiloState()
        memory.CopyFrom(self._memory)
        memory.answered = self._answered
        if self._channel is not None:
            memory.channel_key = self._channel.private_bytes()
        if self._key is not None:
            memory.secret_key = self._key.private_bytes()
        return memory.SerializeToString()

    def restore(self, state: bytes) -> None:
        memory = decode(pb.OneKeySiloState, state)
        self._channel = ChannelKey(memory.channel_key) if memory.channel_key else None
        self._key = self._cipher.read_key(memory.secret_key) if memory.secret_key else None
        memory.channel_key = memory.secret_key = b""
        self._memory, self._answered = memory, memory.answered

    def _drop(self) -> None:
        self._forget_vector()
        self._channel = self._key = None
        self._memory = pb.OneKeySiloState()

    def _advertise(self, body: bytes) -> bytes:
        require_empty(body)
        self._channel = ChannelKey.draw(self._randomness)
        self._memory.advertisement = advertise(self._session, self._me, [self._channel.public])
        return self._memory.advertisement

    def _draw_key(self, body: bytes) -> bytes:
        """The leader seals the secret key to each of the others."""
        session, me, channel = self._session, self._me.name, self._own_channel()
        said = read_pieces(body, known=session.roster, fewest=session.quorum)
        require_mine(said, me, self._memory.advertisement)
        others = {silo: keys for silo, (keys,) in check_advertisements(session, said, keys=1).items() if silo != me}
        self._key = key = self._cipher.draw_key()
        sealed = [
            sums_pb2.Piece(silo=silo, data=channel.seal(public, key.private_bytes(), sealed_key_context(session, silo)))
            for silo, public in others.items()
        ]
        return pb.OneKeyHandout(public_key=key.public, sealed=sealed).SerializeToString()

    def _upload(self, body: bytes) -> bytes:
        """Unseal the key that the leader drew, and encrypt under it."""
        if self._me.name == leader(self._session):
            require_empty(body)
        else:
            self._key = self._unseal_key(decode(pb.SealedKey, body))
        ciphertext = self._own_key().encrypt(self._vector, self._randomness)
        self._forget_vector()
        self._channel = None
        self._memory.ClearField("advertisement")
        return ciphertext

    def _open(self, body: bytes) -> bytes:
        """Decrypt what the aggregator says is the sum, once. Nothing shows whether it is."""
        opened = self._own_key().decrypt(body)
        self._key = None
        self._memory.opened.CopyFrom(to_array(opened))
        digest = digest_of(self._memory.opened.data)
        signature = self._me.sign(opening_statement(self._session, body, digest))
        return pb.OneKeyOpening(digest=digest, signature=signature).SerializeToString()

    def _tell(self, body: bytes) -> bytes:
        require_empty(body)
        opened = self._memory.opened.SerializeToString()
        self._drop()
        return opened

    def _unseal_key(self, message: pb.SealedKey) -> Key:
        first = leader(self._session)
        ((public,),) = check_advertisements(self._session, {first: message.advertisement}, keys=1).values()
        private = self._own_channel().unseal(public, message.sealed, sealed_key_context(self._session, self._me.name))
        if len(private) > self._cipher.key_bytes:
            raise SealBroken(f"{first} sealed {len(private)} bytes as a key, at most {self._cipher.key_bytes} are one")
        return self._cipher.read_key(private)

    def _forget_vector(self) -> None:
        self._vector = np.zeros(0)

    def _own_channel(self) -> ChannelKey:
        if self._channel is None:
            raise WrongRound("this silo's channel key for the session is gone; the session cannot go on with it")
        return self._channel

    def _own_key(self) -> Key:
        if self._key is None:
            raise WrongRound("the key of the session is gone from this silo; the session cannot go on with it")
        return self._key
