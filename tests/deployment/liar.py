"""An aggregator of the test's own, with the aggregator's certificate or another, that says whatever the test wants."""

import queue
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self

import grpc

from siloseal.federation.job.job import Job
from siloseal.federation.transport.chunks import from_chunks, to_chunks
from siloseal.federation.transport.tls import SERVER_OPTIONS
from siloseal.federation.transport.wire import consortium_pb2
from siloseal.federation.transport.wire import consortium_pb2_grpc as pb_grpc
from siloseal.federation.transport.wire import messages_pb2 as pb
from siloseal.federation.transport.wire.codec import decode
from siloseal.federation.transport.wire.version import PROTOCOL_VERSION

from .client import Pair
from .conftest import Consortium

PATIENCE_SECONDS = 60.0
LARGEST = 2**31
RUN = b"a run that the liar made up".ljust(32)


class Liar(pb_grpc.ConsortiumServicer):
    """Serves at the consortium's address. A silo's attendance gets what `say` was given, one after the other."""

    def __init__(self, consortium: Consortium, pair: Pair | None = None) -> None:
        self.consortium, pair = consortium, pair or Pair.of(consortium.kits / "aggregator")
        self.offer = consortium_pb2.JobOffer(
            run_id=RUN, job=consortium.job.model_dump_json(), time=time.time(), protocol_version=PROTOCOL_VERSION
        )
        self._words: deque[list[consortium_pb2.Chunk] | None] = deque()
        self._attendances = self._offers = 0
        self._changed = threading.Condition()
        self._replies: queue.SimpleQueue[pb.Reply] = queue.SimpleQueue()
        self._server = grpc.server(ThreadPoolExecutor(8), options=SERVER_OPTIONS)
        authority = (consortium.kits / "authority" / "ca.crt").read_bytes()
        credentials = grpc.ssl_server_credentials([(pair.key, pair.certificate)], authority, require_client_auth=True)
        pb_grpc.add_ConsortiumServicer_to_server(self, self._server)
        self._server.add_secure_port(f"127.0.0.1:{consortium.port}", credentials)
        self._server.start()

    def Offer(self, request: consortium_pb2.OfferRequest, context: grpc.ServicerContext) -> consortium_pb2.JobOffer:  # noqa: N802
        with self._changed:
            self._offers += 1
            self._changed.notify_all()
        return self.offer

    def wait_for_more_offers(self, count: int) -> None:
        """Until a silo has asked for the offer so many times more."""
        with self._changed:
            enough = self._offers + count
            assert self._changed.wait_for(lambda: self._offers >= enough, PATIENCE_SECONDS)

    def Attend(  # noqa: N802
        self, request: consortium_pb2.Attendance, context: grpc.ServicerContext
    ) -> Iterator[consortium_pb2.Chunk]:
        with self._changed:
            self._attendances += 1
            mine = self._attendances
            self._changed.notify_all()
        while (chunks := self._next(mine)) is not None:
            yield from chunks

    def _next(self, attendance: int) -> list[consortium_pb2.Chunk] | None:
        """What is said goes to the newest attendance; the others are what is left of connections that ended."""
        with self._changed:
            self._changed.wait_for(lambda: self._words or self._attendances != attendance)
            return self._words.popleft() if self._attendances == attendance else None

    def wait_for_attendance(self, count: int) -> None:
        """Until a silo has dialled in so often."""
        with self._changed:
            assert self._changed.wait_for(lambda: self._attendances >= count, PATIENCE_SECONDS)

    def Deliver(  # noqa: N802
        self, request_iterator: Iterator[consortium_pb2.Chunk], context: grpc.ServicerContext
    ) -> consortium_pb2.Receipt:
        for message in from_chunks(request_iterator, limit=LARGEST, why="protobuf reads no more"):
            self._replies.put(decode(pb.Reply, message))
        return consortium_pb2.Receipt()

    def say_chunks(self, chunks: Iterable[consortium_pb2.Chunk]) -> None:
        """Whoever attends, or the next one that does, gets these."""
        self._put(list(chunks))

    def say(self, message: bytes) -> None:
        self.say_chunks(to_chunks(message))

    def hang_up(self) -> None:
        """End the attendance."""
        self._put(None)

    def _put(self, words: list[consortium_pb2.Chunk] | None) -> None:
        with self._changed:
            self._words.append(words)
            self._changed.notify_all()

    def ask(self, number: int, *, run_id: bytes = RUN, job: Job | None = None, **body: Any) -> pb.Reply:
        """A request, and the silo's reply."""
        digest = (job or self.consortium.job).digest
        request = pb.Request(number=number, job_digest=digest, run_id=run_id, protocol_version=PROTOCOL_VERSION, **body)
        return self.bring(request.SerializeToString())

    def bring(self, request: bytes) -> pb.Reply:
        """The silo's reply to these bytes."""
        self.say(request)
        return self._replies.get(timeout=PATIENCE_SECONDS)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.hang_up()
        self._server.stop(None).wait()
