"""An aggregator, or a silo, that lies: every lie is refused by the silo itself, with an error of its own."""

from collections.abc import Callable
from typing import Any

import pytest

from federation.ckks.statements import COMMIT_CIPHERTEXT, COMMIT_KEY, OPEN, RECOVER, REVEAL_KEY, UPLOAD
from federation.errors import (
    CommitmentBroken,
    MessageError,
    ProtocolError,
    QuorumLost,
    SealBroken,
    SessionMismatch,
    SignatureInvalid,
    WrongContributors,
    WrongRound,
)
from federation.wire import messages_pb2 as pb
from federation.wire.codec import decode, unwrap, wrap

Table = Any  # of conftest.py
TableOf = Callable[..., Any]
Change = Callable[[Any], None]

FULL = range(6)


def lie(table: Table, round: int, victim: str, change: Change, kind: type = pb.Pieces) -> Callable[..., bytes]:
    """Carries messages, but changes the one to `victim` in this round."""

    def carry(number: int, silo: str, message: bytes) -> bytes:
        if (number, silo) != (round, victim):
            return message
        body = decode(kind, unwrap(table.session, round=2 * round, data=message))
        change(body)
        return wrap(table.session, round=2 * round, body=body.SerializeToString())

    return carry


def piece_of(pieces: pb.Pieces, silo: str) -> pb.Piece:
    return next(piece for piece in pieces.pieces if piece.silo == silo)


def refused(table: Table, error: type[ProtocolError], round: int, change: Change, kind: type = pb.Pieces) -> None:
    """`east` refuses the changed message, and answers nothing more in the session."""
    right = dict[str, bytes]()

    def keep(number: int, silo: str, message: bytes) -> bytes:
        if (number, silo) == (round, "east"):
            right["message"] = message
        return lie(table, round, "east", change, kind)(number, silo, message)

    silent = {"north": OPEN} if round == RECOVER else {}
    with pytest.raises(error):
        table.run(to_silo=keep, silent=silent)
    with pytest.raises(WrongRound):
        table.silos["east"].answer(right["message"])


def altered(kind: type, field: str, at: int = 5) -> Change:
    """Flips one bit in a field of what `north` is said to have said."""

    def change(pieces: pb.Pieces) -> None:
        piece = piece_of(pieces, "north")
        said = decode(kind, piece.data)
        holder, name = (said.share, field.removeprefix("share.")) if field.startswith("share.") else (said, field)
        value = bytearray(getattr(holder, name))
        value[at] ^= 1
        setattr(holder, name, bytes(value))
        piece.data = said.SerializeToString()

    return change


def doubled(pieces: pb.Pieces) -> None:
    pieces.pieces.append(piece_of(pieces, "north"))


def without(*silos: str) -> Change:
    def change(pieces: pb.Pieces) -> None:
        kept = [piece for piece in pieces.pieces if piece.silo not in silos]
        del pieces.pieces[:]
        pieces.pieces.extend(kept)

    return change


def renamed(pieces: pb.Pieces) -> None:
    piece_of(pieces, "north").silo = "mallory"


def swapped(pieces: pb.Pieces) -> None:
    north, west = piece_of(pieces, "north"), piece_of(pieces, "west")
    north.data, west.data = west.data, north.data


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

        def copy(pieces: pb.Pieces) -> None:
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
        def tamper(pieces: pb.Pieces) -> None:
            said = decode(pb.KeyReveal, piece_of(pieces, "north").data)
            letter = next(sealed for sealed in said.sealed if sealed.silo == "east")
            letter.data = letter.data[:-1] + bytes([letter.data[-1] ^ 1])
            piece_of(pieces, "north").data = said.SerializeToString()

        refused(table, SealBroken, COMMIT_CIPHERTEXT, tamper)

    def test_a_letter_sealed_for_another_silo_is_refused(self, table: Table) -> None:
        def redirect(pieces: pb.Pieces) -> None:
            said = decode(pb.KeyReveal, piece_of(pieces, "north").data)
            letters = {sealed.silo: sealed for sealed in said.sealed}
            letters["east"].data = letters["west"].data
            piece_of(pieces, "north").data = said.SerializeToString()

        refused(table, SealBroken, COMMIT_CIPHERTEXT, redirect)

    def test_a_missing_letter_is_refused(self, table: Table) -> None:
        def remove(pieces: pb.Pieces) -> None:
            said = decode(pb.KeyReveal, piece_of(pieces, "north").data)
            del said.sealed[:]
            piece_of(pieces, "north").data = said.SerializeToString()

        refused(table, SealBroken, COMMIT_CIPHERTEXT, remove)

    def test_no_seed_and_no_share_of_it_is_in_what_the_aggregator_hears(self, table: Table) -> None:
        heard = list[bytes]()
        secrets = list[bytes]()

        def listen(number: int, silo: str, reply: bytes) -> bytes:
            heard.append(reply)
            memory = decode(pb.CkksSiloState, table.silos[silo].state())
            secrets.extend([memory.seed, memory.channel_key] if memory.seed else [])
            secrets.extend(piece.data for piece in memory.shamir)
            return reply

        table.run(from_silo=listen)
        assert len(set(secrets)) == 4 * 2 + 4 * 3
        assert not any(secret in reply for secret in secrets for reply in heard)


