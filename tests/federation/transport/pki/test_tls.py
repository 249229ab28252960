"""What certificates are good for, by real TLS over loopback sockets."""

import socket
import ssl
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from siloseal.federation.transport.pki.authority import Authority
from siloseal.federation.transport.pki.certificates import Role, bearer_of
from siloseal.federation.transport.pki.keys import new_private_key, parse_private_key, public_key_of
from siloseal.federation.transport.pki.profiles import sign_bearer

X509_NOT_YET_VALID, X509_EXPIRED = 9, 10
"""OpenSSL's codes of certificates out of their time."""
NOW = datetime.now(UTC)
KEY = new_private_key()
PUBLIC = public_key_of(KEY)


def silo(authority: Authority, name: str = "east", now: datetime | None = None) -> bytes:
    return authority.issue(Role.SILO, name, PUBLIC, valid_days=30, now=now)


def aggregator(authority: Authority, *hosts: str, now: datetime | None = None) -> bytes:
    names = hosts or ("localhost", "127.0.0.1")
    return authority.issue(Role.AGGREGATOR, "aggregator", PUBLIC, valid_days=30, hosts=names, now=now)


@pytest.fixture
def handshake(tmp_path: Path) -> Callable[..., bytes]:
    """Two ends of TLS on loopback; returns the client's certificate as the server sees it."""

    def files(context: ssl.SSLContext, certificate: bytes, trusted: Authority) -> ssl.SSLContext:
        (tmp_path / "crt").write_bytes(certificate)
        (tmp_path / "key").write_bytes(KEY)
        context.load_cert_chain(tmp_path / "crt", tmp_path / "key")
        context.load_verify_locations(cadata=trusted.certificate.decode())
        context.verify_mode = ssl.CERT_REQUIRED
        context.verify_flags |= ssl.VERIFY_X509_STRICT
        return context

    def serve(listener: socket.socket, context: ssl.SSLContext) -> bytes:
        connection, _ = listener.accept()
        with context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False) as channel:
            try:
                channel.do_handshake()
            except ssl.SSLError:  # closed with something unread, the client would see a reset instead of the alert
                with suppress(OSError):
                    channel.shutdown(socket.SHUT_WR)
                    while channel.recv(4096):
                        pass
                raise
            channel.sendall(b"!")
            return ssl.DER_cert_to_PEM_cert(channel.getpeercert(binary_form=True) or b"").encode()

    def shake(server: bytes, client: bytes, *, serving: Authority, dialling: Authority, host: str) -> bytes:
        ours = files(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), server, serving)
        theirs = files(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), client, dialling)
        with socket.create_server(("127.0.0.1", 0)) as listener, ThreadPoolExecutor(1) as pool:
            served = pool.submit(serve, listener, ours)
            with socket.create_connection(listener.getsockname(), timeout=10) as connection:
                try:
                    with theirs.wrap_socket(connection, server_hostname=host) as channel:
                        channel.recv(1)
                except ssl.SSLError:
                    connection.close()
                    served.exception(timeout=10)
                    raise
            return served.result(timeout=10)

    return shake


def test_a_silo_and_the_aggregator_reach_each_other(authority: Authority, handshake: Callable[..., bytes]) -> None:
    for host in ("localhost", "127.0.0.1"):
        seen = handshake(aggregator(authority), silo(authority), serving=authority, dialling=authority, host=host)
        assert str(bearer_of(seen)) == "the silo east of hospitals"


def test_a_silos_certificate_cannot_serve_as_the_aggregators(
    authority: Authority, handshake: Callable[..., bytes]
) -> None:
    with pytest.raises(ssl.SSLError, match="purpose"):
        handshake(silo(authority), silo(authority), serving=authority, dialling=authority, host="localhost")


def test_the_aggregators_certificate_cannot_dial(authority: Authority, handshake: Callable[..., bytes]) -> None:
    one = aggregator(authority)
    with pytest.raises(ssl.SSLError, match=r"(?i)unsupported.certificate"):
        handshake(one, one, serving=authority, dialling=authority, host="localhost")


def test_an_aggregator_elsewhere_than_its_certificate_says_is_refused(
    authority: Authority, handshake: Callable[..., bytes]
) -> None:
    with pytest.raises(ssl.SSLError, match="Hostname mismatch"):
        handshake(
            aggregator(authority, "aggregator.example.org"), silo(authority),
            serving=authority, dialling=authority, host="localhost",
        )  # fmt: skip


def test_certificates_of_another_authority_are_refused_though_it_has_the_same_name(
    authority: Authority, stranger: Authority, handshake: Callable[..., bytes]
) -> None:
    parties = {"serving": authority, "dialling": authority, "host": "localhost"}
    with pytest.raises(ssl.SSLError, match=r"(?i)certificate.verify.failed"):
        handshake(aggregator(stranger), silo(authority), **parties)
    with pytest.raises(ssl.SSLError, match=r"(?i)alert"):
        handshake(aggregator(authority), silo(stranger), **parties)


@pytest.mark.parametrize(("days", "code"), [(-31, X509_EXPIRED), (2, X509_NOT_YET_VALID)])
def test_certificates_out_of_their_time_are_refused(
    authority: Authority, handshake: Callable[..., bytes], days: int, code: int
) -> None:
    then = NOW + timedelta(days=days)
    parties = {"serving": authority, "dialling": authority, "host": "localhost"}
    with pytest.raises(ssl.SSLCertVerificationError) as refused:
        handshake(aggregator(authority, now=then), silo(authority), **parties)
    assert refused.value.verify_code == code
    with pytest.raises(ssl.SSLError, match=r"(?i)alert"):
        handshake(aggregator(authority), silo(authority, now=then), **parties)


def test_a_silo_cannot_issue_certificates(authority: Authority, handshake: Callable[..., bytes]) -> None:
    """Its own certificate says that it is no authority."""
    own = x509.load_pem_x509_certificate(pem := silo(authority))
    claimed = replace(bearer_of(pem), role=Role.AGGREGATOR, name="aggregator")
    forged = sign_bearer(own, parse_private_key(KEY, "the silo's key"), claimed, PUBLIC, ["localhost"])
    chain = forged.public_bytes(Encoding.PEM) + pem
    with pytest.raises(ssl.SSLError, match="invalid CA"):
        handshake(chain, silo(authority), serving=authority, dialling=authority, host="localhost")
