"""Statements that the silos of a session sign, and the checks that every silo makes on the others' statements."""

from collections.abc import Iterable, Mapping
from enum import IntEnum

from siloseal.federation.errors import CommitmentBroken, WrongContributors
from siloseal.federation.records.identity import Identity, check_signature
from siloseal.federation.sums.rounds import named, pieces
from siloseal.federation.sums.sealing import require_canonical
from siloseal.federation.sums.session import Session
from siloseal.federation.transport.wire import joint_key_pb2 as pb
from siloseal.federation.transport.wire.codec import decode


class Round(IntEnum):
    """The rounds, in order."""

    COMMIT_KEY = 0
    REVEAL_KEY = 1
    COMMIT_CIPHERTEXT = 2
    UPLOAD = 3
    OPEN = 4
    CONFIRM = 5
    RECOVER = 6


def commitment_to(session: Session, silo: str, share: pb.KeyShare) -> bytes:
    """Commit to a public key share, before it is revealed."""
    return session.bind("key share", silo.encode(), share.polynomials, share.seed_digest)


def sign_key_commitment(session: Session, me: Identity, channel_key: bytes, share: pb.KeyShare) -> pb.KeyCommitment:
    """Sign the commitment to a key share: round 1."""
    committed = pb.KeyCommitment(channel_key=channel_key, commitment=commitment_to(session, me.name, share))
    committed.signature = me.sign(_key_commitment(session, me.name, committed))
    return committed


def check_key_commitments(session: Session, said: Mapping[str, bytes]) -> dict[str, pb.KeyCommitment]:
    """Check that every commitment is signed by its silo, and that no channel key comes twice."""
    commitments = {silo: decode(pb.KeyCommitment, data) for silo, data in said.items()}
    for silo, committed in commitments.items():
        require_canonical(silo, committed.channel_key)
        check_signature(silo, session.identity(silo), committed.signature, _key_commitment(session, silo, committed))
    if len({committed.channel_key for committed in commitments.values()}) != len(commitments):
        raise WrongContributors("two silos came with the same channel key: one of them copied the other's")
    return commitments


def sign_key_share(session: Session, me: Identity, commitments: Mapping[str, bytes], share: pb.KeyShare) -> None:
    """Sign the key share: round 2. The signature covers all commitments seen: silos that saw different ones notice."""
    commitment = commitment_to(session, me.name, share)
    share.signature = me.sign(_key_share(session, me.name, pieces(commitments), commitment))


def check_key_shares(session: Session, commitments: Mapping[str, bytes], shares: Mapping[str, pb.KeyShare]) -> bytes:
    """Check that each share is signed, and is what its silo had committed to before it could know the others'.

    Returns a digest that names the joint key.
    """
    seen, joint = pieces(commitments), list[bytes]()
    for silo, share in sorted(shares.items()):
        committed = decode(pb.KeyCommitment, commitments[silo]).commitment
        if commitment_to(session, silo, share) != committed:
            raise CommitmentBroken(
                f"{silo} revealed another key share than it had committed to: who speaks last could choose the joint "
                "key; leave it out, or begin another sum"
            )
        check_signature(silo, session.identity(silo), share.signature, _key_share(session, silo, seen, committed))
        joint += [silo.encode(), committed]
    return session.bind("joint key", *joint)


def sign_ciphertext(
    session: Session, me: Identity, key_digest: bytes, ciphertext: pb.CiphertextUpload
) -> pb.CiphertextCommitment:
    """Sign the digests of a ciphertext: round 3."""
    committed = pb.CiphertextCommitment(
        c0_digest=half_digest(session, me.name, ciphertext.c0), c1_digest=half_digest(session, me.name, ciphertext.c1)
    )
    committed.signature = me.sign(_ciphertext(session, me.name, key_digest, committed))
    return committed


def check_ciphertext_commitments(
    session: Session, key_digest: bytes, said: Mapping[str, bytes]
) -> dict[str, pb.CiphertextCommitment]:
    """Check that every commitment is signed by its silo, under the same joint key as ours."""
    commitments = {silo: decode(pb.CiphertextCommitment, data) for silo, data in said.items()}
    for silo, committed in commitments.items():
        statement = _ciphertext(session, silo, key_digest, committed)
        check_signature(silo, session.identity(silo), committed.signature, statement)
    return commitments


def half_digest(session: Session, silo: str, half: bytes) -> bytes:
    """Digest of c0 or c1 as they travel, which holds for one silo in one session.

    Were it the same for everyone, a silo could sign another's digests, and upload the other's ciphertext as its own.
    """
    return session.bind("ciphertext half", silo.encode(), half)


def require_half(session: Session, silo: str, half: bytes, digest: bytes) -> bytes:
    """Return the half, if it is the one that its silo had committed to."""
    if half_digest(session, silo, half) != digest:
        raise CommitmentBroken(f"a ciphertext came as {silo}'s that is not the one {silo} had signed; it was replaced")
    return half


def sign_contributors(session: Session, me: Identity, contributors: Mapping[str, bytes]) -> bytes:
    """Sign whose ciphertexts, by their commitments, are in the sum that this silo opens: round 5."""
    return me.sign(_contributors(session, me.name, contributors))


def check_opening(session: Session, silo: str, opening: pb.JointKeyOpening, contributors: Mapping[str, bytes]) -> None:
    """Check that the silo signed that it opens the sum over just these contributors."""
    check_signature(silo, session.identity(silo), opening.signature, _contributors(session, silo, contributors))


def sign_silence(session: Session, me: Identity, missing: Iterable[str]) -> bytes:
    """Sign who is said to have gone silent: round 6."""
    return me.sign(_silence(session, me.name, missing))


def check_silence(
    session: Session, silence: pb.JointKeySilence, contributors: Mapping[str, bytes], holders: set[str], threshold: int
) -> list[str]:
    """Return who is missing: all holders of a key share but those, t at least, who opened the same sum as we."""
    opened = named(silence.opened, known=holders, fewest=threshold)
    for silo, signature in opened.items():
        check_signature(silo, session.identity(silo), signature, _contributors(session, silo, contributors))
    missing = sorted(silence.missing)
    if missing != sorted(holders - opened.keys()) or not missing:
        raise WrongContributors(f"{missing} are said to be silent, but {sorted(holders - opened.keys())} did not open")
    return missing


def check_silence_signatures(session: Session, said: Mapping[str, bytes], missing: Iterable[str]) -> None:
    """Check that everyone named confirms the same list of missing silos as we did."""
    for silo, signature in said.items():
        check_signature(silo, session.identity(silo), signature, _silence(session, silo, missing))


def _key_commitment(session: Session, silo: str, committed: pb.KeyCommitment) -> bytes:
    return session.bind("commit_key", silo.encode(), committed.channel_key, committed.commitment)


def _key_share(session: Session, silo: str, seen: bytes, commitment: bytes) -> bytes:
    return session.bind("reveal_key", silo.encode(), seen, commitment)


def _ciphertext(session: Session, silo: str, key_digest: bytes, committed: pb.CiphertextCommitment) -> bytes:
    return session.bind("commit_ciphertext", silo.encode(), key_digest, committed.c0_digest, committed.c1_digest)


def _contributors(session: Session, silo: str, contributors: Mapping[str, bytes]) -> bytes:
    return session.bind("open", silo.encode(), pieces(contributors))


def _silence(session: Session, silo: str, missing: Iterable[str]) -> bytes:
    return session.bind("confirm", silo.encode(), *(name.encode() for name in sorted(missing)))
