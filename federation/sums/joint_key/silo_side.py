"""One silo's part: it joins the key itself, signs what it says, and opens only a sum that it has re-added itself.

Every check that protects the silo runs here, raises a typed error and ends the session. The state between rounds is one
message, `JointKeySiloState`, so that a silo that was killed takes the session up where its last reply left it.
"""

from collections.abc import Mapping

import numpy as np

from siloseal.federation.errors import WrongContributors, WrongRound
from siloseal.federation.randomness import Randomness
from siloseal.federation.records.identity import Identity
from siloseal.federation.sums.joint_key.encryption import encrypt
from siloseal.federation.sums.joint_key.keys import SecretShare, common_polynomial, seed_digest
from siloseal.federation.sums.joint_key.moduli import ring_of
from siloseal.federation.sums.joint_key.parameters import Parameters
from siloseal.federation.sums.joint_key.seed_shares import seal_shares, unseal_share
from siloseal.federation.sums.joint_key.statements import (
    check_ciphertext_commitments,
    check_key_commitments,
    check_key_shares,
    check_silence,
    check_silence_signatures,
    require_half,
    sign_ciphertext,
    sign_contributors,
    sign_key_commitment,
    sign_key_share,
    sign_silence,
)
from siloseal.federation.sums.joint_key.wire import add_bytes, require_polynomials, to_bytes
from siloseal.federation.sums.rlwe.values import to_values
from siloseal.federation.sums.rounds import SiloRounds, Step, pieces, read_pieces, require_empty, require_mine
from siloseal.federation.sums.sealing import ChannelKey
from siloseal.federation.sums.session import Session, Vector
from siloseal.federation.transport.wire import joint_key_pb2 as pb
from siloseal.federation.transport.wire import sums_pb2
from siloseal.federation.transport.wire.codec import decode


