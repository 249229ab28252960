"""Why a connection does not come about: each cause by real sockets, and words that name it."""

import re
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import grpc
import pytest

from siloseal.federation.errors import CertificateError, SiloSealError, Unreachable
from siloseal.federation.transport import diagnosis
from siloseal.federation.transport.config import Tls
from siloseal.federation.transport.diagnosis import diagnose
from siloseal.federation.transport.pki.authority import Authority
from siloseal.federation.transport.pki.certificates import Role
from siloseal.federation.transport.pki.keys import new_private_key, public_key_of

NOW = datetime.now(UTC)
LONG_AGO, LATER = NOW - timedelta(days=60), NOW + timedelta(days=60)
KEY = new_private_key()
PUBLIC = public_key_of(KEY)


class Place:
    """An authority, and what it has issued."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.authority = folder, Authority.create("hospitals", folder / "authority")
        (folder / "silo.key").write_bytes(KEY)
        (folder / "silo.key").chmod(0o600)

    def silo(self, now: datetime | None = None) -> Tls:
        pem = self.authority.issue(Role.SILO, "north", PUBLIC, valid_days=30, now=now)
        (self.folder / "silo.crt").write_bytes(pem)
        return self.tls

    @property
    def tls(self) -> Tls:
        folder = self.folder
        return Tls(certificate=folder / "silo.crt", key=folder / "silo.key", authority=folder / "authority" / "ca.crt")

    def aggregator(self, now: datetime | None = None) -> bytes:
        return self.authority.issue(
            Role.AGGREGATOR, "aggregator", PUBLIC, valid_days=30, hosts=["localhost"], now=now
        )  # fmt: skip

    @contextmanager
    def serving(self, now: datetime | None = None) -> Iterator[int]:
        """A gRPC server of this consortium."""
        server = grpc.server(None)
        certificate = [(KEY, self.aggregator(now))]
        port = server.add_secure_port(
            "127.0.0.1:0", grpc.ssl_server_credentials(certificate, self.authority.certificate, True)
        )
        server.start()
        try:
            yield port
        finally:
            server.stop(None).wait()


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = Place(tmp_path)
    place.silo()
    return place


@pytest.fixture
def stranger(tmp_path: Path) -> Place:
    (tmp_path / "stranger").mkdir()
    return Place(tmp_path / "stranger")


@contextmanager
def listener(serve: Callable[[socket.socket], object]) -> Iterator[int]:
    """One connection, served in a thread."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def accept() -> None:
            connection, _ = server.accept()
            with closing(connection), suppress(OSError):
                serve(connection)

        thread = threading.Thread(target=accept)
        thread.start()
        yield server.getsockname()[1]
        thread.join(30)


def diagnosed(port: int, tls: Tls, host: str = "localhost") -> SiloSealError:
    return diagnose(host, port, tls, "UNAVAILABLE")


def test_nothing_listens(place: Place) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    found = diagnosed(port, place.tls)
    assert isinstance(found, Unreachable)
    assert re.search(rf"listens .*localhost:{port}", str(found))


def test_a_name_that_leads_nowhere(place: Place) -> None:
    found = diagnosed(443, place.tls, "aggregator.invalid")
    assert isinstance(found, Unreachable)
    assert "name aggregator.invalid " in str(found)


def test_a_server_that_stays_silent(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diagnosis, "PROBE_SECONDS", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as server:
        found = diagnosed(server.getsockname()[1], place.tls)
    assert isinstance(found, Unreachable)
    assert "firewall" in str(found)


def test_a_server_without_tls(place: Place) -> None:
    with listener(lambda connection: connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")) as port:
        found = diagnosed(port, place.tls)
    assert isinstance(found, Unreachable)
    assert "speak TLS" in str(found)


def test_a_server_that_hangs_up_in_the_handshake(place: Place) -> None:
    with listener(lambda connection: connection.recv(100_000)) as port:
        found = diagnosed(port, place.tls)
    assert isinstance(found, Unreachable)
    assert "hung up" in str(found)


def test_another_host_than_the_certificate_names(place: Place) -> None:
    with place.serving() as port:
        found = diagnosed(port, place.tls, "127.0.0.1")
    assert isinstance(found, CertificateError)
    assert "mismatch" in str(found)


@pytest.mark.parametrize("then", [LONG_AGO, LATER])
def test_a_servers_certificate_that_is_not_valid_now(place: Place, then: datetime) -> None:
    with place.serving(then) as port:
        found = diagnosed(port, place.tls)
    assert isinstance(found, CertificateError)
    assert ("expired" if then is LONG_AGO else "yet") in str(found)
    assert "clock" in str(found)


def test_a_server_of_another_authority(place: Place, stranger: Place) -> None:
    with stranger.serving() as port:
        found = diagnosed(port, place.tls)
    assert isinstance(found, CertificateError)
    assert "consortium's aggregator" in str(found)


@pytest.mark.parametrize("then", [LONG_AGO, LATER])
def test_our_certificate_is_not_valid_by_the_servers_clock(place: Place, then: datetime) -> None:
    tls = place.silo(then)
    with place.serving() as port:
        found = diagnosed(port, tls)
    assert isinstance(found, CertificateError)
    assert re.search(rf"{tls.certificate} .*hung up", str(found))
    assert "clocks" in str(found)


def test_our_certificate_is_of_another_authority(place: Place, stranger: Place) -> None:
    tls = stranger.silo().model_copy(update={"authority": place.tls.authority})
    with place.serving() as port:
        found = diagnosed(port, tls)
    assert isinstance(found, CertificateError)
    assert str(tls.certificate) in str(found)


def test_a_server_that_says_what_it_has_against_our_certificate(place: Place, stranger: Place) -> None:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cadata=stranger.authority.certificate.decode())
    context.verify_mode = ssl.CERT_REQUIRED
    (place.folder / "server.crt").write_bytes(place.aggregator())
    context.load_cert_chain(place.folder / "server.crt", place.folder / "silo.key")

    def serve(connection: socket.socket) -> None:
        with context.wrap_socket(connection, server_side=True) as secure:
            secure.recv(1)

    with listener(serve) as port:
        found = diagnosed(port, place.tls)
    assert isinstance(found, CertificateError)
    assert "unknown ca" in str(found)


def test_nothing_is_wrong_any_more(place: Place) -> None:
    with place.serving() as port:
        found = diagnosed(port, place.tls)
    assert isinstance(found, Unreachable)
    assert "lost (UNAVAILABLE)" in str(found)
