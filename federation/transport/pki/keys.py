"""Keys for TLS: elliptic, on the curve P-256, because every TLS stack takes it."""

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

from siloseal.federation.errors import CertificateError, RunError


def new_private_key() -> bytes:
    """A key from the operating system's generator, as PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def parse_private_key(pem: bytes, what: str) -> ec.EllipticCurvePrivateKey:
    """The key in this PEM; `what` stands for it in errors, which never quote it."""
    try:
        key = load_pem_private_key(pem, password=None)
    except (ValueError, TypeError):  # without the cause, which might quote a part of the key
        raise RunError(
            f"{what} is not a private key in PEM without a password; restore it from a backup, or make another"
        ) from None
    if not isinstance(key, ec.EllipticCurvePrivateKey) or not isinstance(key.curve, ec.SECP256R1):
        raise RunError(f"{what} is a key of another kind, expected one of the curve P-256; use the one from the kit")
    return key


def public_key_of(key_pem: bytes) -> ec.EllipticCurvePublicKey:
    """The public half of a key."""
    return parse_private_key(key_pem, "the private key").public_key()


def require_p256(key: object) -> ec.EllipticCurvePublicKey:
    """The same key, or `CertificateError` if it is of another kind."""
    if not isinstance(key, ec.EllipticCurvePublicKey) or not isinstance(key.curve, ec.SECP256R1):
        raise CertificateError(
            "the certificate or request is for a key of another kind, expected one of the curve P-256; make it with "
            "`siloseal provision request`"
        )
    return key


def public_bytes(key: ec.EllipticCurvePublicKey) -> bytes:
    """The encoding by which two public keys are compared."""
    return key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
