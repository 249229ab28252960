"""Lies about keys and sealed shares: every one is refused by the silo itself, with an error of its own."""

import pytest

from siloseal.federation.errors import CommitmentBroken, MessageError, SealBroken, SignatureInvalid, WrongContributors
from siloseal.federation.sums.joint_key.statements import COMMIT_CIPHERTEXT, REVEAL_KEY, UPLOAD
from siloseal.federation.transport.wire import joint_key_pb2 as pb
from siloseal.federation.transport.wire import sums_pb2
from siloseal.federation.transport.wire.codec import decode

from .lies import Table, TableOf, altered, lie, piece_of, refused, swapped, without


class TestKeys:
    def test_a_rogue_last_key_share_is_refused(self, table: Table) -> None:
        """The last to speak would choose the joint key, had it not committed before."""
        refused(table, CommitmentBroken, COMMIT_CIPHERTEXT, altered(pb.KeyReveal, "share.polynomials"))

    def test_another_seed_digest_than_committed_is_refused(self, table: Table) -> None:
        refused(table, CommitmentBroken, COMMIT_CIPHERTEXT, altered(pb.KeyReveal, "share.seed_digest"))

    @pytest.mark.parametrize("field", ["signature", "commitment", "channel_key"])
    def test_a_key_commitment_that_its_silo_did_not_sign_is_refused(self, table: Table, field: str) -> None:
        refused(table, SignatureInvalid, REVEAL_KEY, altered(pb.KeyCommitment, field))

    def test_a_key_share_with_a_wrong_signature_is_refused(self, table: Table) -> None:
        refused(table, SignatureInvalid, COMMIT_CIPHERTEXT, altered(pb.KeyReveal, "share.signature"))

    def test_another_silos_commitment_under_a_false_name_is_refused(self, table: Table) -> None:
        refused(table, SignatureInvalid, REVEAL_KEY, swapped)

    def test_another_commitment_as_ours_is_refused(self, table: Table) -> None:
        def replace(pieces: sums_pb2.Pieces) -> None:
            piece_of(pieces, "east").data = piece_of(pieces, "north").data

        refused(table, CommitmentBroken, REVEAL_KEY, replace)

    @pytest.mark.parametrize("round", [REVEAL_KEY, COMMIT_CIPHERTEXT, UPLOAD])
    def test_a_silo_that_is_left_out_ends_the_session(self, table: Table, round: int) -> None:
        refused(table, WrongContributors, round, without("east"))

    def test_silos_that_were_told_different_commitments_notice(self, table_of: TableOf) -> None:
        table = table_of(6, threshold=4, quorum=4)
        with pytest.raises(SignatureInvalid):
            table.run(to_silo=lie(table, REVEAL_KEY, "east", without("hill")))

    def test_silos_that_were_told_different_joint_keys_notice(self, table_of: TableOf) -> None:
        table = table_of(6, threshold=4, quorum=4)
        with pytest.raises(SignatureInvalid):
            table.run(to_silo=lie(table, COMMIT_CIPHERTEXT, "east", without("hill")))

    def test_a_copied_channel_key_is_refused(self, table: Table) -> None:
        """`north` signs the channel key of `west` as its own."""
        identity, session = table.identities["north"], table.session

        def copy(pieces: sums_pb2.Pieces) -> None:
            said = decode(pb.KeyCommitment, piece_of(pieces, "north").data)
            said.channel_key = decode(pb.KeyCommitment, piece_of(pieces, "west").data).channel_key
            said.signature = identity.sign(session.bind("commit_key", b"north", said.channel_key, said.commitment))
            piece_of(pieces, "north").data = said.SerializeToString()

        refused(table, WrongContributors, REVEAL_KEY, copy)

    def test_a_key_share_of_the_wrong_length_is_refused_although_committed_to(self, table: Table) -> None:
        for change in (lambda data: data[:-15], lambda data: data + bytes(15)):
            fresh = type(table)(4, quorum=3)
            north = fresh.silos["north"]
            honest = north._commit_key

            def commit(body: bytes, north=north, honest=honest, change=change, fresh=fresh) -> bytes:  # type: ignore[no-untyped-def]
                honest(body)
                memory = north._memory
                memory.share.polynomials = change(memory.share.polynomials)
                committed = decode(pb.KeyCommitment, memory.commitments[0].data)
                signed = fresh.session.bind("key share", b"north", memory.share.polynomials, memory.share.seed_digest)
                committed.commitment = signed
                committed.signature = fresh.identities["north"].sign(
                    fresh.session.bind("commit_key", b"north", committed.channel_key, signed)
                )
                memory.commitments[0].data = committed.SerializeToString()
                return bytes(memory.commitments[0].data)

            north._commit_key = commit
            with pytest.raises(MessageError, match="polynomials"):
                fresh.run()


class TestSealedShares:
    def test_a_tampered_sealed_share_is_refused(self, table: Table) -> None:
        def tamper(pieces: sums_pb2.Pieces) -> None:
            said = decode(pb.KeyReveal, piece_of(pieces, "north").data)
            letter = next(sealed for sealed in said.sealed if sealed.silo == "east")
            letter.data = letter.data[:-1] + bytes([letter.data[-1] ^ 1])
            piece_of(pieces, "north").data = said.SerializeToString()

        refused(table, SealBroken, COMMIT_CIPHERTEXT, tamper)

    def test_a_letter_sealed_for_another_silo_is_refused(self, table: Table) -> None:
        def redirect(pieces: sums_pb2.Pieces) -> None:
            said = decode(pb.KeyReveal, piece_of(pieces, "north").data)
            letters = {sealed.silo: sealed for sealed in said.sealed}
            letters["east"].data = letters["west"].data
            piece_of(pieces, "north").data = said.SerializeToString()

        refused(table, SealBroken, COMMIT_CIPHERTEXT, redirect)

    def test_a_missing_letter_is_refused(self, table: Table) -> None:
        def remove(pieces: sums_pb2.Pieces) -> None:
            said = decode(pb.KeyReveal, piece_of(pieces, "north").data)
            del said.sealed[:]
            piece_of(pieces, "north").data = said.SerializeToString()

        refused(table, SealBroken, COMMIT_CIPHERTEXT, remove)

    def test_no_seed_and_no_share_of_it_is_in_what_the_aggregator_hears(self, table: Table) -> None:
        heard = list[bytes]()
        secrets = list[bytes]()

        def listen(number: int, silo: str, reply: bytes) -> bytes:
            heard.append(reply)
            memory = decode(pb.JointKeySiloState, table.silos[silo].state())
            secrets.extend([memory.seed, memory.channel_key] if memory.seed else [])
            secrets.extend(piece.data for piece in memory.shamir)
            return reply

        table.run(from_silo=listen)
        assert len(set(secrets)) == 4 * 2 + 4 * 3
        assert not any(secret in reply for secret in secrets for reply in heard)
