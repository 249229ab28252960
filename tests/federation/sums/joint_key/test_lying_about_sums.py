"""Lies about ciphertexts, sums and silent silos: every one is refused by the silo itself, with an error of its own."""

from collections.abc import Callable

import pytest

from siloseal.federation.errors import (
    CommitmentBroken,
    OpeningFailed,
    QuorumLost,
    SignatureInvalid,
    WrongContributors,
    WrongRound,
)
from siloseal.federation.sums.envelope import unwrap, wrap
from siloseal.federation.sums.joint_key.statements import Round
from siloseal.federation.transport.wire import joint_key_pb2, sums_pb2
from siloseal.federation.transport.wire.codec import decode

from .conftest import Parties
from .lies import altered, changed, doubled, lie, piece_of, refused, renamed, swapped, without

PartiesOf = Callable[..., Parties]


class TestCiphertexts:
    @pytest.mark.parametrize("field", ["signature", "c0_digest", "c1_digest"])
    def test_a_ciphertext_commitment_that_its_silo_did_not_sign_is_refused(self, parties: Parties, field: str) -> None:
        refused(parties, SignatureInvalid, Round.UPLOAD, altered(joint_key_pb2.CiphertextCommitment, field))

    def test_a_commitment_of_another_session_is_refused(self, parties_of: PartiesOf) -> None:
        """The same silos, the same keys, another session: the signature does not hold here."""
        parties, other = parties_of(4, id=1), parties_of(4, id=2)
        assert parties.session.identities == other.session.identities
        strange = decode(
            sums_pb2.Pieces, unwrap(other.session, round=2 * Round.UPLOAD, data=other.run_until(Round.UPLOAD)["east"])
        )

        def replay(pieces: sums_pb2.Pieces) -> None:
            piece_of(pieces, "north").data = piece_of(strange, "north").data

        refused(parties, SignatureInvalid, Round.UPLOAD, replay)

    def test_another_upload_than_ours_as_ours_is_refused(self, parties: Parties) -> None:
        def replace(pieces: sums_pb2.Pieces) -> None:
            piece_of(pieces, "east").data = piece_of(pieces, "north").data

        refused(parties, CommitmentBroken, Round.UPLOAD, replace)

    @pytest.mark.parametrize("half", ["c0", "c1"])
    def test_an_upload_that_is_not_the_one_committed_to_is_refused_by_the_aggregator(
        self, parties: Parties, half: str
    ) -> None:
        def replace(number: int, silo: str, body: bytes) -> bytes:
            if (number, silo) != (Round.UPLOAD, "north"):
                return body
            upload = decode(joint_key_pb2.CiphertextUpload, body)
            setattr(upload, half, bytes(15) + getattr(upload, half)[15:])
            return upload.SerializeToString()

        with pytest.raises(CommitmentBroken):
            parties.run(reply=replace)


class TestOpening:
    def test_a_substituted_ciphertext_is_not_opened(self, parties: Parties) -> None:
        def substitute(pieces: sums_pb2.Pieces) -> None:
            half = piece_of(pieces, "north")
            half.data = bytes(15) + half.data[15:]

        refused(parties, CommitmentBroken, Round.OPEN, substitute)

    @pytest.mark.parametrize("cut", [1, 15, 100])
    def test_a_truncated_ciphertext_is_not_opened(self, parties: Parties, cut: int) -> None:
        def truncate(pieces: sums_pb2.Pieces) -> None:
            piece_of(pieces, "north").data = piece_of(pieces, "north").data[:-cut]

        refused(parties, CommitmentBroken, Round.OPEN, truncate)

    def test_a_sum_that_leaves_out_the_silo_itself_is_not_opened(self, parties: Parties) -> None:
        refused(parties, WrongContributors, Round.OPEN, without("east"))

    def test_a_doubled_contributor_is_refused(self, parties: Parties) -> None:
        refused(parties, WrongContributors, Round.OPEN, doubled)

    def test_a_stranger_among_the_contributors_is_refused(self, parties: Parties) -> None:
        refused(parties, WrongContributors, Round.OPEN, renamed)

    def test_swapped_ciphertexts_are_refused(self, parties: Parties) -> None:
        refused(parties, CommitmentBroken, Round.OPEN, swapped)

    @pytest.mark.parametrize("victim", ["north", "east"])
    def test_an_aggregator_that_asks_to_open_one_upload_alone_gets_nothing(self, parties: Parties, victim: str) -> None:
        others = set(parties.roster) - {victim}
        refused(parties, QuorumLost, Round.OPEN, without(*others))

    def test_fewer_contributors_than_the_quorum_are_not_opened(self, parties: Parties) -> None:
        refused(parties, QuorumLost, Round.OPEN, without("north", "west"))

    def test_silos_that_were_told_different_contributors_open_nothing(self, parties_of: PartiesOf) -> None:
        """Each partial decryption is of another ciphertext then: they do not fit together, whoever adds them up."""
        parties = parties_of(6, threshold=4, quorum=4)
        with pytest.raises(OpeningFailed):
            parties.run(tell=lie(Round.OPEN, "east", without("hill")), checked=False)

    def test_a_silo_opens_once(self, parties: Parties) -> None:
        asked = parties.run_until(4)
        parties.silos["east"].answer(asked["east"])
        with pytest.raises(WrongRound):
            parties.silos["east"].answer(asked["east"])
        decoded = decode(sums_pb2.Pieces, unwrap(parties.session, round=8, data=asked["east"]))
        without("north")(decoded)
        with pytest.raises(WrongRound):
            parties.silos["east"].answer(wrap(parties.session, round=8, body=decoded.SerializeToString()))