class TestCiphertexts:
    @pytest.mark.parametrize("field", ["signature", "c0_digest", "c1_digest"])
    def test_a_ciphertext_commitment_that_its_silo_did_not_sign_is_refused(self, table: Table, field: str) -> None:
        refused(table, SignatureInvalid, UPLOAD, altered(pb.CiphertextCommitment, field))

    def test_a_commitment_of_another_session_is_refused(self, table_of: TableOf) -> None:
        """The same silos, the same keys, another session: the signature does not hold here."""
        table, other = table_of(4, id=1), table_of(4, id=2)
        other.identities = table.identities
        other.session = other.session_of(2)
        other.silos = {name: other.silo(name) for name in other.roster}
        other.side = other.scheme.aggregator(other.session)
        strange = decode(pb.Pieces, unwrap(other.session, round=2 * UPLOAD, data=other.run(rounds=3)["east"]))

        def replay(pieces: pb.Pieces) -> None:
            piece_of(pieces, "north").data = piece_of(strange, "north").data

        refused(table, SignatureInvalid, UPLOAD, replay)

    def test_another_upload_than_ours_as_ours_is_refused(self, table: Table) -> None:
        def replace(pieces: pb.Pieces) -> None:
            piece_of(pieces, "east").data = piece_of(pieces, "north").data

        refused(table, CommitmentBroken, UPLOAD, replace)

    @pytest.mark.parametrize("half", ["c0", "c1"])
    def test_an_upload_that_is_not_the_one_committed_to_is_refused_by_the_aggregator(
        self, table: Table, half: str
    ) -> None:
        def replace(number: int, silo: str, reply: bytes) -> bytes:
            if (number, silo) != (UPLOAD, "north"):
                return reply
            upload = decode(pb.CiphertextUpload, unwrap(table.session, round=7, data=reply))
            setattr(upload, half, bytes(15) + getattr(upload, half)[15:])
            return wrap(table.session, round=7, body=upload.SerializeToString())

        with pytest.raises(CommitmentBroken):
            table.run(from_silo=replace)


