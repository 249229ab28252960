"""Certificates of this party, checked before anybody sees them, as gRPC wants them."""

from dataclasses import dataclass
from datetime import UTC, datetime

import grpc

from siloseal.federation.errors import CertificateError
from siloseal.federation.transport.chunks import CHUNK_BYTES
from siloseal.federation.transport.config import Tls
from siloseal.federation.transport.pki.certificates import (
    Bearer,
    Role,
    bearer_of,
    read_certificate,
    read_private_key,
    require_issuer,
    require_pair,
    require_valid,
)

_KEEPALIVE = [
    # A dead peer is noticed within half a minute, or within a minute in the middle of a message, when gRPC's own pings
    # come first; and firewalls see a living connection while silos train for hours.
    ("grpc.keepalive_time_ms", 20_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.max_receive_message_length", CHUNK_BYTES + 2**16),
]
CLIENT_OPTIONS = [
    *_KEEPALIVE,
    ("grpc.enable_retries", 0),  # whoever dials starts over from what is on its disk
    ("grpc.use_local_subchannel_pool", 1),  # a new channel is a new connection, with the certificate as it is now
    ("grpc.initial_reconnect_backoff_ms", 200),
]
SERVER_OPTIONS = [
    *_KEEPALIVE,
    ("grpc.http2.min_recv_ping_interval_without_data_ms", 10_000),
    ("grpc.http2.max_ping_strikes", 0),
    ("grpc.so_reuseport", 0),  # two aggregators at one port would share the silos between them
]


@dataclass(frozen=True)
class Credentials:
    """The credentials of one party, as read from its files."""

    bearer: Bearer
    certificate: bytes
    key: bytes
    authority: bytes

    def for_client(self) -> grpc.ChannelCredentials:
        """The credentials to dial with."""
        return grpc.ssl_channel_credentials(self.authority, self.key, self.certificate)

    def for_server(self) -> grpc.ServerCredentials:
        """The credentials to listen with; who has no certificate of the authority does not get past the handshake."""
        pair = [(self.key, self.certificate)]
        return grpc.ssl_server_credentials(pair, root_certificates=self.authority, require_client_auth=True)


def read_credentials(tls: Tls, *, role: Role, name: str | None = None) -> Credentials:
    """This party's certificate, if it is one of its own: of this role and name, valid now, with its key."""
    certificate, authority = read_certificate(tls.certificate), read_certificate(tls.authority)
    key = read_private_key(tls.key)
    bearer = bearer_of(certificate)
    if bearer.role is not role or (name is not None and bearer.name != name):
        raise CertificateError(
            f"{tls.certificate} is the certificate of {bearer}, expected that of the {role} {name or ''}; take it from "
            "its own kit"
        )
    require_issuer(certificate, authority)
    require_pair(certificate, key)
    require_valid(bearer, datetime.now(UTC))
    return Credentials(bearer, certificate, key, authority)
