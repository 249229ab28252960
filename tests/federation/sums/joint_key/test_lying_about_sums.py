"""Lies about ciphertexts, sums and silent silos: every one is refused by the silo itself, with an error of its own."""

from collections.abc import Callable

import pytest

from siloseal.federation.errors import (
    CommitmentBroken,
    MessageError,
    ProtocolError,
    QuorumLost,
    SessionMismatch,
    SignatureInvalid,
    WrongContributors,
    WrongRound,
)
from siloseal.federation.sums.joint_key.statements import COMMIT_KEY, CONFIRM, OPEN, RECOVER, UPLOAD
from siloseal.federation.transport.wire import joint_key_pb2 as pb
from siloseal.federation.transport.wire import sums_pb2
from siloseal.federation.transport.wire.codec import decode, unwrap, wrap

from .lies import FULL, Table, TableOf, altered, doubled, lie, piece_of, refused, renamed, swapped, without


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
        strange = decode(sums_pb2.Pieces, unwrap(other.session, round=2 * UPLOAD, data=other.run(rounds=3)["east"]))

        def replay(pieces: sums_pb2.Pieces) -> None:
            piece_of(pieces, "north").data = piece_of(strange, "north").data

        refused(table, SignatureInvalid, UPLOAD, replay)

    def test_another_upload_than_ours_as_ours_is_refused(self, table: Table) -> None:
        def replace(pieces: sums_pb2.Pieces) -> None:
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
        def substitute(pieces: sums_pb2.Pieces) -> None:
            half = piece_of(pieces, "north")
            half.data = bytes(15) + half.data[15:]

        refused(table, CommitmentBroken, OPEN, substitute)

    @pytest.mark.parametrize("cut", [1, 15, 100])
    def test_a_truncated_ciphertext_is_not_opened(self, table: Table, cut: int) -> None:
        def truncate(pieces: sums_pb2.Pieces) -> None:
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
        """Each partial decryption is of another ciphertext then: they do not fit together, whoever adds them up."""
        table = table_of(6, threshold=4, quorum=4)
        with pytest.raises(ProtocolError, match="not a sum"):
            table.run(to_silo=lie(table, OPEN, "east", without("hill")), checked=False)

    def test_a_silo_opens_once(self, table: Table) -> None:
        asked = table.run(rounds=4)
        table.silos["east"].answer(asked["east"])
        with pytest.raises(WrongRound):
            table.silos["east"].answer(asked["east"])
        decoded = decode(sums_pb2.Pieces, unwrap(table.session, round=8, data=asked["east"]))
        without("north")(decoded)
        with pytest.raises(WrongRound):
            table.silos["east"].answer(wrap(table.session, round=8, body=decoded.SerializeToString()))


class TestSilentSilos:
    """Four silos, three enough: `north` is silent from the opening on."""

    @pytest.mark.parametrize(
        "missing", [["east"], ["north", "west"], ["mallory"], ["north", "north"], []],
        ids=["itself", "one who opened", "a stranger", "twice", "nobody"],
    )  # fmt: skip
    def test_only_those_who_did_not_open_are_confirmed_to_be_silent(self, table: Table, missing: list[str]) -> None:
        def change(silence: pb.JointKeySilence) -> None:
            silence.missing[:] = missing

        refused(table, WrongContributors, CONFIRM, change, pb.JointKeySilence)

    def test_a_silo_that_opened_is_not_called_silent_by_hiding_its_signature(self, table: Table) -> None:
        """Three signatures are needed, and three opened."""

        def change(silence: pb.JointKeySilence) -> None:
            silence.missing[:] = ["north", "west"]
            del silence.opened[-1]

        refused(table, QuorumLost, CONFIRM, change, pb.JointKeySilence)

    def test_a_silo_does_not_confirm_its_own_silence(self, table_of: TableOf) -> None:
        table = table_of(6, threshold=4, quorum=4)
        asked = table.run(rounds=CONFIRM, silent={"north": OPEN})["east"]

        def change(silence: pb.JointKeySilence) -> None:
            silence.missing[:] = ["east", "north"]
            del silence.opened[[piece.silo for piece in silence.opened].index("east")]

        with pytest.raises(WrongContributors, match="it has opened"):
            table.silos["east"].answer(lie(table, CONFIRM, "east", change, pb.JointKeySilence)(CONFIRM, "east", asked))

    def test_signatures_of_another_set_of_contributors_are_refused(self, table_of: TableOf) -> None:
        """`west` was made to open a sum without `hill`: its signature shows it, and nothing is recovered."""
        table = table_of(6, threshold=4, quorum=4)
        told = lie(table, OPEN, "west", without("hill"))
        asked = table.run(rounds=CONFIRM, silent={"north": OPEN}, to_silo=told, checked=False)["east"]
        with pytest.raises(SignatureInvalid):
            table.silos["east"].answer(asked)

    def test_shares_are_revealed_only_when_t_silos_confirmed_the_same_silence(self, table: Table) -> None:
        refused(table, QuorumLost, RECOVER, without("west"))

    def test_a_confirmation_of_another_list_is_refused(self, table: Table) -> None:
        identity, session = table.identities["west"], table.session

        def replace(pieces: sums_pb2.Pieces) -> None:
            piece_of(pieces, "west").data = identity.sign(session.bind("confirm", b"west", b"south"))

        refused(table, SignatureInvalid, RECOVER, replace)

    def test_a_silent_silo_confirms_nothing(self, table: Table) -> None:
        def rename(pieces: sums_pb2.Pieces) -> None:
            piece_of(pieces, "west").silo = "north"

        refused(table, WrongContributors, RECOVER, rename)

    def test_shares_are_revealed_once(self, table: Table) -> None:
        asked = table.run(silent={"north": OPEN}, rounds=RECOVER)
        table.silos["east"].answer(asked["east"])
        with pytest.raises(WrongRound, match="has ended"):
            table.silos["east"].answer(asked["east"])

    @pytest.mark.parametrize("round", [CONFIRM, RECOVER])
    def test_no_share_is_revealed_before_the_silo_has_opened(self, table: Table, round: int) -> None:
        table.run(rounds=OPEN)
        with pytest.raises(WrongRound):
            table.silos["east"].answer(wrap(table.session, round=2 * round, body=b""))


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
            silo.restore(pb.JointKeySiloState(round=expected).SerializeToString())
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