class TestOpening:
    def test_a_substituted_ciphertext_is_not_opened(self, table: Table) -> None:
        def substitute(pieces: pb.Pieces) -> None:
            half = piece_of(pieces, "north")
            half.data = bytes(15) + half.data[15:]

        refused(table, CommitmentBroken, OPEN, substitute)

    @pytest.mark.parametrize("cut", [1, 15, 100])
    def test_a_truncated_ciphertext_is_not_opened(self, table: Table, cut: int) -> None:
        def truncate(pieces: pb.Pieces) -> None:
            piece_of(pieces, "north").data = piece_of(pieces, "north").data[:-cut]

        refused(table, CommitmentBroken, OPEN, truncate)

    def test_a_sum_that_leaves_out_the_silo_itself_is_not_opened(self, table: Table) -> None:
        refused(table, WrongContributors, OPEN, without("east"))

    def test_a_doubled_contributor_is_refused(self, table: Table) -> None:
        refused(table, WrongContributors, OPEN, doubled)

    def test_a_stranger_among_the_contributors_is_refused(self, table: Table) -> None:
        refused(table, WrongContributors, OPEN, renamed)

    def test_swapped_ciphertexts_are_refused(self, table: Table) -> None:
        refused(table, CommitmentBroken, OPEN, swapped)

    @pytest.mark.parametrize("victim", ["north", "east"])
    def test_an_aggregator_that_asks_to_open_one_upload_alone_gets_nothing(self, table: Table, victim: str) -> None:
        others = set(table.roster) - {victim}
        refused(table, QuorumLost, OPEN, without(*others))

    def test_fewer_contributors_than_the_quorum_are_not_opened(self, table: Table) -> None:
        refused(table, QuorumLost, OPEN, without("north", "west"))

    def test_silos_that_were_told_different_contributors_open_nothing(self, table_of: TableOf) -> None:
        """Each partial decryption is of another ciphertext then, and they do not fit together."""
        table = table_of(6, threshold=4, quorum=4)
        with pytest.raises(ProtocolError, match="not a sum"):
            table.run(to_silo=lie(table, OPEN, "east", without("hill")))

    def test_a_silo_opens_once(self, table: Table) -> None:
        asked = table.run(rounds=4)
        table.silos["east"].answer(asked["east"])
        with pytest.raises(WrongRound):
            table.silos["east"].answer(asked["east"])
        decoded = decode(pb.Pieces, unwrap(table.session, round=8, data=asked["east"]))
        without("north")(decoded)
        with pytest.raises(WrongRound):
            table.silos["east"].answer(wrap(table.session, round=8, body=decoded.SerializeToString()))


class TestRecovery:
    @pytest.mark.parametrize(
        ("missing", "error"),
        [
            (["east"], WrongContributors),
            (["north", "north"], WrongContributors),
            (["mallory"], WrongContributors),
            (["north", "west"], WrongContributors),
            ([], QuorumLost),
        ],
        ids=["itself", "twice", "a stranger", "more than n - t", "nobody"],
    )
    def test_shares_are_revealed_of_few_silent_peers_only(
        self, table: Table, missing: list[str], error: type[ProtocolError]
    ) -> None:
        def change(recovery: pb.CkksRecovery) -> None:
            recovery.missing[:] = missing

        refused(table, error, RECOVER, change, pb.CkksRecovery)

    def test_shares_are_revealed_once(self, table: Table) -> None:
        asked = table.run(silent={"north": OPEN}, rounds=5)
        table.silos["east"].answer(asked["east"])
        with pytest.raises(WrongRound):
            table.silos["east"].answer(asked["east"])

    def test_no_share_is_revealed_before_the_silo_has_opened(self, table: Table) -> None:
        table.run(rounds=3)
        recovery = pb.CkksRecovery(missing=["north"]).SerializeToString()
        with pytest.raises(WrongRound):
            table.silos["east"].answer(wrap(table.session, round=2 * RECOVER, body=recovery))


class TestOrder:
    def test_every_round_but_the_next_is_refused(self, table: Table) -> None:
        messages = list[bytes]()
        table.run(
            silent={"north": OPEN},
            to_silo=lambda number, silo, message: messages.append(message) or message if silo == "east" else message,
        )
        assert len(messages) == len(FULL)
        for expected in FULL:
            silo = table.silo("east")
            silo.restore(pb.CkksSiloState(round=expected).SerializeToString())
            for sent in set(FULL) - {expected}:
                with pytest.raises(WrongRound):
                    silo.answer(messages[sent])

    @pytest.mark.parametrize("damage", [lambda m: m[:-1], lambda m: b"\xff" + m, lambda m: b""])
    def test_a_damaged_message_is_refused_in_every_round(self, table: Table, damage: Callable[[bytes], bytes]) -> None:
        refusals = list[int]()

        def try_damage(number: int, silo: str, message: bytes) -> bytes:
            if silo == "east":
                with pytest.raises((MessageError, SessionMismatch)):
                    table.silos["east"].answer(damage(message))
                refusals.append(number)
            return message

        table.run(silent={"north": OPEN}, to_silo=try_damage)  # bytes that are no message do not end the session
        assert refusals == list(FULL)

    def test_a_first_request_with_something_in_it_is_refused(self, table: Table) -> None:
        with pytest.raises(MessageError):
            table.silos["east"].answer(wrap(table.session, round=2 * COMMIT_KEY, body=b"x"))
