"""The aggregator on the network: what silos and operators can call."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import NoReturn

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

from siloseal.aggregator.admission import Admission
from siloseal.aggregator.request_queue import RequestQueue
from siloseal.federation.errors import CannotWrite, RunError, SiloSealError, WrongRound
from siloseal.federation.records.audit import LONGEST_TEXT
from siloseal.federation.run_events.aggregator import CallerTurnedAway, SiloAttends, SiloLeft
from siloseal.federation.run_events.stream import Subscriber
from siloseal.federation.transport.chunks import only_message, to_chunks
from siloseal.federation.transport.rpc_errors import abort
from siloseal.federation.transport.tls import SERVER_OPTIONS, Credentials
from siloseal.federation.transport.wire import consortium_pb2 as pb
from siloseal.federation.transport.wire import consortium_pb2_grpc as pb_grpc
from siloseal.federation.transport.wire.version import require_version

_LONGEST_REPLY = "no right reply to the request under way is longer; both sides must run the same version"
SPARE_THREADS = 8
GRACE_SECONDS = 5.0


class ConsortiumService(pb_grpc.ConsortiumServicer):
    """The calls of the consortium. Errors leave as a code with their words; the process goes on."""

    def __init__(
        self,
        offer: pb.JobOffer,
        request_queue: RequestQueue,
        admission: Admission,
        report: Callable[[], pb.StatusReport],
        publish: Subscriber,
    ) -> None:
        self._offer, self._queue, self._admission = offer, request_queue, admission
        self._report, self._publish = report, publish
        self._lock = threading.Lock()
        self._delivering = dict[str, grpc.ServicerContext]()

    def Offer(self, request: pb.OfferRequest, context: grpc.ServicerContext) -> pb.JobOffer:  # noqa: N802 (gRPC's name)
        """Tell the silo which job is offered."""
        with self._answering(context):
            self._queue.see(self._silo(context, request.protocol_version))
            offer = pb.JobOffer()
            offer.CopyFrom(self._offer)
            offer.time = time.time()
            return offer

    def Attend(self, request: pb.Attendance, context: grpc.ServicerContext) -> Iterator[pb.Chunk]:  # noqa: N802
        """Send the requests for the calling silo, as they come."""
        with self._answering(context):
            silo = self._silo(context, request.protocol_version)
            if request.run_id != self._offer.run_id:
                raise WrongRound(f"{silo} attends another run than the one that is under way here; ask for the offer")
            context.add_callback(self._queue.wake)
            self._publish(SiloAttends(silo, context.peer()))
            try:
                requests = self._queue.requests_for(silo, request.instance, context.is_active, context.cancel)
                for message in requests:
                    self._admission.silo(context)  # again: it may have been revoked or expired while it waited
                    yield from to_chunks(message)
            finally:
                self._publish(SiloLeft(silo))

    def Deliver(self, request_iterator: Iterator[pb.Chunk], context: grpc.ServicerContext) -> pb.Receipt:  # noqa: N802
        """Take a reply of the calling silo."""
        with self._answering(context):
            silo = self._admission.silo(context)
            largest = self._queue.largest_reply(silo)  # before anything is read
            with self._only_delivery(silo, context):
                self._queue.deliver(silo, only_message(request_iterator, limit=largest, why=_LONGEST_REPLY))
            return pb.Receipt()

    def Status(self, request: pb.StatusRequest, context: grpc.ServicerContext) -> pb.StatusReport:  # noqa: N802
        """Tell how far the run is, to everyone with a certificate."""
        with self._answering(context):
            bearer = self._admission.bearer(context)
            require_version(request.protocol_version, here="the aggregator", there=str(bearer))
        return self._report()

    def require_known(self, context: grpc.ServicerContext) -> None:
        """Refuse whoever has no valid certificate of the consortium."""
        with self._answering(context):
            self._admission.bearer(context)

    def _silo(self, context: grpc.ServicerContext, version: int) -> str:
        """The calling silo's name, if it takes part in the job and speaks this version of the protocol."""
        silo = self._admission.silo(context)
        require_version(version, here="the aggregator", there=f"silo {silo}")
        return silo

    @contextmanager
    def _only_delivery(self, silo: str, context: grpc.ServicerContext) -> Iterator[None]:
        """End a silo's earlier deliveries: however many it begins, they take one thread and one buffer."""
        with self._lock:
            earlier, self._delivering[silo] = self._delivering.get(silo), context
        if earlier is not None:
            earlier.cancel()
        try:
            yield
        finally:
            with self._lock:
                if self._delivering.get(silo) is context:
                    del self._delivering[silo]

    @contextmanager
    def _answering(self, context: grpc.ServicerContext) -> Iterator[None]:
        try:
            yield
        except SiloSealError as error:
            self._turn_away(context, error)
        except OSError as error:
            words = f"the aggregator cannot write ({error}); mend it, and the run goes on"
            self._turn_away(context, CannotWrite(words))

    def _turn_away(self, context: grpc.ServicerContext, error: SiloSealError) -> NoReturn:
        # A late reply is no trouble, and a call that a newer one has ended is none either.
        if (silo := self._admission.named(context)) and context.is_active() and not isinstance(error, WrongRound):
            self._queue.note_trouble(silo, error)
        self._publish(CallerTurnedAway(context.peer(), type(error).__name__, str(error)[:LONGEST_TEXT]))
        abort(context, error)


