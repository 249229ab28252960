"""A page of numbers for Prometheus, off unless the config names a port: sizes, counts, epsilon, nothing private."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from siloseal.federation.errors import RunError
from siloseal.federation.transport.config import Metrics
from siloseal.federation.transport.wire import consortium_pb2 as pb
from siloseal.silo.status import SiloStatus


class AggregatorNumbers(Collector):
    """The numbers that `siloseal status` tells."""

    def __init__(self, report: Callable[[], pb.StatusReport]) -> None:
        self._report = report

    def collect(self) -> Iterable[Metric]:
        """The numbers as of now."""
        report = self._report()
        yield GaugeMetricFamily("siloseal_request_number", "Number of the request under way", value=report.request)
        yield GaugeMetricFamily("siloseal_round", "Round of tuning or averaging, 0 outside them", value=report.round)
        yield GaugeMetricFamily("siloseal_rounds", "How many such rounds the job has", value=report.rounds)
        yield GaugeMetricFamily("siloseal_serving_seconds", "Since this process began to serve", value=report.seconds)
        phase = GaugeMetricFamily("siloseal_phase", "1 for the phase under way", labels=["phase"])
        phase.add_metric([report.phase], 1)
        yield phase
        columns: list[tuple[type[Metric], str, str, Callable[[pb.SiloStatus], float]]] = [
            (GaugeMetricFamily, "silo_attending", "1 if the silo is connected", lambda silo: float(silo.attending)),
            (GaugeMetricFamily, "silo_last_seen_seconds", "Unix time", lambda silo: silo.last_seen),
            (GaugeMetricFamily, "silo_owes_reply", "1 if it is waited for", lambda silo: float(not silo.answered)),
            (GaugeMetricFamily, "silo_trouble", "1 if its message was refused", lambda silo: float(silo.trouble != "")),
            (GaugeMetricFamily, "silo_epsilon_spent", "Of its releases, at most", lambda silo: silo.epsilon_spent),
            (CounterMetricFamily, "silo_sent_bytes", "By the silo, of accepted messages", lambda silo: silo.sent_bytes),
            (CounterMetricFamily, "silo_received_bytes", "By the silo", lambda silo: silo.received_bytes),
        ]  # fmt: skip
        for family, name, words, value in columns:
            metric = family(f"siloseal_{name}", words, labels=["silo"])  # type: ignore[call-arg]
            for silo in report.silos:
                metric.add_metric([silo.silo], value(silo))  # type: ignore[attr-defined]
            yield metric


class SiloNumbers(Collector):
    """The numbers that an operator of a silo watches."""

    def __init__(self, status: SiloStatus) -> None:
        self._status = status

    def collect(self) -> Iterable[Metric]:
        """The numbers as of now."""
        status = self._status
        yield GaugeMetricFamily("siloseal_connected", "1 while connected to the aggregator", value=status.connected)
        yield GaugeMetricFamily("siloseal_request_number", "Number of the last request answered", value=status.number)
        yield GaugeMetricFamily("siloseal_steps_done", "Of the training under way", value=status.steps_done)
        yield GaugeMetricFamily("siloseal_steps", "Of the training under way, in all", value=status.steps)
        yield GaugeMetricFamily("siloseal_epsilon_spent", "What the ledger stands at", value=status.epsilon)


@contextmanager
def metrics_page(metrics: Metrics | None, numbers: Collector) -> Iterator[None]:
    """Serve these numbers while the process works; nothing if no port is given."""
    if metrics is None:
        yield
        return
    registry = CollectorRegistry(auto_describe=False)
    registry.register(numbers)
    try:
        server, thread = start_http_server(metrics.port, metrics.host, registry)
    except OSError as error:
        raise RunError(f"metrics cannot be served at {metrics.host}:{metrics.port} ({error}); free the port") from error
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
