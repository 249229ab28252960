"""A silo's line to the aggregator: it dials, asks which job, attends, delivers. Trouble comes as a typed error."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import grpc

from siloseal.federation.transport.chunks import from_chunks, to_chunks
from siloseal.federation.transport.pki.certificates import Role
from siloseal.federation.transport.rpc_errors import explained
from siloseal.federation.transport.tls import CLIENT_OPTIONS, read_credentials
from siloseal.federation.transport.wire import consortium_pb2 as pb
from siloseal.federation.transport.wire import consortium_pb2_grpc as pb_grpc
from siloseal.federation.transport.wire.version import PROTOCOL_VERSION, require_version
from siloseal.silo.config import SiloConfig

CALL_SECONDS = 30.0
_LIMIT = "that is limits.message_mib in this silo's config; raise it if the job needs more"
SLOWEST_BYTES_A_SECOND = 50_000
CLOCKS_APART_SECONDS = 300.0


class AggregatorClient:
    """One connection. After any trouble a new one is made: certificates are read anew, nothing is kept."""

    def __init__(self, config: SiloConfig, instance: bytes) -> None:
        self._config, self._instance = config, instance
        self._credentials = read_credentials(config.tls, role=Role.SILO, name=config.name)
        self._channel = grpc.secure_channel(
            str(config.aggregator), self._credentials.for_client(), options=CLIENT_OPTIONS
        )
        self._stub = pb_grpc.ConsortiumStub(self._channel)  # type: ignore[no-untyped-call]

    def offer(self) -> pb.JobOffer:
        """The job that is under way."""
        with self._with_typed_errors():
            request = pb.OfferRequest(protocol_version=PROTOCOL_VERSION)
            offer: pb.JobOffer = self._stub.Offer(request, timeout=CALL_SECONDS)
        require_version(offer.protocol_version, here=f"silo {self._config.name}", there="the aggregator")
        return offer

    def requests(self, run_id: bytes) -> Iterator[bytes]:
        """The aggregator's requests, as they come; it ends when the aggregator sends everyone home."""
        with self._with_typed_errors():
            attendance = pb.Attendance(run_id=run_id, instance=self._instance, protocol_version=PROTOCOL_VERSION)
            chunks = self._stub.Attend(attendance)
            yield from from_chunks(chunks, limit=self._config.limits.message_bytes, why=_LIMIT)

    def deliver(self, reply: bytes) -> None:
        """Deliver a reply; when this returns, the aggregator has it on its disk."""
        with self._with_typed_errors():
            seconds = CALL_SECONDS + len(reply) / SLOWEST_BYTES_A_SECOND
            self._stub.Deliver(to_chunks(reply), timeout=seconds)

    def close(self) -> None:
        """Close the connection."""
        self._channel.close()

    @contextmanager
    def _with_typed_errors(self) -> Iterator[None]:
        try:
            yield
        except grpc.RpcError as error:
            address = self._config.aggregator
            raise explained(error, address.host, address.port, self._config.tls) from error


def clocks_differ(offer: pb.JobOffer) -> str:
    """A warning where this machine's clock and the aggregator's are far apart; certificates and logs rest on them."""
    apart = time.time() - offer.time
    if abs(apart) < CLOCKS_APART_SECONDS:
        return ""
    direction = "ahead of" if apart > 0 else "behind"
    return f"this machine's clock is {abs(apart) / 60:.0f} minutes {direction} the aggregator's; set the wrong one"
