"""What stands in each kind of certificate, and in the list of revoked ones.

A certificate of the aggregator can serve and not dial, one of a silo or an operator can dial and not serve: a silo
that turns bad cannot pose as the aggregator to another one. TLS itself checks that, by the extended key usage.
"""

import ipaddress
from collections.abc import Iterable
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from siloseal.federation.errors import ConfigError
from siloseal.federation.transport.pki.certificates import Bearer, Role, bearer_uri
from siloseal.federation.transport.pki.keys import require_p256

AUTHORITY_DAYS = 3650
CLOCK_SKEW = timedelta(minutes=5)
"""Time by which certificates begin before they are made: the clocks of two machines never agree to the second."""


def sign_authority(name: str, key: ec.EllipticCurvePrivateKey, now: datetime) -> x509.Certificate:
    """The authority's own certificate: it may sign certificates of parties and lists, and nothing may sign below."""
    subject = _subject(f"{name} authority", name)  # with a space, which no party's name has
    return (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - CLOCK_SKEW)
        .not_valid_after(now + timedelta(days=AUTHORITY_DAYS))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_key_usage(authority=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, SHA256())
    )


def sign_bearer(
    authority: x509.Certificate,
    key: ec.EllipticCurvePrivateKey,
    bearer: Bearer,
    public_key: ec.EllipticCurvePublicKey,
    hosts: Iterable[str],
) -> x509.Certificate:
    """The certificate of one party. Only an aggregator has hosts, and it has one at least."""
    serves = bearer.role is Role.AGGREGATOR
    usage = ExtendedKeyUsageOID.SERVER_AUTH if serves else ExtendedKeyUsageOID.CLIENT_AUTH
    names = [_host_name(host) for host in hosts]
    if serves != bool(names):
        raise ConfigError(
            f"{bearer} came with {len(names)} hosts; an aggregator's certificate names those that it is dialled at, "
            "every other certificate names none"
        )
    uri = x509.UniformResourceIdentifier(bearer_uri(bearer.consortium, bearer.role, bearer.name))
    subject = _subject(bearer.name, bearer.consortium)
    return (
        x509.CertificateBuilder(authority.subject, subject, public_key, bearer.serial)
        .not_valid_before(bearer.not_before)
        .not_valid_after(bearer.not_after)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(authority=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        .add_extension(x509.SubjectAlternativeName([*names, uri]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False)
        .add_extension(_signed_by(authority), critical=False)
        .sign(key, SHA256())
    )


def sign_revocations(
    authority: x509.Certificate,
    key: ec.EllipticCurvePrivateKey,
    revoked: Iterable[x509.RevokedCertificate],
    *,
    number: int,
    now: datetime,
) -> x509.CertificateRevocationList:
    """The numbered list of all that is revoked so far.

    The format wants the date of the next list. Nobody here enforces it, and it lies as far away as the authority's
    end: lists are made when something is revoked, not by the calendar.
    """
    return (
        x509.CertificateRevocationListBuilder(authority.subject, revoked_certificates=list(revoked))
        .last_update(now)
        .next_update(max(authority.not_valid_after_utc, now + timedelta(days=1)))
        .add_extension(x509.CRLNumber(number), critical=False)
        .add_extension(_signed_by(authority), critical=False)
        .sign(key, SHA256())
    )


def hosts_of(certificate: x509.Certificate) -> tuple[str, ...]:
    """The names and addresses at which the certificate's bearer may be dialled."""
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    addresses = (str(address) for address in names.get_values_for_type(x509.IPAddress))
    return (*names.get_values_for_type(x509.DNSName), *addresses)


def _subject(common_name: str, consortium: str) -> x509.Name:
    return x509.Name(
        [
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, consortium),
            x509.NameAttribute(NameOID.COMMON_NAME, common_name),
        ]
    )


def _host_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        if not host or ":" in host or "/" in host:
            raise ConfigError(
                f"{host!r} is neither a host's name nor an IP address; give one, without a port"
            ) from None
        return x509.DNSName(host)


def _key_usage(*, authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not authority,
        key_cert_sign=authority,
        crl_sign=authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _signed_by(authority: x509.Certificate) -> x509.AuthorityKeyIdentifier:
    return x509.AuthorityKeyIdentifier.from_issuer_public_key(require_p256(authority.public_key()))
