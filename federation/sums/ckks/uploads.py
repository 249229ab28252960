"""Signed uploads: each silo signs its own for one session, and no two may be alike."""

import hashlib
from collections.abc import Mapping

from siloseal.federation.errors import SignatureInvalid, UploadCopied
from siloseal.federation.records.identity import Identity, check_signature
from siloseal.federation.sums.session import Session
from siloseal.federation.transport.wire import ckks_pb2 as pb

Fingerprints = Mapping[str, bytes]
"""Digests of the parts of an upload, by which uploads are compared."""


def sign_upload(session: Session, me: Identity, upload: pb.CkksUpload) -> bytes:
    """Return the upload with its silo's signature."""
    upload.signature = me.sign(_statement(session, me.name, upload))
    return upload.SerializeToString()


def require_own(session: Session, silo: str, upload: pb.CkksUpload) -> None:
    """Raise `UploadCopied` unless the silo signed just this in this session."""
    try:
        check_signature(silo, session.identity(silo), upload.signature, _statement(session, silo, upload))
    except SignatureInvalid as error:
        raise UploadCopied(
            f"an upload came as {silo}'s that {silo} has not signed for this session: it was copied from another silo "
            "or an earlier session, or altered on its way; it is not added"
        ) from error


def fingerprints(upload: pb.CkksUpload) -> Fingerprints:
    """Return the digests of the upload's parts."""
    parts = {"ciphertext": upload.ciphertext, "masked key": upload.masked_key}
    return {part: hashlib.sha256(data).digest() for part, data in parts.items()}


def require_new(silo: str, mine: Fingerprints, others: Mapping[str, Fingerprints]) -> None:
    """Raise `UploadCopied` if another silo has sent the same ciphertext or masked key: two honest ones never agree."""
    for other, theirs in others.items():
        if other != silo and (same := [part for part in mine if mine[part] == theirs[part]]):
            raise UploadCopied(
                f"{silo} uploaded the {' and the '.join(same)} that {other} has uploaded: one of them copied the "
                "other's; leave both out, or begin another sum"
            )


def _statement(session: Session, silo: str, upload: pb.CkksUpload) -> bytes:
    return session.bind("upload", silo.encode(), upload.ciphertext, upload.masked_key)
