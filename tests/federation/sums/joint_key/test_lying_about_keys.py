"""Lies about keys and sealed shares: every one is refused by the silo itself, with an error of its own."""

from collections.abc import Callable

import pytest

from siloseal.federation.errors import (
    CommitmentBroken,
    MessageError,
    ProtocolError,
    SealBroken,
    SignatureInvalid,
    WrongContributors,
)
from siloseal.federation.sums.joint_key.statements import Round
from siloseal.federation.transport.wire import joint_key_pb2, sums_pb2
from siloseal.federation.transport.wire.codec import decode

from .conftest import Parties
from .lies import altered, lie, piece_of, refused, swapped, without


class TestKeys:
    def test_a_rogue_last_key_share_is_refused(self, parties: Parties) -> None:
        """The last to speak would choose the joint key, had it not committed before."""
        refused(
            parties, CommitmentBroken, Round.COMMIT_CIPHERTEXT, altered(joint_key_pb2.KeyReveal, "share.polynomials")
        )

    def test_another_seed_digest_than_committed_is_refused(self, parties: Parties) -> None:
        refused(
            parties, CommitmentBroken, Round.COMMIT_CIPHERTEXT, altered(joint_key_pb2.KeyReveal, "share.seed_digest")
        )

    @pytest.mark.parametrize("field", ["signature", "commitment", "channel_key"])
    def test_a_key_commitment_that_its_silo_did_not_sign_is_refused(self, parties: Parties, field: str) -> None:
        refused(parties, SignatureInvalid, Round.REVEAL_KEY, altered(joint_key_pb2.KeyCommitment, field))

    def test_a_key_share_with_a_wrong_signature_is_refused(self, parties: Parties) -> None:
        refused(parties, SignatureInvalid, Round.COMMIT_CIPHERTEXT, altered(joint_key_pb2.KeyReveal, "share.signature"))

    def test_another_silos_commitment_under_a_false_name_is_refused(self, parties: Parties) -> None:
        refused(parties, SignatureInvalid, Round.REVEAL_KEY, swapped)

    def test_another_commitment_as_ours_is_refused(self, parties: Parties) -> None:
        def replace(pieces: sums_pb2.Pieces) -> None:
            piece_of(pieces, "east").data = piece_of(pieces, "north").data

        refused(parties, CommitmentBroken, Round.REVEAL_KEY, replace)

    @pytest.mark.parametrize("round", [Round.REVEAL_KEY, Round.COMMIT_CIPHERTEXT, Round.UPLOAD])
    def test_a_silo_that_is_left_out_ends_the_session(self, parties: Parties, round: int) -> None:
        refused(parties, WrongContributors, round, without("east"))

    def test_silos_that_were_told_different_commitments_notice(self, parties_of: Callable[..., Parties]) -> None:
        parties = parties_of(6, threshold=4, quorum=4)
        with pytest.raises(SignatureInvalid):
            parties.run(tell=lie(Round.REVEAL_KEY, "east", without("hill")))

    def test_silos_that_were_told_different_joint_keys_notice(self, parties_of: Callable[..., Parties]) -> None:
        parties = parties_of(6, threshold=4, quorum=4)
        with pytest.raises(SignatureInvalid):
            parties.run(tell=lie(Round.COMMIT_CIPHERTEXT, "east", without("hill")))

    @pytest.mark.parametrize(("top_bit", "error"), [(0, WrongContributors), (128, MessageError)])
    def test_a_copied_channel_key_is_refused(self, parties: Parties, top_bit: int, error: type[ProtocolError]) -> None:
        """`north` signs the channel key of `west` as its own, or the other bytes of the same point."""
        identity, session = parties.identities["north"], parties.session

        def copy(pieces: sums_pb2.Pieces) -> None:
            said = decode(joint_key_pb2.KeyCommitment, piece_of(pieces, "north").data)
            copied = decode(joint_key_pb2.KeyCommitment, piece_of(pieces, "west").data).channel_key
            said.channel_key = copied[:-1] + bytes([copied[-1] | top_bit])
            said.signature = identity.sign(session.bind("commit_key", b"north", said.channel_key, said.commitment))
            piece_of(pieces, "north").data = said.SerializeToString()

        refused(parties, error, Round.REVEAL_KEY, copy)

    def test_a_key_share_of_the_wrong_length_is_refused_although_committed_to(self, parties: Parties) -> None:
        for change in (lambda data: data[:-15], lambda data: data + bytes(15)):
            fresh = Parties(4, quorum=3)
            north = fresh.silos["north"]
            honest = north._commit_key

            def commit(body: bytes, north=north, honest=honest, change=change, fresh=fresh) -> bytes:  # type: ignore[no-untyped-def]
                honest(body)
                memory = north._memory
                memory.share.polynomials = change(memory.share.polynomials)
                committed = decode(joint_key_pb2.KeyCommitment, memory.commitments[0].data)
                signed = fresh.session.bind("key share", b"north", memory.share.polynomials, memory.share.seed_digest)
                committed.commitment = signed
                committed.signature = fresh.identities["north"].sign(
                    fresh.session.bind("commit_key", b"north", committed.channel_key, signed)
                )
                memory.commitments[0].data = committed.SerializeToString()
                return bytes(memory.commitments[0].data)

            north._commit_key = commit
            with pytest.raises(MessageError):
                fresh.run()


class TestSealedShares:
    def test_a_missing_one_is_refused(self, parties: Parties) -> None:
        def remove(pieces: sums_pb2.Pieces) -> None:
            said = decode(joint_key_pb2.KeyReveal, piece_of(pieces, "north").data)
            del said.sealed[:]
            piece_of(pieces, "north").data = said.SerializeToString()

        refused(parties, SealBroken, Round.COMMIT_CIPHERTEXT, remove)

    def test_no_seed_and_no_share_of_it_is_in_what_the_aggregator_hears(self, parties: Parties) -> None:
        heard = list[bytes]()
        secrets = list[bytes]()

        def listen(number: int, silo: str, body: bytes) -> bytes:
            heard.append(body)
            memory = decode(joint_key_pb2.JointKeySiloState, parties.silos[silo].state())
            secrets.extend([memory.seed, memory.channel_key] if memory.seed else [])
            secrets.extend(piece.data for piece in memory.shamir)
            return body

        parties.run(reply=listen)
        assert len(set(secrets)) == 4 * 2 + 4 * 3
        assert not any(secret in body for secret in secrets for body in heard)
