"""A TCP proxy between a silo and its aggregator. It sees TLS records, counts them, and disturbs them in the middle."""

import socket
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal

Way = Literal["up", "down"]
"""From the silo, or to it."""


@dataclass
class _Line:
    """One connection, of two halves."""

    silo: socket.socket
    aggregator: socket.socket
    open: threading.Event = field(default_factory=threading.Event)
    """Cleared while everything is held back."""
    lost: bool = False
    """The silo's half is gone, and the aggregator is not told."""


class Proxy:
    """Listens at `port`. Whatever it does to connections, later ones pass undisturbed."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._server.getsockname()[1])
        self.passed = Counter[Way]()
        self._lines: list[_Line] = []
        self._due: dict[Way, tuple[int, Callable[[], None]]] = {}
        self._threads: list[threading.Thread] = []
        self._begin(self._accept)

    def after(self, count: int, way: Way, then: Callable[[], None]) -> None:
        """When so many more bytes have passed this way, call `then`; what is behind them goes on when it returns."""
        self._due[way] = self.passed[way] + count, then

    def cut(self) -> None:
        """Both sides hear that the connection is over."""
        for line in self._lines:
            _shut(line.silo)
            _shut(line.aggregator)

    def lose(self) -> None:
        """The silo hears that the connection is over, the aggregator hears nothing: a firewall that was restarted."""
        for line in self._lines:
            line.lost = True
            _shut(line.silo)

    def hold(self) -> None:
        """Nothing passes any more, and nobody is told."""
        for line in self._lines:
            line.open.clear()

    def close(self) -> None:
        """Stop listening, cut what is left."""
        _shut(self._server)
        for line in self._lines:
            line.open.set()
        self.cut()
        for thread in self._threads:
            thread.join()
        for end in (self._server, *(end for line in self._lines for end in (line.silo, line.aggregator))):
            end.close()

    def _begin(self, work: Callable[..., None], *arguments: object) -> None:
        self._threads.append(threading.Thread(target=work, args=arguments, daemon=True))
        self._threads[-1].start()

    def _accept(self) -> None:
        with suppress(OSError):  # closed
            while True:
                silo, _ = self._server.accept()
                try:
                    line = _Line(silo, socket.create_connection(("127.0.0.1", self._target)))
                except ConnectionError:  # no aggregator at the moment
                    silo.close()
                    continue
                line.open.set()
                self._lines.append(line)
                self._begin(self._pump, line, "up")
                self._begin(self._pump, line, "down")

    def _pump(self, line: _Line, way: Way) -> None:
        source, target = (line.silo, line.aggregator) if way == "up" else (line.aggregator, line.silo)
        with suppress(OSError):
            while data := source.recv(2**16):
                while data:
                    line.open.wait()
                    data = self._forward(target, way, data)
        if not line.lost:
            _shut(target)

    def _forward(self, target: socket.socket, way: Way, data: bytes) -> bytes:
        """Send what may pass before something is due; the rest is left over."""
        due, then = self._due.get(way, (self.passed[way] + len(data) + 1, lambda: None))
        part = data[: due - self.passed[way]]
        target.sendall(part)
        self.passed[way] += len(part)
        if self.passed[way] == due:
            del self._due[way]
            then()
        return data[len(part) :]


def _shut(end: socket.socket) -> None:
    """Wakes whoever reads from it, too."""
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
