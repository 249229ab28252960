"""A bare gRPC client with a certificate in its hand, and an honest silo beside it whose words it can bend.

Nothing of the silo's own client is used here: what comes back is what the aggregator said.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from siloseal.federation.config.loading import load_config
from siloseal.federation.config.section import placed
from siloseal.federation.errors import SiloSealError
from siloseal.federation.randomness import SeededRandomness
from siloseal.federation.records.identity import Identity
from siloseal.federation.records.roster import read_roster
from siloseal.federation.transport.chunks import from_chunks, to_chunks
from siloseal.federation.transport.rpc_errors import received_code
from siloseal.federation.transport.tls import CLIENT_OPTIONS
from siloseal.federation.transport.wire import consortium_pb2 as pb
from siloseal.federation.transport.wire import consortium_pb2_grpc as pb_grpc
from siloseal.federation.transport.wire.error_codes import error_of
from siloseal.federation.transport.wire.version import PROTOCOL_VERSION
from siloseal.silo.config import SiloConfig
from siloseal.silo.data.loading import load
from siloseal.silo.messages import ReceivedRequest
from siloseal.silo.participation import Participation, take_part

from .conftest import Consortium

"""The shortest schedule: enrol, begin, nonces, train, one plain sum, finish."""
CALL_SECONDS = 30.0
LARGEST = 2**31


@dataclass(frozen=True)
class Pair:
    """A certificate and its key; none at all if both are None."""

    certificate: bytes | None = None
    key: bytes | None = None

    @classmethod
    def of(cls, kit: Path) -> Self:
        """The pair in a kit."""
        (certificate,) = (path for path in kit.glob("*.crt") if path.name != "ca.crt")
        return cls(certificate.read_bytes(), certificate.with_suffix(".key").read_bytes())


class Caller:
    """One connection to an aggregator."""

    version = PROTOCOL_VERSION
    """Version of the protocol that the caller says it speaks."""

    def __init__(self, consortium: Consortium, pair: Pair) -> None:
        authority = (consortium.kits / "authority" / "ca.crt").read_bytes()
        credentials = grpc.ssl_channel_credentials(authority, pair.key, pair.certificate)
        self.channel = grpc.secure_channel(f"localhost:{consortium.port}", credentials, options=CLIENT_OPTIONS)
        self._stub = pb_grpc.ConsortiumStub(self.channel)

    def offer(self) -> pb.JobOffer:
        return self._stub.Offer(pb.OfferRequest(protocol_version=self.version), timeout=CALL_SECONDS)

    def attend(
        self, run_id: bytes, instance: bytes = b"a bare client", *, timeout: float | None = CALL_SECONDS
    ) -> "Attending":
        attendance = pb.Attendance(run_id=run_id, instance=instance, protocol_version=self.version)
        return Attending(self._stub.Attend(attendance, timeout=timeout))

    def deliver(self, message: bytes) -> None:
        self.deliver_chunks(to_chunks(message))

    def deliver_chunks(self, chunks: Iterable[pb.Chunk]) -> None:
        self._stub.Deliver(iter(chunks), timeout=CALL_SECONDS)

    def begin_delivery(self, chunks: Iterator[pb.Chunk]) -> Any:
        """The call, without waiting for its end."""
        return self._stub.Deliver.future(chunks, timeout=CALL_SECONDS)

    def deliver_raw(self, *messages: bytes) -> None:
        """Bytes in the place of chunks."""
        self.channel.stream_unary("/siloseal.Consortium/Deliver")(iter(messages), timeout=CALL_SECONDS)

    def status(self) -> pb.StatusReport:
        return self._stub.Status(pb.StatusRequest(protocol_version=self.version), timeout=CALL_SECONDS)

    def trouble(self, silo: str) -> str:
        """What the status says of a silo."""
        return next(one.trouble for one in self.status().silos if one.silo == silo)

    def health(self) -> int:
        answer = health_pb2_grpc.HealthStub(self.channel).Check(health_pb2.HealthCheckRequest(), timeout=CALL_SECONDS)
        return int(answer.status)

    def watch(self) -> Any:
        """The call of gRPC's health checking that lasts."""
        return health_pb2_grpc.HealthStub(self.channel).Watch(health_pb2.HealthCheckRequest(), timeout=CALL_SECONDS)

    def close(self) -> None:
        self.channel.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Attending:
    """An open attendance."""

    def __init__(self, call: Any) -> None:
        self._call = call
        self._messages: Iterator[bytes] = from_chunks(call, limit=LARGEST, why="protobuf reads no more")

    def next(self) -> bytes:
        """The next request, as soon as it comes."""
        return next(self._messages)

    def leave(self) -> None:
        self._call.cancel()


class Hand(Caller):
    """A silo of the test's own process: honest work, and bytes that the test may bend before they leave."""

    def __init__(self, consortium: Consortium, name: str, *, attends: bool = True) -> None:
        kit = consortium.kits / name
        super().__init__(consortium, Pair.of(kit))
        self.name, config = name, placed(load_config(SiloConfig, kit / "silo.yaml"), kit)
        run = self.offer()
        self.run_id = run.run_id
        self._part: Participation = take_part(
            config,
            run,
            load(config.data)[0],
            identity=Identity.read(name, config.identity),
            roster=read_roster(config.roster).keys,
            randomness=SeededRandomness(len(name)),
            publish=lambda _: None,
        )
        self.attending = self.attend(self.run_id, name.encode()) if attends else None

    def next(self) -> bytes:
        """The next request."""
        assert self.attending is not None
        return self.attending.next()

    def reply(self, request: bytes) -> bytes:
        """The honest one."""
        return self._part.answer(ReceivedRequest.read(request, silo=self.name)).data

    def step(self) -> bytes:
        """Answer the next request; the reply that was delivered."""
        self.deliver(reply := self.reply(self.next()))
        return reply

    def close(self) -> None:
        super().close()
        self._part.close()


def refused(call: Callable[[], object]) -> tuple[type[SiloSealError], str]:
    """The error and the words with which the aggregator ends a call."""
    with pytest.raises(grpc.RpcError) as error:
        call()
    code = received_code(error.value)
    assert code is not None, error.value
    return error_of(code), error.value.details() or ""


def broken(call: Callable[[], object]) -> grpc.StatusCode:
    """The status with which gRPC itself ends a call."""
    with pytest.raises(grpc.RpcError) as error:
        call()
    assert received_code(error.value) is None, error.value
    return error.value.code()
