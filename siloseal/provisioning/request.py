"""How a silo gets a certificate for keys that nobody else has ever had.

The silo makes both of its keys, and a request that shows whoever holds one to hold the other as well: the request for
the certificate is signed by the TLS key, as its format wants, and then by the identity key.
"""

import hashlib
from pathlib import Path
from typing import Annotated

from cryptography import x509
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID
from pydantic import Field, TypeAdapter, ValidationError

from siloseal.federation.config.fields import Name
from siloseal.federation.config.loading import load_config
from siloseal.federation.config.section import Section
from siloseal.federation.errors import CertificateError, ConfigError, SignatureInvalid
from siloseal.federation.records.identity import KEY_BYTES, Identity, check_signature
from siloseal.federation.records.storage import make_folder, write_atomically
from siloseal.federation.transport.pki.keys import new_private_key, parse_private_key, require_p256
from siloseal.provisioning.config_files import one_line

TLS_KEY, IDENTITY_KEY, REQUEST = "silo.key", "identity.key", "request.yaml"
SIGNATURE_BYTES = 64
_CONTEXT = b"siloseal request for a certificate\0"
"""Prefix of what the identity key signs here. It signs other things too; none of them begins like this."""


class Request(Section):
    """The content of request.yaml. It holds no secret."""

    name: Name = Field(description="the silo's name")
    certificate_request: str = Field(max_length=10_000, description="the PKCS #10 request for a certificate, PEM")
    identity: Annotated[str, Field(pattern=rf"^[0-9a-f]{{{2 * KEY_BYTES}}}$")] = Field(
        description="the silo's Ed25519 public key, as hexadecimal digits"
    )
    signature: Annotated[str, Field(pattern=rf"^[0-9a-f]{{{2 * SIGNATURE_BYTES}}}$")] = Field(
        description="the identity key's signature on the request, as hexadecimal digits"
    )

    @property
    def csr(self) -> x509.CertificateSigningRequest:
        """The request for a certificate."""
        return x509.load_pem_x509_csr(self.certificate_request.encode())

    @property
    def fingerprint(self) -> str:
        """A digest that both sides can compare over the telephone: it differs if either key does."""
        return hashlib.sha256(_statement(self.csr) + bytes.fromhex(self.identity)).hexdigest()[:32]


def make_request(name: str, folder: Path) -> Request:
    """Make new keys and the request for them, in a folder that has none yet."""
    try:
        TypeAdapter(Name).validate_python(name)
    except ValidationError as error:
        raise ConfigError(
            f"--name is {name!r}; use at most 64 of a-z, A-Z, 0-9, _ and -, beginning with a letter or digit"
        ) from error
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"{folder} is a file, expected a folder for the keys; give another --out")
    if present := [each for each in (TLS_KEY, IDENTITY_KEY, REQUEST) if (folder / each).exists()]:
        raise ConfigError(
            f"{folder} has {', '.join(present)} already, and a key is never overwritten; give another --out, or remove "
            "them if no certificate was made for them"
        )
    make_folder(folder, mode=0o700)
    folder.chmod(0o700)
    identity, pem = Identity.in_file(name, folder / IDENTITY_KEY), new_private_key()
    write_atomically(folder / TLS_KEY, pem, mode=0o600)
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    csr = x509.CertificateSigningRequestBuilder(subject).sign(parse_private_key(pem, TLS_KEY), SHA256())
    request = Request(
        name=name,
        certificate_request=csr.public_bytes(Encoding.PEM).decode(),
        identity=identity.public.hex(),
        signature=identity.sign(_statement(csr)).hex(),
    )
    write_atomically(folder / REQUEST, _text(request).encode())
    return request


def read_request(path: Path, name: str) -> Request:
    """The request of this silo, with both signatures checked; or `ConfigError`."""
    request = load_config(Request, path)
    if request.name != name:
        raise ConfigError(f"{path} is a request of {request.name}, expected one of {name}; check which file is whose")
    try:
        csr = request.csr
        signed = csr.is_signature_valid
        named = [part.value for part in csr.subject.get_attributes_for_oid(NameOID.COMMON_NAME)]
        require_p256(csr.public_key())
        check_signature(name, bytes.fromhex(request.identity), bytes.fromhex(request.signature), _statement(csr))
    except SignatureInvalid as error:
        raise ConfigError(
            f"{path}: the identity key in it did not sign this request for a certificate: it was altered on its way; "
            f"have {name} send it again"
        ) from error
    except (CertificateError, ValueError) as error:
        raise ConfigError(f"{path}: certificate_request is damaged ({error}); have {name} send it again") from error
    if not signed or named != [name]:
        raise ConfigError(
            f"{path}: certificate_request is not signed by its own key, or is for {named}, expected {name}; have "
            f"{name} make it again with `siloseal provision request`"
        )
    return request


def _statement(csr: x509.CertificateSigningRequest) -> bytes:
    return _CONTEXT + csr.public_bytes(Encoding.DER)


def _text(request: Request) -> str:
    indented = request.certificate_request.strip().replace("\n", "\n  ")
    return f"""\
# For the consortium's authority. There is no secret in it, but nobody may alter it on its way unnoticed.
name: {one_line(request.name)}
certificate_request: |
  {indented}
identity: "{request.identity}"
signature: "{request.signature}"
"""