class JointKeySilo(SiloRounds):
    """One silo's side. See the module's text."""

    def __init__(
        self,
        session: Session,
        me: Identity,
        contribution: Vector,
        randomness: Randomness,
        *,
        parameters: Parameters,
        precision_bits: int,
        threshold: int,
    ) -> None:
        super().__init__(session, me)
        self._randomness = randomness
        self._parameters, self._threshold = parameters, threshold
        self._fewest = max(threshold, session.quorum)
        self._values = to_values(session.domain, session.domain.check(contribution), precision_bits)
        self._secret: SecretShare | None = None
        self._channel: ChannelKey | None = None
        self._memory = pb.JointKeySiloState()

    @property
    def _steps(self) -> Mapping[int, Step]:
        rounds = (
            self._commit_key, self._reveal_key, self._commit_ciphertext, self._upload,
            self._open, self._confirm, self._recover,
        )  # fmt: skip
        return dict(enumerate(rounds))

    def _drop(self) -> None:
        self._values = np.zeros(0, dtype=np.int64)
        self._secret = self._channel = None
        self._memory = pb.JointKeySiloState()

    def state(self) -> bytes:
        """Return what the silo keeps for after a crash: its key until the opening, then shares of its peers' keys."""
        memory = pb.JointKeySiloState()
        memory.CopyFrom(self._memory)
        memory.round = self._answered
        if self._secret is not None and not self._secret.spent:
            memory.seed = self._secret.seed
        if self._channel is not None:
            memory.channel_key = self._channel.private_bytes()
        return memory.SerializeToString()

    def restore(self, state: bytes) -> None:
        """Take up a session where `state` left it."""
        memory = decode(pb.JointKeySiloState, state)
        self._secret = SecretShare(memory.seed) if memory.seed else None
        self._channel = ChannelKey(memory.channel_key) if memory.channel_key else None
        memory.seed = memory.channel_key = b""
        self._memory, self._answered = memory, memory.round

    def _commit_key(self, body: bytes) -> bytes:
        require_empty(body)
        self._secret, self._channel = SecretShare.draw(self._randomness), ChannelKey.draw(self._randomness)
        common = common_polynomial(self._session, self._parameters)
        public = self._secret.public_share(self._parameters, common, self._randomness)
        share = pb.KeyShare(polynomials=to_bytes(public), seed_digest=seed_digest(self._secret.seed))
        self._memory.share.CopyFrom(share)
        committed = sign_key_commitment(self._session, self._me, self._channel.public, share)
        self._memory.commitments.add(silo=self._me.name, data=committed.SerializeToString())
        return self._memory.commitments[0].data

    def _reveal_key(self, body: bytes) -> bytes:
        said = read_pieces(body, known=self._session.roster, fewest=self._fewest)
        require_mine(said, self._me.name, self._memory.commitments[0].data)
        commitments = check_key_commitments(self._session, said)
        share = pb.KeyShare()
        share.CopyFrom(self._memory.share)
        sign_key_share(self._session, self._me, said, share)
        secret, channel = self._alive()
        sealed = seal_shares(
            self._session, self._me.name, channel, secret.seed, commitments, self._threshold, self._randomness
        )
        self._memory.ClearField("share")
        self._memory.ClearField("commitments")
        self._memory.commitments.extend(sums_pb2.Piece(silo=silo, data=said[silo]) for silo in sorted(said))
        return pb.KeyReveal(share=share, sealed=sealed).SerializeToString()

    def _commit_ciphertext(self, body: bytes) -> bytes:
        commitments = {piece.silo: piece.data for piece in self._memory.commitments}
        said = read_pieces(body, known=commitments, fewest=self._fewest)
        reveals = {silo: decode(pb.KeyReveal, data) for silo, data in said.items()}
        if self._me.name not in reveals:
            raise WrongContributors(f"{self._me.name} is left out of the joint key, although it revealed its share")
        shares = {silo: reveal.share for silo, reveal in reveals.items()}
        self._memory.joint_key_digest = check_key_shares(self._session, commitments, shares)
        self._memory.shamir.extend(
            sums_pb2.Piece(silo=silo, data=self._unseal(silo, reveal, commitments[silo]))
            for silo, reveal in reveals.items()
            if silo != self._me.name
        )
        ring, parameters = ring_of(self._parameters.degree), self._parameters
        joint_key = np.zeros((parameters.keys, len(ring.primes), ring.degree), dtype=np.uint64)
        for share in shares.values():
            add_bytes(ring, joint_key, require_polynomials(ring, share.polynomials, parameters.keys))
        common = common_polynomial(self._session, parameters)
        ciphertext = encrypt(parameters, joint_key, common, self._values, self._randomness)
        self._values = np.zeros(0, dtype=np.int64)  # nothing needs the contribution any more
        self._memory.ciphertext.CopyFrom(ciphertext)
        committed = sign_ciphertext(self._session, self._me, self._memory.joint_key_digest, ciphertext)
        self._memory.ciphertexts.add(silo=self._me.name, data=committed.SerializeToString())
        return self._memory.ciphertexts[0].data

    def _upload(self, body: bytes) -> bytes:
        said = read_pieces(body, known=self._key_holders(), fewest=self._fewest)
        require_mine(said, self._me.name, self._memory.ciphertexts[0].data)
        check_ciphertext_commitments(self._session, self._memory.joint_key_digest, said)
        upload = self._memory.ciphertext.SerializeToString()
        self._memory.ClearField("ciphertext")
        self._memory.ClearField("ciphertexts")
        self._memory.ciphertexts.extend(sums_pb2.Piece(silo=silo, data=said[silo]) for silo in sorted(said))
        return upload

    def _open(self, body: bytes) -> bytes:
        """Re-add the c1 halves of the contributors, each checked against what its silo signed, and open that."""
        committed = {piece.silo: decode(pb.CiphertextCommitment, piece.data) for piece in self._memory.ciphertexts}
        halves = read_pieces(body, known=committed, fewest=self._fewest)
        if self._me.name not in halves:
            raise WrongContributors(
                f"{self._me.name} uploaded, but is left out of the sum; it opens no sum without itself"
            )
        ring = ring_of(self._parameters.degree)
        total = np.zeros((self._parameters.groups, len(ring.primes), ring.degree), dtype=np.uint64)
        for silo, half in halves.items():
            require_half(self._session, silo, half, committed[silo].c1_digest)
            add_bytes(ring, total, require_polynomials(ring, half, self._parameters.groups))
        self._memory.contributors.extend(sorted(halves))
        secret, _ = self._alive()
        opened = secret.partial_decrypt(self._parameters, total, self._randomness)
        self._secret = self._channel = None
        signature = sign_contributors(self._session, self._me, self._contributors())
        return pb.JointKeyOpening(polynomials=to_bytes(opened), signature=signature).SerializeToString()

    def _confirm(self, body: bytes) -> bytes:
        """Sign who is silent, once: all but those who opened the same sum. Nothing is revealed yet."""
        silence = decode(pb.JointKeySilence, body)
        missing = check_silence(self._session, silence, self._contributors(), self._key_holders(), self._threshold)
        if self._me.name in missing:
            raise WrongContributors(f"{self._me.name} is said to be silent, but it has opened")
        self._memory.missing.extend(missing)
        return sign_silence(self._session, self._me, missing)

    def _recover(self, body: bytes) -> bytes:
        """Reveal shares of the seeds of the silent silos, once t silos have confirmed the same list of them.

        Two lists would need 2 t signatures, and each silo signs one: with fewer than 2 t - n silos on its side, an
        aggregator gets the seeds of one list, n - t at most, and never all of them.
        """
        said = read_pieces(body, known=self._key_holders() - set(self._memory.missing), fewest=self._threshold)
        check_silence_signatures(self._session, said, self._memory.missing)
        held = {piece.silo: piece.data for piece in self._memory.shamir}
        self._memory.ClearField("shamir")
        return pieces({silo: held[silo] for silo in self._memory.missing})

    def _contributors(self) -> dict[str, bytes]:
        """Commitments to the ciphertexts whose sum this silo opens."""
        chosen = set(self._memory.contributors)
        return {piece.silo: piece.data for piece in self._memory.ciphertexts if piece.silo in chosen}

    def _alive(self) -> tuple[SecretShare, ChannelKey]:
        if self._secret is None or self._channel is None:
            raise WrongRound("this silo's key for the session is gone; the session cannot go on with it")
        return self._secret, self._channel

    def _key_holders(self) -> set[str]:
        return {self._me.name, *(piece.silo for piece in self._memory.shamir)}

    def _unseal(self, sender: str, reveal: pb.KeyReveal, commitment: bytes) -> bytes:
        sender_key = decode(pb.KeyCommitment, commitment).channel_key
        return unseal_share(self._session, self._me.name, self._alive()[1], sender, sender_key, reveal)