class TestSilentSilos:
    """Four silos, three enough: `north` is silent from the opening on."""

    @pytest.mark.parametrize(
        "missing", [["east"], ["north", "west"], ["mallory"], ["north", "north"], []],
        ids=["itself", "one who opened", "a stranger", "twice", "nobody"],
    )  # fmt: skip
    def test_only_those_who_did_not_open_are_confirmed_to_be_silent(self, parties: Parties, missing: list[str]) -> None:
        def change(silence: joint_key_pb2.JointKeySilence) -> None:
            silence.missing[:] = missing

        refused(parties, WrongContributors, Round.CONFIRM, change, joint_key_pb2.JointKeySilence)

    def test_a_silo_that_opened_is_not_called_silent_by_hiding_its_signature(self, parties: Parties) -> None:
        """Three signatures are needed, and three opened."""

        def change(silence: joint_key_pb2.JointKeySilence) -> None:
            silence.missing[:] = ["north", "west"]
            del silence.opened[-1]

        refused(parties, QuorumLost, Round.CONFIRM, change, joint_key_pb2.JointKeySilence)

    def test_a_silo_does_not_confirm_its_own_silence(self, parties_of: PartiesOf) -> None:
        parties = parties_of(6, threshold=4, quorum=4)
        asked = parties.run_until(Round.CONFIRM, silent={"north": Round.OPEN})["east"]

        def change(silence: joint_key_pb2.JointKeySilence) -> None:
            silence.missing[:] = ["east", "north"]
            del silence.opened[[piece.silo for piece in silence.opened].index("east")]

        right = unwrap(parties.session, round=2 * Round.CONFIRM, data=asked)
        with pytest.raises(WrongContributors):
            parties.tell(Round.CONFIRM, "east", changed(right, change, joint_key_pb2.JointKeySilence))

    def test_signatures_of_another_set_of_contributors_are_refused(self, parties_of: PartiesOf) -> None:
        """`west` was made to open a sum without `hill`: its signature shows it, and nothing is recovered."""
        parties = parties_of(6, threshold=4, quorum=4)
        told = lie(Round.OPEN, "west", without("hill"))
        asked = parties.run_until(Round.CONFIRM, silent={"north": Round.OPEN}, tell=told, checked=False)["east"]
        with pytest.raises(SignatureInvalid):
            parties.silos["east"].answer(asked)

    def test_shares_are_revealed_only_when_t_silos_confirmed_the_same_silence(self, parties: Parties) -> None:
        refused(parties, QuorumLost, Round.RECOVER, without("west"))

    def test_a_confirmation_of_another_list_is_refused(self, parties: Parties) -> None:
        identity, session = parties.identities["west"], parties.session

        def replace(pieces: sums_pb2.Pieces) -> None:
            piece_of(pieces, "west").data = identity.sign(session.bind("confirm", b"west", b"south"))

        refused(parties, SignatureInvalid, Round.RECOVER, replace)

    def test_a_silent_silo_confirms_nothing(self, parties: Parties) -> None:
        def rename(pieces: sums_pb2.Pieces) -> None:
            piece_of(pieces, "west").silo = "north"

        refused(parties, WrongContributors, Round.RECOVER, rename)

    def test_shares_are_revealed_once(self, parties: Parties) -> None:
        asked = parties.run_until(Round.RECOVER, silent={"north": Round.OPEN})
        parties.silos["east"].answer(asked["east"])
        with pytest.raises(WrongRound):
            parties.silos["east"].answer(asked["east"])

    @pytest.mark.parametrize("round", [Round.CONFIRM, Round.RECOVER])
    def test_no_share_is_revealed_before_the_silo_has_opened(self, parties: Parties, round: int) -> None:
        parties.run_until(Round.OPEN)
        with pytest.raises(WrongRound):
            parties.silos["east"].answer(wrap(parties.session, round=2 * round, body=b""))