class _Health(health.HealthServicer):  # type: ignore[misc]  # no types
    """gRPC's own health checking, for whoever the consortium knows.

    It would send to watchers while it holds its lock, and wait for gRPC's own thread to have sent; that thread waits
    for the lock as soon as a watcher hangs up: neither would ever go on. So a thread of its own sends.
    """

    def __init__(self, service: ConsortiumService) -> None:
        super().__init__()
        self._service = service
        self._sender = ThreadPoolExecutor(1)

    def Check(  # noqa: N802
        self, request: health_pb2.HealthCheckRequest, context: grpc.ServicerContext
    ) -> health_pb2.HealthCheckResponse:
        """Whether the aggregator serves."""
        self._service.require_known(context)
        return super().Check(request, context)

    def Watch(  # noqa: N802
        self,
        request: health_pb2.HealthCheckRequest,
        context: grpc.ServicerContext,
        send_response_callback: Callable[[health_pb2.HealthCheckResponse | None], None] | None = None,
    ) -> None:
        """Report the same whenever it changes. gRPC gives a callback, so that whoever watches takes no thread."""
        self._service.require_known(context)
        if (send := send_response_callback) is None:
            raise RunError("this version of gRPC gives watchers no callback; install the one in constraints.txt")
        super().Watch(request, context, lambda response: self._sender.submit(send, response))


@contextmanager
def serving(service: ConsortiumService, credentials: Credentials, *, address: str, silos: int) -> Iterator[int]:
    """The service at this address, with gRPC's own health checking beside it; gives the port."""
    # One thread a silo is taken by its attendance, one may deliver.
    pool = ThreadPoolExecutor(2 * silos + SPARE_THREADS)
    server = grpc.server(pool, options=SERVER_OPTIONS)
    pb_grpc.add_ConsortiumServicer_to_server(service, server)  # type: ignore[no-untyped-call]
    checks = _Health(service)
    health_pb2_grpc.add_HealthServicer_to_server(checks, server)
    try:
        port = server.add_secure_port(address, credentials.for_server())
    except RuntimeError as error:
        raise RunError(
            f"cannot listen at {address}; is another aggregator running there, or is the address not this machine's?"
        ) from error
    server.start()
    for name in ("", "siloseal.Consortium"):
        checks.set(name, health_pb2.HealthCheckResponse.SERVING)
    try:
        yield port
    finally:
        checks.enter_graceful_shutdown()
        server.stop(GRACE_SECONDS).wait()
